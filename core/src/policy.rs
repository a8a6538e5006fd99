//! The policy: the numbers that an operator may change, checked, and made ready for judging.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::conversation::Params;
pub use crate::conversation::Profile;
use crate::limits::{MAX_ALARM, MAX_DECAY_TURNS, MAX_MIN_TURNS, MAX_WINDOW_TURNS, MIN_TAU};
#[cfg(feature = "operator-patterns")]
use crate::operator::OperatorPattern;
use crate::rules::RuleUse;
pub use crate::scope::Scope;

/// What becomes of AI traffic whose text the judgement cannot answer for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// The verdict is `block`.
    #[default]
    Block,
    /// The verdict is `flag`.
    Flag,
}

/// Levels of the detector; `None` is its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct DetectorParams {
    /// The score, 0.01 to 1, from which one event blocks where it is a turn, and flags elsewhere (`detector.linear`).
    pub event_block: Option<f64>,
    /// What is subtracted from each event's score in the running sum, 0 to 1.
    pub drift: Option<f64>,
    /// The running sum, 0.01 to 16384, from which the conversation or run blocks (`detector.persistence`).
    pub alarm: Option<f64>,
    /// The running sum over all runs of one caller, 0.01 to 16384, from which the request that reached it blocks (`detector.caller_persistence`).
    /// Only where state is kept.
    pub caller_alarm: Option<f64>,
}

/// What is judged, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How a conversation is scored: `floodmark`, by the best window of turns, fading with age, or `paper`, exactly the formula of arXiv
    /// 2602.11247 over the whole history. docs/tuning.md compares them and shows what each number does.
    pub profile: Profile,
    /// Numbers of the conversation score.
    pub conversation: Params,
    /// What a turn that hits a category adds to the turn's score, by the category's name, 0 to 1; categories that are not named keep
    /// their own weight, and 0 switches a category off.
    pub weights: BTreeMap<String, f64>,
    /// Levels of the detector, each calibrated with the detector that this version brings and taken from it where it is left out.
    pub detector: DetectorParams,
    /// Patterns of your own; at most 64. A hit counts as one of a built-in pattern does: its category's weight, in every message.
    #[cfg(feature = "operator-patterns")]
    pub patterns: Vec<OperatorPattern>,
    /// What a hit of a rule means, by the rule's id (`category.pattern`, `operator.name`, `wire.duplicate_key`, `run.rewritten`, `conversation.resampling`,
    /// `detector.linear`, `detector.persistence`, `detector.caller_persistence`, `detector.failed`) or its group (`role_confusion` or `role_confusion.*`,
    /// `operator.*`, `wire.*`, `run.*`, `detector.*`); the id wins over the group. `off`: nothing. `flag`, `label` or `ask`: the verdict is at least that, and
    /// the score does not count it; what asks passes once it is approved. Nobody can approve what `detector.caller_persistence`, `run.ambiguous_caller` and
    /// `run.lost` hold back: with `detector` or `run` at `ask` name another use for these. `score`: the conversation's score counts it, as it does with patterns that are not named; outside the scored
    /// turns it flags; rules of the detector block in turns and flag outside them. `block`: this rule alone blocks, wherever it is met; issues only on AI traffic.
    pub rules: BTreeMap<String, RuleUse>,
    /// What of a body is judged.
    pub scope: Scope,
    /// The verdict on AI traffic over `max_body_bytes`.
    pub oversize: Unread,
    /// The verdict on AI traffic that readers would disagree about: no JSON, no UTF-8, duplicate keys, an unknown content-encoding and
    /// so on (every issue of effect `refuse`). With `flag`, what stands behind the place where a body stops being JSON passes unscanned.
    pub unparsed: Unread,
}

/// A value that a policy cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// Path of the key inside the policy, for example `conversation.tau`.
    pub key: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl Policy {
    /// The weight of each of `categories`, which come with their own, after every number of the policy was checked.
    ///
    /// # Errors
    /// The first key whose value is out of its range, or a weight for a category that is not there.
    pub fn weights(&self, categories: &[(&str, f64)]) -> Result<Vec<f64>, PolicyError> {
        self.check_params()?;
        for (name, &weight) in &self.weights {
            let key = format!("weights.{name}");
            if categories.iter().all(|(known, _)| known != name) {
                let known: Vec<&str> = categories.iter().map(|(name, _)| *name).collect();
                return Err(PolicyError { key, problem: format!("unknown category; known are {}", known.join(", ")) });
            }
            number(key, weight, 0.0, 1.0)?;
        }
        Ok(categories.iter().map(|(name, weight)| self.weights.get(*name).copied().unwrap_or(*weight)).collect())
    }

    fn check_params(&self) -> Result<(), PolicyError> {
        let Params { rho, delta, beta_e, beta_r, tau, .. } = self.conversation;
        let DetectorParams { event_block, drift, alarm, caller_alarm } = self.detector;
        for (key, value, least, most) in [
            ("conversation.rho", rho, 0.0, 1.0),
            ("conversation.delta", delta, 0.0, 1.0),
            ("conversation.beta_e", beta_e, 0.0, 1.0),
            ("conversation.beta_r", beta_r, 0.0, 1.0),
            // At 0 everything would be blocked.
            ("conversation.tau", tau, MIN_TAU, 1.0),
            ("detector.event_block", event_block.unwrap_or(1.0), MIN_TAU, 1.0),
            ("detector.drift", drift.unwrap_or(0.0), 0.0, 1.0),
            ("detector.alarm", alarm.unwrap_or(1.0), MIN_TAU, MAX_ALARM),
            ("detector.caller_alarm", caller_alarm.unwrap_or(1.0), MIN_TAU, MAX_ALARM),
        ] {
            number(key.to_string(), value, least, most)?;
        }
        let Params { min_user_turns, min_turns, window_max_turns, window_min_turns, fresh_turns, gone_turns, .. } = self.conversation;
        for (name, turns, least, most) in [
            ("min_user_turns", min_user_turns, 0, MAX_MIN_TURNS),
            ("min_turns", min_turns, 0, MAX_MIN_TURNS),
            ("window_max_turns", window_max_turns, 1, MAX_WINDOW_TURNS),
            ("window_min_turns", window_min_turns, 1, MAX_WINDOW_TURNS),
            ("fresh_turns", fresh_turns, 0, MAX_DECAY_TURNS),
            ("gone_turns", gone_turns, fresh_turns.saturating_add(1), MAX_DECAY_TURNS + 1),
        ] {
            if !(least..=most).contains(&turns) {
                let problem = format!("{turns} is out of range; give a number from {least} to {most}");
                return Err(PolicyError { key: format!("conversation.{name}"), problem });
            }
        }
        Ok(())
    }
}

/// Checks a number. Its range is put together of the few that there are: printing any `f64` takes 14 KB of code, which gateways compile at every start.
#[inline(never)]
fn number(key: String, value: f64, least: f64, most: f64) -> Result<(), PolicyError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let (least, most) = (if least > 0.0 { "0.01" } else { "0" }, if most > 1.0 { "16384" } else { "1" });
    Err(PolicyError { key, problem: format!("is out of range; give a number from {least} to {most}") })
}
