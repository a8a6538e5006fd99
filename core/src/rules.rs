//! What a hit of each rule means: uses and exemptions given by rule id, resolved to rule numbers once, so that no request compares strings.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::limits::MAX_EXEMPTIONS;
use crate::policy::PolicyError;
use crate::verdict::Verdict;
use crate::wire::{Channel, IssueKind};

/// Rule id of a conversation that is blocked, or raised, by its resampling.
pub const RESAMPLING_RULE: &str = "conversation.resampling";

/// Rules that are met when approvals were looked for already, so that nobody could ever approve what they hold back.
const WITHOUT_APPROVAL: [&str; 3] = ["detector.caller_persistence", IssueKind::RunAmbiguousCaller.rule(), IssueKind::RunLost.rule()];

/// What a hit of a rule means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleUse {
    /// Nothing: it is not looked for, or only counted.
    Off,
    /// The verdict is at least `flag`; the score does not count it.
    Flag,
    /// The verdict is at least `label`; the score does not count it.
    Label,
    /// The conversation's score counts it; outside the scored turns it flags. Not for issues, which have no score.
    Score,
    /// The verdict is at least `ask`: it passes once somebody has approved it; the score does not count it.
    Ask,
    /// The verdict is `block`, wherever it stands; the score counts it too.
    Block,
}

impl RuleUse {
    /// Its name in config and reports.
    pub const fn name(self) -> &'static str {
        match self {
            RuleUse::Off => "off",
            RuleUse::Flag => "flag",
            RuleUse::Label => "label",
            RuleUse::Score => "score",
            RuleUse::Ask => "ask",
            RuleUse::Block => "block",
        }
    }
}

impl RuleUse {
    /// The verdict that a hit raises to by itself.
    pub(crate) const fn verdict(self) -> Verdict {
        match self {
            RuleUse::Off | RuleUse::Score => Verdict::Allow,
            RuleUse::Flag => Verdict::Flag,
            RuleUse::Label => Verdict::Label,
            RuleUse::Ask => Verdict::Ask,
            RuleUse::Block => Verdict::Block,
        }
    }
}

/// Number of a rule: patterns as the catalog numbers them, then the kinds of issues, then resampling, then the detector's.
pub(crate) type RuleNumber = usize;

/// The number of a kind of issue among the rules of `catalog`.
pub(crate) fn issue_number(catalog: &Catalog<'_>, kind: IssueKind) -> RuleNumber {
    catalog.patterns() + kind as usize
}

/// The number of the resampling check among the rules of `catalog`.
pub(crate) fn resampling_number(catalog: &Catalog<'_>) -> RuleNumber {
    catalog.patterns() + IssueKind::ALL.len()
}

/// The number of the detector's rule `rule` ([`crate::Detector::rules`]) among the rules of `catalog`.
pub(crate) fn detector_number(catalog: &Catalog<'_>, rule: usize) -> RuleNumber {
    resampling_number(catalog) + 1 + rule
}

/// The numbers of all issues.
fn issues(catalog: &Catalog<'_>) -> core::ops::Range<RuleNumber> {
    catalog.patterns()..resampling_number(catalog)
}

/// Every rule id in the order of the numbers.
#[inline(never)]
fn ids<'c>(catalog: &'c Catalog<'_>) -> Vec<&'c str> {
    let mut ids = catalog.ids();
    for kind in IssueKind::ALL {
        ids.push(kind.rule());
    }
    ids.push(RESAMPLING_RULE);
    for rule in &catalog.detector_rules {
        ids.push(rule);
    }
    ids
}

/// Whether a name in the config means the rule `id`: it is that id, or the group before the id's dot, with or without `.*`.
#[inline(never)]
fn means(name: &str, id: &str) -> bool {
    let group = name.strip_suffix(".*").unwrap_or(name);
    id == name || id.strip_prefix(group).is_some_and(|rest| rest.starts_with('.'))
}

/// What is wrong with a name that means no rule, and what may have been meant.
fn unknown(name: &str, catalog: &Catalog<'_>) -> String {
    let group = name.split('.').next().unwrap_or_default();
    let mut near = ids(catalog);
    near.retain(|id| means(group, id));
    if near.is_empty() {
        near.extend(catalog.groups());
        near.extend(["wire", "run", "detector", RESAMPLING_RULE]);
    }
    format!("unknown rule; did you mean one of {}?", near.join(", "))
}

