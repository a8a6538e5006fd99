//! The gate: its configuration, and the fixed table of what a class may do.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::argument::{Arguments, fits, matches};
use super::class::{Broken, Class};
use super::codec::has_control;
use super::grant::Limit;
use crate::limits::{
    MAX_AUTHOR_BYTES, MAX_GROUP_PRINCIPALS, MAX_GROUPS, MAX_LIMIT_TEXT_BYTES, MAX_LIMIT_TEXTS, MAX_MANDATE_ARGUMENTS, MAX_MANDATE_BYTES,
    MAX_MANDATES, MAX_POLICY_BYTES, MAX_PRINCIPAL_BYTES, MAX_SOURCES, MAX_TENANT_BYTES, MAX_TOOL_BYTES,
};

/// What an entry without a record is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoRecord {
    /// Class 4, as the table has it: what is like an instruction, and what would have a side effect, goes into quarantine.
    #[default]
    Enforce,
    /// Class 4 that is read with a label, whatever it says, and asked for before a side effect: for memories that existed before there were records.
    Label,
}

/// Principals of one tenant whose entries count for each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Whose they are.
    pub tenant: String,
    /// Their names, at most 256.
    pub principals: Vec<String>,
}

/// What agents may do without being asked for, on the strength of what they made of trusted entries (class 3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mandate {
    /// What answers call it, up to 64 bytes.
    pub name: String,
    /// The tenant that it is for; all where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The principal that it is for; all of the tenant where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The tool that may be called; `*` stands for any characters.
    pub tool: String,
    /// What each argument may be, by its name, at most 32. A call with an argument that is not named here is not inside the mandate, nor one without an argument
    /// that `one_of` or `max` limits.
    #[serde(default)]
    pub arguments: BTreeMap<String, Limit>,
}

/// What the gate goes by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Gate {
    /// Authors of records of channel `approved_source` that are approved, at most 256: names of servers, tools or routes as whoever mints their records knows them.
    pub approved_sources: Vec<String>,
    /// Principals whose entries count for each other, at most 64 groups. Outside of groups an entry of another principal is class 4.
    pub groups: Vec<Group>,
    /// What agents may do without being asked for, at most 256.
    pub mandates: Vec<Mandate>,
    /// What an entry without a record is.
    pub no_record: NoRecord,
    /// The version of this policy, 1 to 64 bytes; records keep it.
    pub policy: String,
}

impl Default for Gate {
    fn default() -> Self {
        Gate {
            approved_sources: Vec::new(),
            groups: Vec::new(),
            mandates: Vec::new(),
            no_record: NoRecord::Enforce,
            policy: String::from("1"),
        }
    }
}

/// What a recalled entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A model reads it.
    Read,
    /// Something is done because of it, or with something from it.
    SideEffect,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Go on.
    Run,
    /// Go on, with [`super::LABEL`] before the text.
    Label,
    /// Go on once somebody has approved it.
    Ask,
    /// Do not go on.
    Quarantine,
}

impl Decision {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Run => "run",
            Decision::Label => "label",
            Decision::Ask => "ask",
            Decision::Quarantine => "quarantine",
        }
    }
}

/// Why a decision is what it is, where the class alone does not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Class 4 that is like an instruction, or would have a side effect.
    Untrusted,
    /// The lineage is broken.
    BrokenLineage,
    /// Somebody approved it. The gate itself never says so: whoever keeps approvals does.
    Approved,
}

/// The fixed table (DESIGN.md 10).
pub fn decide(
    class: Class,
    broken: Option<Broken>,
    instruction_like: bool,
    effect: Effect,
    in_mandate: bool,
) -> (Decision, Option<Reason>) {
    if broken.is_some() {
        return (Decision::Quarantine, Some(Reason::BrokenLineage));
    }
    match (class, effect) {
        (Class::User | Class::Approved, _) | (Class::Derived, Effect::Read) => (Decision::Run, None),
        (Class::Derived, Effect::SideEffect) if in_mandate => (Decision::Run, None),
        (Class::Derived, Effect::SideEffect) => (Decision::Ask, None),
        (Class::Untrusted, Effect::Read) if !instruction_like => (Decision::Label, None),
        (Class::Untrusted, _) => (Decision::Quarantine, Some(Reason::Untrusted)),
    }
}

impl Gate {
    /// Whether the author of an `approved_source` is approved.
    pub(super) fn approves(&self, author: &str) -> bool {
        self.approved_sources.iter().any(|source| source == author)
    }

