//! The operator's HTTP endpoints, which the plugin answers itself: docs/endpoints.md is their reference.
//!
//! A request under the prefix is a [`Visit`]: its token is checked first, then its path in the table of routes, the token's scope, and its body. Whatever the
//! outcome, it is answered here and goes no further. A new endpoint is a line in `routes.rs` and a function that gives an [`Answer`] or a [`Problem`].

mod answer;
mod approvals;
mod health;
mod lineage;
mod routes;
mod runs;
mod token;
mod visit;

pub use answer::{Answer, Problem};
pub use lineage::Lineage;
pub use routes::Call;
pub use token::Token;
pub use visit::Visit;

use crate::filter::Shared;
use crate::host::Host;
use crate::state::State;

/// The endpoints' configuration, checked.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// The start of their paths, normalized, with a slash at both ends.
    pub prefix: String,
    /// Who may use them.
    pub tokens: Vec<Token>,
}

/// Where endpoints find what they tell of and change.
#[derive(Clone, Copy)]
pub struct Desk<'d> {
    /// The gateway.
    pub host: &'d dyn Host,
    /// What all exchanges share.
    pub shared: &'d Shared,
}

impl Desk<'_> {
    /// Unix time in milliseconds.
    fn now_ms(&self) -> u64 {
        self.host.now_ns() / 1_000_000
    }

    /// What is remembered.
    fn state(&self) -> Result<&State, Problem> {
        self.shared.state.as_ref().ok_or(Problem::State)
    }
}

impl Endpoints {
    /// What follows the prefix in a normalized path; `None` for all others. The prefix counts in any case, so that no spelling of it gets to an upstream
    /// that does not tell cases apart.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let bare = self.prefix.trim_end_matches('/');
        let (start, rest) = (path.get(..bare.len())?, path.get(bare.len()..)?);
        let below = if rest.is_empty() { Some("") } else { rest.strip_prefix('/') };
        below.filter(|_| start.eq_ignore_ascii_case(bare))
    }
}

#[cfg(test)]
mod tests;
