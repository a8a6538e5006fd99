//! Whether a request's caller is anybody: who names a credential that no upstream accepts can do so under as many names as it likes, so what is
//! remembered of it gives way to everything that is remembered of others.

use std::rc::Rc;

use super::Exchange;
use super::within::{now_ms, stored_caller, stored_run};
use crate::headers::Fields;
use crate::host::Host;
use crate::session::Caller;
use crate::state::State;
use crate::state::table::{Change, Outcome, StateError, Updated};

/// What is known of a caller's credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// An upstream accepted a request of it.
    Given,
    /// None did so far; this exchange's response may be the first.
    Open,
    /// This exchange proves nothing: it names nobody, or is none that counts.
    Never,
}

/// Records of a caller that is not proven, for which there was no room yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) run: Option<Vec<u8>>,
    pub(super) caller: Option<Vec<u8>>,
}

impl Proof {
    /// What the caller's record says. One without can prove itself by this exchange where it `may`.
    pub(super) fn of(caller: &Caller, state: &State, host: &dyn Host, may: bool) -> Self {
        if !caller.is_known {
            return Proof::Never;
        }
        let record = state.callers.get(host, &caller.key(), Some(&caller.tag()), now_ms(host));
        match record {
            Ok(Some(entry)) if stored_caller(Some(&entry.payload)).0.is_proven() => Proof::Given,
            _ if may => Proof::Open,
            _ => Proof::Never,
        }
    }

    pub(super) fn is_given(self) -> bool {
        self == Proof::Given
    }

    /// A record to be stored, which is lost with `heat`.
    pub(super) fn store(self, payload: Vec<u8>, heat: f32) -> Change {
        let firm = self.is_given();
        Change::Store { payload, heat: if firm { heat } else { 0.0 }, firm }
    }

    /// There was no room for a record, which may be another when the caller is proven.
    pub(super) fn waits(self, stored: Result<Updated, StateError>) -> bool {
        self == Proof::Open && stored.is_ok_and(|stored| stored.outcome == Outcome::Full)
    }
}

impl From<bool> for Proof {
    fn from(is_proven: bool) -> Self {
        if is_proven { Proof::Given } else { Proof::Open }
    }
}

impl Exchange {
    /// The upstream's answer came. If it accepted the request, which is the first of its caller, then what is stored of it stays from now on.
    pub(super) fn prove(&mut self, host: &dyn Host) {
        let shared = Rc::clone(&self.shared);
        let (Some(state), Some(identity), Some(within)) = (&shared.state, &self.identity, self.within) else { return };
        if within.proof != Proof::Open || !is_accepted(host) {
            return;
        }
        self.within = Some(within.proven());
        let (tag, now_ms) = (identity.caller.tag(), now_ms(host));
        let waiting = core::mem::take(&mut self.waiting);
        // What cannot be stored is counted by the table, and the next answer proves it again.
        let _ = state.callers.update(host, &identity.caller.key(), Some(&tag), now_ms, &mut |standing| {
            let (mut caller, _) = stored_caller(standing.or(waiting.caller.as_deref()));
            caller.prove();
            Proof::Given.store(caller.encode(), caller.heat())
        });
        if let Some(named) = within.named {
            let _ = state.runs.update(host, &named.id, Some(&tag), now_ms, &mut |standing| match standing.or(waiting.run.as_deref()) {
                Some(record) => {
                    let (run, readable) = stored_run(Some(record));
                    if readable { Proof::Given.store(record.to_vec(), run.heat()) } else { Change::Keep }
                }
                None => Change::Keep,
            });
        }
    }
}

fn is_accepted(host: &dyn Host) -> bool {
    matches!(Fields::new(host.response_headers().unwrap_or_default()).value(":status"), Some([b'2', _, _]))
}