    /// Whether entries of `other` count for `principal`.
    pub(super) fn is_one(&self, tenant: &str, principal: &str, other: &str) -> bool {
        let has = |group: &Group, name: &str| group.principals.iter().any(|principal| principal == name);
        principal == other || self.groups.iter().any(|group| group.tenant == tenant && has(group, principal) && has(group, other))
    }

    /// The first mandate of the configuration that a call is inside of.
    pub(super) fn mandate(&self, tenant: &str, principal: &str, tool: &str, arguments: &Arguments) -> Option<&str> {
        let found = self.mandates.iter().find(|mandate| {
            let is = |only: &Option<String>, name: &str| only.as_ref().is_none_or(|only| only == name);
            is(&mandate.tenant, tenant)
                && is(&mandate.principal, principal)
                && matches(&mandate.tool, tool)
                && fits(arguments, &mandate.arguments)
        });
        found.map(|mandate| mandate.name.as_str())
    }

    /// Checks a configuration.
    ///
    /// # Errors
    /// The path of the first key whose value cannot be used, and what is wrong with it.
    #[inline(never)]
    pub fn check(&self) -> Result<(), (String, String)> {
        count("approved_sources", self.approved_sources.len(), MAX_SOURCES)?;
        for (number, source) in self.approved_sources.iter().enumerate() {
            text(&|| format!("approved_sources[{number}]"), source, MAX_AUTHOR_BYTES)?;
        }
        count("groups", self.groups.len(), MAX_GROUPS)?;
        for (number, group) in self.groups.iter().enumerate() {
            let at = |key: &str| format!("groups[{number}].{key}");
            text(&|| at("tenant"), &group.tenant, MAX_TENANT_BYTES)?;
            count(&at("principals"), group.principals.len(), MAX_GROUP_PRINCIPALS)?;
            for (number, principal) in group.principals.iter().enumerate() {
                text(&|| at(&format!("principals[{number}]")), principal, MAX_PRINCIPAL_BYTES)?;
            }
        }
        count("mandates", self.mandates.len(), MAX_MANDATES)?;
        for (number, mandate) in self.mandates.iter().enumerate() {
            let at = |key: &str| format!("mandates[{number}].{key}");
            text(&|| at("name"), &mandate.name, MAX_MANDATE_BYTES)?;
            if let Some(tenant) = &mandate.tenant {
                text(&|| at("tenant"), tenant, MAX_TENANT_BYTES)?;
            }
            if let Some(principal) = &mandate.principal {
                text(&|| at("principal"), principal, MAX_PRINCIPAL_BYTES)?;
            }
            text(&|| at("tool"), &mandate.tool, MAX_TOOL_BYTES)?;
            check_arguments(&at("arguments"), &mandate.arguments)?;
        }
        text(&|| "policy".to_string(), &self.policy, MAX_POLICY_BYTES)
    }
}

/// Checks the limits of a mandate's arguments; `key` is where they stand.
#[inline(never)]
pub(super) fn check_arguments(key: &str, arguments: &BTreeMap<String, Limit>) -> Result<(), (String, String)> {
    count(key, arguments.len(), MAX_MANDATE_ARGUMENTS)?;
    for (name, limit) in arguments {
        text(&|| key.to_string(), name, MAX_TOOL_BYTES)?;
        let at = || [key, ".", name].concat();
        match limit {
            Limit::OneOf(texts) => {
                if texts.is_empty() {
                    return Err((at(), "lists nothing that the argument may be".to_string()));
                }
                count(&at(), texts.len(), MAX_LIMIT_TEXTS)?;
                let fits = |text: &String| text.len() <= MAX_LIMIT_TEXT_BYTES && !has_control(text);
                if !texts.iter().all(fits) {
                    return Err((
                        at(),
                        format!("has a text that is longer than {MAX_LIMIT_TEXT_BYTES} bytes or holds a control character"),
                    ));
                }
            }
            // Nothing at all would fit.
            Limit::Max(most) if !(0.0..f64::INFINITY).contains(most) => {
                return Err((at(), "must be a finite number that is not negative".to_string()));
            }
            Limit::Any | Limit::Max(_) => {}
        }
    }
    Ok(())
}

#[inline(never)]
fn count(key: &str, count: usize, most: usize) -> Result<(), (String, String)> {
    if count <= most {
        return Ok(());
    }
    Err((key.to_string(), format!("has {count}; at most {most} are allowed")))
}

/// Checks a text of 1 to `most` bytes.
#[inline(never)]
pub(super) fn text(key: &dyn Fn() -> String, text: &str, most: usize) -> Result<(), (String, String)> {
    if (1..=most).contains(&text.len()) && !has_control(text) {
        return Ok(());
    }
    Err((key(), format!("takes 1 to {most} bytes without control characters")))
}
