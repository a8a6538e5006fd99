//! Judges the requests of one record and counts what came out.

use anyhow::Context as _;
use floodmark_core::{Hint, Judge, Judgement, Policy, Verdict};
use floodmark_tables::PATTERNS;

use super::tally::{Outcome, Tallies};
use crate::data::{Channel, DataFile, Label, Message, Record, unit};
use crate::requests;

/// The judge as configured, and one for which repeated requests count nothing.
pub(super) struct Measure {
    judge: Judge<'static>,
    patterns_alone: Judge<'static>,
}

impl Measure {
    pub(super) fn new(policy: &Policy) -> anyhow::Result<Self> {
        let judge =
            |policy: &Policy| Judge::new(policy, &PATTERNS).map_err(|error| anyhow::anyhow!("policy.{}: {}", error.key, error.problem));
        let mut alone = policy.clone();
        alone.conversation.beta_r = 0.0;
        Ok(Self { judge: judge(policy)?, patterns_alone: judge(&alone)? })
    }

    /// Judges a record and counts it where it belongs.
    pub(super) fn record(&self, file: &DataFile, record: &Record, tallies: &mut Tallies) -> anyhow::Result<()> {
        let stem = file.stem();
        let set = format!("{}/{stem}", file.set);
        let unit = unit(&file.set, record);
        let Some(text) = &record.text else {
            if record.label != Label::Benign && record.injection_seen == Some(false) {
                tallies.never_met(&set);
                return Ok(());
            }
            let outcome = self.conversation(record.messages.as_deref().unwrap_or_default());
            match record.label {
                Label::Benign => tallies.benign_conversation(&set, &unit, &outcome),
                _ => tallies.attack_conversation(&set, &template(record), &unit, &outcome),
            }
            return Ok(());
        };
        let channel = record
            .channel
            .with_context(|| format!("{}: record {} holds a text but no channel; give `user` or `tool`", file.path.display(), record.id))?;
        let outcome = self.text(text, channel);
        match record.label {
            Label::Benign => tallies.benign_text(&set, &record.source, &unit, &outcome),
            _ => tallies.attack_text(&set, &format!("{}: {}", record.source, template(record)), &unit, &outcome),
        }
        Ok(())
    }

    /// What a gateway would make of the requests of a conversation, one after the other.
    fn conversation(&self, messages: &[Message]) -> Outcome {
        let mut outcome = Outcome::default();
        for chat in requests::chats(messages) {
            for body in chat.bodies() {
                // The longest comes first: where nothing at all is found in it, nothing is in the shorter ones.
                if !self.request(&body, &mut outcome) {
                    break;
                }
            }
        }
        outcome
    }

    fn text(&self, text: &str, channel: Channel) -> Outcome {
        let mut outcome = Outcome::default();
        self.request(&requests::alone(text, channel), &mut outcome);
        self.request(&requests::after_a_question(text, channel), &mut outcome);
        outcome
    }

    /// Whether anything was found.
    fn request(&self, body: &[u8], outcome: &mut Outcome) -> bool {
        let found = self.judge.judge(body, Hint::default());
        if found.verdict == Verdict::Allow && found.reasons.is_empty() {
            return false;
        }
        outcome.rules.extend(rules(&found));
        outcome.flagged |= found.verdict > Verdict::Allow;
        outcome.blocked |= found.verdict == Verdict::Block;
        let alone = if found.score.resampling { self.patterns_alone.judge(body, Hint::default()) } else { found };
        outcome.blocked_by_patterns |= alone.verdict == Verdict::Block && alone.decisive.is_some_and(|reason| reason.category.is_some());
        true
    }
}

/// The patterns that were hit, by rule id.
fn rules(found: &Judgement<'_>) -> impl Iterator<Item = String> {
    found.reasons.iter().filter(|reason| reason.category.is_some()).map(|reason| reason.rule.to_owned())
}

/// What the attack is called in its set.
fn template(record: &Record) -> String {
    [&record.attack, &record.attack_kind, &record.technique, &record.kind]
        .into_iter()
        .flatten()
        .next()
        .cloned()
        .unwrap_or_else(|| "-".to_owned())
}
