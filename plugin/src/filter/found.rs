//! What was found in a response, whole or streamed, and how it is told.

use floodmark_core::streamed::Outcome;
use floodmark_core::wire::{Direction, Format, IdKind, IssueKind, Issues};
use floodmark_core::{Action, Judgement, Verdict};

use super::{Exchange, joined};
use crate::labels;
use crate::reply::{self, Denial};

/// What was found in a response.
#[derive(Clone, Copy)]
pub(super) enum Found<'f> {
    Whole(&'f Judgement<'f>),
    Stream(&'f Outcome),
}

impl<'f> Found<'f> {
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Found::Whole(judgement) => judgement.verdict,
            Found::Stream(outcome) => outcome.verdict,
        }
    }

    pub(super) fn rule(self) -> Option<&'f str> {
        match self {
            Found::Whole(judgement) => judgement.decisive.as_ref().map(|reason| reason.rule),
            Found::Stream(outcome) => outcome.rule.as_deref(),
        }
    }

    pub(super) fn format(self) -> Format {
        match self {
            Found::Whole(judgement) => judgement.format,
            Found::Stream(outcome) => outcome.format,
        }
    }

    pub(super) fn issues(self) -> &'f Issues {
        match self {
            Found::Whole(judgement) => &judgement.issues,
            Found::Stream(outcome) => &outcome.issues,
        }
    }

    pub(super) fn ids(self) -> &'f [IdKind] {
        match self {
            Found::Whole(judgement) => &judgement.ids,
            Found::Stream(outcome) => &outcome.ids,
        }
    }

    /// Tool calls, tool results, hits that an exemption covers, and bits of the detector's rules that were met.
    pub(super) fn counts(self) -> [u32; 4] {
        match self {
            Found::Whole(judgement) => {
                let rules_met = judgement.detected.as_ref().map_or(0, |detected| detected.rules_met);
                [judgement.tool_calls, judgement.tool_results, judgement.exempt_hits, rules_met]
            }
            Found::Stream(outcome) => [outcome.tool_calls, outcome.tool_results, outcome.exempt_hits, outcome.rules_met],
        }
    }

    /// The highest score of an event, where there is a detector.
    fn event_peak(self) -> Option<String> {
        match self {
            Found::Whole(judgement) => labels::detector(judgement)[0].take(),
            Found::Stream(outcome) => outcome.event_peak.map(labels::number),
        }
    }

    /// What a refusal says of it.
    pub(super) fn denial(self, exchange: reply::Exchange<'f>) -> Denial<'f> {
        match self {
            Found::Whole(judgement) => Denial::of_judgement(judgement, Direction::Response, exchange),
            Found::Stream(outcome) => Denial::of_stream(outcome, exchange),
        }
    }

    /// Names, numbers and ids only.
    pub(super) fn log_line(self, exchange: &Exchange, action: Action, mcp_session: bool) -> String {
        let [tool_calls, tool_results, exempt_hits, _] = self.counts();
        let session = mcp_session.then_some("mcp_session");
        format!(
            "floodmark response verdict={} action={} mode={} rule={} event_peak={} format={} calls={} results={} ids={} issues={} exempt={} event={}{}",
            self.verdict().name(),
            action.name(),
            exchange.mode.name(),
            self.rule().unwrap_or("-"),
            self.event_peak().as_deref().unwrap_or("-"),
            self.format().name(),
            tool_calls,
            tool_results,
            joined(self.ids().iter().map(|id| id.name()).chain(session)),
            joined(self.issues().kinds().map(IssueKind::name)),
            exempt_hits,
            exchange.event_id,
            exchange.run_words(),
        )
    }
}
