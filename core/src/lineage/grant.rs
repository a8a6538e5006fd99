//! Grants: mandates that an administrator gives and seals, instead of writing them into the configuration.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::argument::{Arguments, fits, matches};
use super::codec::{Reader, SealError, Writer};
use super::seal::{Envelope, Fault, KeyRing, Kind};
use crate::limits::{
    MAX_GRANTER_BYTES, MAX_LIMIT_TEXT_BYTES, MAX_LIMIT_TEXTS, MAX_MANDATE_ARGUMENTS, MAX_MANDATE_BYTES, MAX_PRINCIPAL_BYTES,
    MAX_TENANT_BYTES, MAX_TOOL_BYTES,
};

/// What an argument may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Anything, or nothing: the call may leave the argument out.
    Any,
    /// One of these texts, 1 to 32 of up to 1024 bytes, letter by letter. The call must have the argument.
    OneOf(Vec<String>),
    /// A number from this one's negative up to it, within 2^53 either way, and no text that spells a number: tools that take back what they do at a negative amount
    /// are no way around. The call must have the argument.
    Max(f64),
}

/// A sealed mandate.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// What answers call it, 1 to 64 bytes.
    pub name: String,
    /// The tenant that it is for.
    pub tenant: String,
    /// The principal that it is for; `None` for all of the tenant.
    pub principal: Option<String>,
    /// The tool that may be called; `*` stands for any characters.
    pub tool: String,
    /// What each argument may be, at most 32. A call with another argument is not inside the grant, nor one without an argument that is limited.
    pub arguments: BTreeMap<String, Limit>,
    /// Who gave it, 1 to 64 bytes.
    pub granter: String,
    /// Unix time in milliseconds.
    pub created_ms: u64,
    /// From then on it holds no longer; later than `created_ms`.
    pub expires_ms: u64,
}

impl Grant {
    /// Seals it with the ring's first key.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn seal(&self, ring: &KeyRing) -> Result<Vec<u8>, SealError> {
        ring.seal(Kind::Grant, &|writer| self.write(writer))
    }

    /// Reads and verifies a sealed grant.
    ///
    /// # Errors
    /// What is wrong with it.
    #[inline(never)]
    pub fn open(sealed: &[u8], ring: &KeyRing) -> Result<Self, Fault> {
        let mut envelope = Envelope::new(Kind::Grant, sealed).ok_or(Fault::Malformed)?;
        let grant = Grant::read(&mut envelope.fields).ok_or(Fault::Malformed)?;
        envelope.verify(ring, &|writer| grant.write(writer))?;
        Ok(grant)
    }

    /// Whether a call of this tenant and principal is inside it at this time.
    pub fn covers(&self, tenant: &str, principal: &str, tool: &str, arguments: &Arguments, now_ms: u64) -> bool {
        self.tenant == tenant
            && self.principal.as_ref().is_none_or(|only| only == principal)
            && now_ms < self.expires_ms
            && matches(&self.tool, tool)
            && fits(arguments, &self.arguments)
    }

    #[inline(never)]
    fn read(fields: &mut Reader<'_>) -> Option<Self> {
        Some(Grant {
            name: fields.text()?.into(),
            tenant: fields.text()?.into(),
            principal: fields.maybe_text()?.map(String::from),
            tool: fields.text()?.into(),
            arguments: read_arguments(fields)?,
            granter: fields.text()?.into(),
            created_ms: fields.number()?,
            expires_ms: fields.number()?,
        })
    }

    #[inline(never)]
    fn write(&self, writer: &mut Writer<'_>) {
        writer.text("name", &self.name, 1, MAX_MANDATE_BYTES);
        writer.text("tenant", &self.tenant, 1, MAX_TENANT_BYTES);
        writer.maybe_text("principal", self.principal.as_deref(), MAX_PRINCIPAL_BYTES);
        writer.text("tool", &self.tool, 1, MAX_TOOL_BYTES);
        writer.count("arguments", self.arguments.len(), 0, MAX_MANDATE_ARGUMENTS);
        // A map of texts is in the order of their bytes.
        for (name, limit) in &self.arguments {
            writer.text("arguments", name, 1, MAX_TOOL_BYTES);
            match limit {
                Limit::Any => writer.number(0),
                Limit::OneOf(texts) => {
                    writer.number(1);
                    writer.count("arguments", texts.len(), 1, MAX_LIMIT_TEXTS);
                    texts.iter().for_each(|text| writer.text("arguments", text, 0, MAX_LIMIT_TEXT_BYTES));
                }
                Limit::Max(most) => {
                    writer.number(2);
                    if !most.is_finite() {
                        writer.wrong("arguments", || String::from("a greatest number must be finite"));
                    }
                    writer.raw(&most.to_le_bytes());
                }
            }
        }
        writer.text("granter", &self.granter, 1, MAX_GRANTER_BYTES);
        writer.number(self.created_ms);
        if self.expires_ms <= self.created_ms {
            writer.wrong("expires_ms", || String::from("must be later than created_ms"));
        }
        writer.number(self.expires_ms);
    }
}

/// Arguments in any order and number: in another one they are not what is written.
#[inline(never)]
fn read_arguments(fields: &mut Reader<'_>) -> Option<BTreeMap<String, Limit>> {
    let mut arguments = BTreeMap::new();
    for _ in 0..fields.length().filter(|count| *count <= MAX_MANDATE_ARGUMENTS)? {
        let name = fields.text()?.into();
        let limit = match fields.number()? {
            0 => Limit::Any,
            1 => {
                let count = fields.length().filter(|count| *count <= MAX_LIMIT_TEXTS)?;
                Limit::OneOf((0..count).map(|_| fields.text().map(String::from)).collect::<Option<_>>()?)
            }
            2 => Limit::Max(fields.float()?),
            _ => return None,
        };
        arguments.insert(name, limit);
    }
    Some(arguments)
}
