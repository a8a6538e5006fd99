//! Tokens: who calls, and what they may do.

use floodmark_core::limits::{MAX_TOKEN_BYTES, MIN_TOKEN_BYTES};
use floodmark_core::lineage::Channel;

use super::{Endpoints, Problem};
use crate::config::Scope;
use crate::labels::TOKEN_HEADER;
use crate::request::Request;

/// A token, as its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Who holds it.
    pub name: String,
    /// BLAKE3 of the token. Plain, since a token is long and random; compared in constant time.
    pub hash: blake3::Hash,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// For whose entries; `None` for all.
    pub tenants: Option<Vec<String>>,
    /// Over which channels the entries came that it makes records of.
    pub channels: Vec<Channel>,
    /// Which authors it may write as approved sources.
    pub sources: Vec<String>,
}

impl Token {
    /// Whether it may do what `scope` covers. Who may do everything does not make records all the same: that is for those that have the entries.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|own| *own == scope || *own == Scope::Admin && scope != Scope::Mint)
    }

    /// Refuses what concerns a tenant that is not among the token's.
    pub(super) fn for_tenant(&self, tenant: &str) -> Result<(), Problem> {
        let one_of = |tenants: &Vec<String>| tenants.iter().any(|own| own == tenant);
        if self.tenants.as_ref().is_none_or(one_of) { Ok(()) } else { Err(Problem::Limited("tenants")) }
    }
}

impl Scope {
    /// Its name in config and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Check => "check",
            Scope::Mint => "mint",
            Scope::Admin => "admin",
        }
    }
}

impl Endpoints {
    /// The token that a request brings. One that comes beside another, in another spelling of the header too, is none: who reads which of them differs
    /// between servers. How long it takes tells the caller's own token's length and the number of tokens, and nothing of theirs.
    pub(super) fn token(&self, request: &Request) -> Option<&Token> {
        let mut brought = request.token_headers();
        let name = brought.next().filter(|_| brought.next().is_none())?;
        if !name.eq_ignore_ascii_case(TOKEN_HEADER) {
            return None;
        }
        let value = request.only_value(name)?;
        if !(MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&value.len()) {
            return None;
        }
        let hash = blake3::hash(value);
        // `Hash` compares in constant time, and all are compared.
        self.tokens.iter().fold(None, |found, token| if token.hash == hash { Some(token) } else { found })
    }
}
