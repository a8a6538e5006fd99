//! What a rule with the use `ask` holds back: the approval is looked for while the run is judged, and the client told what came of it.

use floodmark_core::{Judgement, Verdict};

use super::Exchange;
use super::within::Within;
use crate::approvals::{Answer, Approvals, NO_TENANT, Request};
use crate::host::{Host, LogLevel};
use crate::metrics::ApprovalCounters;
use crate::reply::{Approval, Denial};
use crate::state::table::{CallerTag, Key};

/// A request's search for its approval.
pub(super) struct Asking<'s> {
    approvals: &'s Approvals,
    counters: &'s ApprovalCounters,
    caller: CallerTag,
    run: Key,
    is_proven: bool,
    now_ms: u64,
    /// What came of it; `None` while none was needed.
    pub answer: Option<Answer>,
    /// What was granted.
    granted: Option<[u8; 16]>,
}

impl<'s> Asking<'s> {
    /// For a caller's request in a run. Where nothing names one, what is approved is the caller's in whatever run.
    pub fn new(approvals: &'s Approvals, counters: &'s ApprovalCounters, caller: CallerTag, within: Within, now_ms: u64) -> Self {
        let run = within.named.map(|named| named.id).unwrap_or_default();
        Asking { approvals, counters, caller, run, is_proven: within.proof.is_given(), now_ms, answer: None, granted: None }
    }

    /// The approval that a judgement needs, if it can be used: it is used up by this. May be asked again when the run changed meanwhile.
    pub fn approved(&mut self, host: &dyn Host, judgement: &Judgement<'_>) -> Option<[u8; 16]> {
        // What is blocked whatever anyone approves asks for nothing.
        let asked = judgement.run.and_then(|run| run.asked).filter(|_| judgement.verdict == Verdict::Ask)?;
        if self.granted == Some(asked) {
            return self.granted;
        }
        let request = Request { caller: &self.caller, run: &self.run, asked: &asked, is_proven: self.is_proven, tenant: NO_TENANT };
        let mut answer = self.approvals.ask(host, self.counters, request, self.now_ms);
        // Asked a second time, it is still this request that asked first.
        if let (Answer::Pending { id, new }, Some(Answer::Pending { id: before, new: true })) = (&mut answer, &self.answer) {
            *new |= id == before;
        }
        self.granted = matches!(answer, Answer::Granted { .. }).then_some(asked);
        self.answer = Some(answer);
        self.granted
    }
}

impl Exchange {
    /// The refusal of what would pass with an approval.
    pub(super) fn unless_approved<'d>(&'d self, denial: Denial<'d>) -> Denial<'d> {
        denial.unless_approved(match &self.approval {
            Some(Answer::Pending { id, .. }) => Approval::Pending(id),
            Some(Answer::Denied { id }) => Approval::Denied(id),
            Some(Answer::Granted { .. } | Answer::Impossible) | None => Approval::Impossible,
        })
    }

    /// Tells operators of an approval that is wanted, or was used.
    pub(super) fn log_approval(&self, host: &dyn Host, judgement: &Judgement<'_>) {
        let Some(answer) = &self.approval else { return };
        if let Some(id) = answer.id() {
            self.checked(host, host.set_filter_state("floodmark.approval", id));
        }
        let rule = judgement.decisive.as_ref().map_or("-", |reason| reason.rule);
        let (said, id, more) = match answer {
            // Another worker may have used the approval for the same history meanwhile: then this passes as one that was approved.
            Answer::Pending { id, new: true } if judgement.verdict == Verdict::Ask => ("asked", id, [" rule=", rule]),
            Answer::Granted { id, by } => ("used", id, [" token=", by.as_str()]),
            _ => return,
        };
        let run = self.run_id();
        let parts = ["floodmark approval=", said, " id=", id, " run=", run.as_deref().unwrap_or("-")];
        host.log(LogLevel::Info, &[&parts[..], &more, &[" event=", &self.event_id]].concat().concat());
    }
}