/// The use of every rule by its number, where `uses` names it or its group; the id wins over the group.
///
/// # Errors
/// A name that means no rule, one group in two spellings, a score for an issue, or an approval for what nobody can approve.
pub(crate) fn resolve(uses: &BTreeMap<String, RuleUse>, catalog: &Catalog<'_>) -> Result<Vec<Option<RuleUse>>, PolicyError> {
    let refused = |name: &str, problem: String| PolicyError { key: format!("rules.{name}"), problem };
    let (ids, issues) = (ids(catalog), issues(catalog));
    for (name, &rule_use) in uses {
        let Some(number) = ids.iter().position(|id| means(name, id)) else {
            return Err(refused(name, unknown(name, catalog)));
        };
        if name.strip_suffix(".*").is_some_and(|group| uses.contains_key(group)) {
            return Err(refused(name, String::from("stands there without `.*` too; keep one")));
        }
        if rule_use == RuleUse::Score && issues.contains(&number) {
            return Err(refused(name, String::from("an issue has no score; give off, flag, label, ask or block")));
        }
    }
    let of = |id: &str| uses.get_key_value(id).or_else(|| uses.iter().find(|(name, _)| means(name, id)));
    for id in WITHOUT_APPROVAL {
        let Some((name, _)) = of(id).filter(|(_, rule_use)| **rule_use == RuleUse::Ask) else { continue };
        let problem = if name == id {
            String::from(
                "nobody can approve what it holds back, which is known only when the approvals were looked for; give off, flag, label or block",
            )
        } else {
            format!(
                "means `{id}` too, and nobody can approve what that holds back; give `{id}` another use beside it: off, flag, label or block"
            )
        };
        return Err(refused(name, problem));
    }
    Ok(ids.into_iter().map(|id| of(id).map(|(_, rule_use)| *rule_use)).collect())
}

/// Rules that do not count where they are met on some channels.
#[derive(Clone, Debug)]
pub(crate) struct Exemption {
    /// By rule number.
    rules: Vec<bool>,
    /// None when every channel is meant.
    channels: Vec<Channel>,
}

impl Exemption {
    /// `rules` as in the config, none meaning every rule but issues; `channels` likewise.
    ///
    /// # Errors
    /// A name that means no rule, or an issue on a channel; the key begins at `rules`.
    pub fn new(rules: &[String], channels: &[Channel], catalog: &Catalog<'_>) -> Result<Self, PolicyError> {
        let (ids, issues) = (ids(catalog), issues(catalog));
        for (at, name) in rules.iter().enumerate() {
            let refused = |problem| PolicyError { key: format!("rules[{at}]"), problem };
            let Some(number) = ids.iter().position(|id| means(name, id)) else {
                return Err(refused(unknown(name, catalog)));
            };
            if issues.contains(&number) && !channels.is_empty() {
                return Err(refused(String::from("an issue is on no channel; leave out `channels`")));
            }
        }
        let named = |(number, id): (RuleNumber, &str)| match rules {
            // An issue says that the body cannot be answered for, so it is exempt by name only.
            [] => !issues.contains(&number),
            rules => rules.iter().any(|name| means(name, id)),
        };
        Ok(Exemption { rules: ids.into_iter().enumerate().map(named).collect(), channels: channels.to_vec() })
    }

    fn covers(&self, rule: RuleNumber, channel: Option<Channel>) -> bool {
        let on_channel = self.channels.is_empty() || channel.is_some_and(|channel| self.channels.contains(&channel));
        on_channel && self.rules.get(rule).copied().unwrap_or_default()
    }
}

/// The exemptions that apply to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exempt<'e> {
    /// All that are configured.
    pub all: &'e [Exemption],
    /// Bit `i` is set when exemption `i` applies.
    pub applying: u64,
}

impl Exempt<'_> {
    /// Whether a hit of `rule` on `channel` is exempt.
    pub fn covers(self, rule: RuleNumber, channel: Option<Channel>) -> bool {
        let applies = |at: usize| self.applying >> (at % MAX_EXEMPTIONS) & 1 == 1;
        self.applying != 0 && self.all.iter().enumerate().any(|(at, exemption)| applies(at) && exemption.covers(rule, channel))
    }
}
