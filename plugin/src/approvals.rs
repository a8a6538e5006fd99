//! Approvals: what a rule with the use `ask` holds back passes once, after an operator said so.
//!
//! An approval stands under its binding, a keyed digest of caller, run and what is asked for, so that nobody else's and nothing else's can be used. Its id
//! is the binding and a tag over the time of asking: an id from before does not approve what is asked for anew. It is used up by one compare-and-swap.

mod record;

use floodmark_core::limits::MAX_APPROVALS;
use floodmark_core::lineage::decode_hex;
pub use floodmark_core::lineage::encode_hex as hex;

use crate::host::Host;
use crate::keys::{SubKey, first};
use crate::metrics::{ApprovalCount, ApprovalCounters, TableCounters};
use crate::state::table::{CALLER_BYTES, CallerTag, Change, Key, Outcome, Shape, Table};
pub use record::Status;
use record::{MAX_RECORD_BYTES, Record};

/// Hex digits of a binding and of a tag.
const BINDING_DIGITS: usize = 32;
const TAG_DIGITS: usize = 8;

/// The tenant of what was asked for none.
pub const NO_TENANT: CallerTag = [0; CALLER_BYTES];

/// The approvals of a configuration; what was asked and said is in shared data.
#[derive(Clone, Debug)]
pub struct Approvals {
    key: SubKey,
    ttl_ms: u64,
    table: Table,
}

/// Who asks, and for what.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The caller.
    pub caller: &'r CallerTag,
    /// The run.
    pub run: &'r Key,
    /// A digest of what is asked for.
    pub asked: &'r [u8; 16],
    /// An upstream accepted a request of the caller.
    pub is_proven: bool,
    /// For which tenant, or [`NO_TENANT`]; who is limited to others does not decide.
    pub tenant: CallerTag,
}

/// What comes of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was approved, and the approval is used up by this.
    Granted {
        /// The approval's id.
        id: String,
        /// The name of the token that approved it.
        by: String,
    },
    /// Nobody has decided yet; `new` when it was not asked for before.
    Pending {
        /// The approval's id.
        id: String,
        /// It was not asked for before.
        new: bool,
    },
    /// It was denied.
    Denied {
        /// The approval's id.
        id: String,
    },
    /// It could not be kept.
    Impossible,
}

impl Answer {
    /// The approval's id, where there is one.
    pub fn id(&self) -> Option<&str> {
        match self {
            Answer::Granted { id, .. } | Answer::Pending { id, .. } | Answer::Denied { id } => Some(id),
            Answer::Impossible => None,
        }
    }
}

/// An operator's word on an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// What holds now.
    pub status: Status,
    /// This changed something.
    pub changed: bool,
    /// The run that asked.
    pub run: Key,
    /// From when on it is void, in Unix milliseconds.
    pub expires_ms: u64,
}

/// Why an operator's word does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The id is none that is spelled like one.
    Malformed,
    /// Nothing is asked for under this id, or no longer.
    Unknown,
    /// It is for another tenant than those of the token, or for none.
    Limited,
    /// It was used.
    Used,
    /// It was denied, which is for good.
    Denied,
    /// Shared data failed.
    State,
}

impl Approvals {
    /// With the sub-key for approvals; each is void `ttl_s` seconds after it was asked for.
    pub fn new(key: SubKey, ttl_s: u32, counters: TableCounters) -> Self {
        let ttl_ms = u64::from(ttl_s) * 1000;
        // As long as one lives it stays hotter than any that nobody approved, so asking much cannot push it out.
        let half_life_ms = ttl_ms;
        let shape =
            Shape { name: "approvals", entries: MAX_APPROVALS, payload_bytes: MAX_RECORD_BYTES, ttl_ms, half_life_ms, insists: false };
        Approvals { key, ttl_ms, table: Table::new(shape, counters) }
    }

    /// Asks for an approval: uses the one that is there, or leaves word that one is wanted.
    pub fn ask(&self, host: &dyn Host, counters: &ApprovalCounters, request: Request<'_>, now_ms: u64) -> Answer {
        let binding = self.binding(request);
        let mut answer = Answer::Impossible;
        let mut change = |standing: Option<&[u8]>| {
            let standing = standing.and_then(Record::decode);
            let (next, said) = self.asked(&binding, standing, request, now_ms);
            answer = said;
            next.map_or(Change::Keep, |record| stored(&record, request.is_proven))
        };
        let kept = self.table.update(host, &binding, Some(request.caller), now_ms, &mut change);
        // Nothing passes on an approval whose use could not be written down.
        if !kept.is_ok_and(|kept| kept.outcome != Outcome::Full) {
            answer = Answer::Impossible;
        }
        match answer {
            Answer::Granted { .. } => counters.count(host, ApprovalCount::Used),
            Answer::Pending { new: true, .. } => counters.count(host, ApprovalCount::Asked),
            Answer::Pending { .. } | Answer::Denied { .. } => {}
            Answer::Impossible => counters.count(host, ApprovalCount::Impossible),
        }
        answer
    }

    /// What comes of asking when `standing` is there, and what takes its place.
    fn asked(&self, binding: &Key, standing: Option<Record>, request: Request<'_>, now_ms: u64) -> (Option<Record>, Answer) {
        let serial = standing.as_ref().map_or(0, |record| record.serial.wrapping_add(1));
        match standing.filter(|record| record.is_valid(now_ms)) {
            Some(record) if record.status == Status::Approved => {
                let (id, by) = (self.id(binding, &record), record.by.clone());
                (Some(Record { status: Status::Used, ..record }), Answer::Granted { id, by })
            }
            Some(record) if record.status == Status::Pending => {
                let id = self.id(binding, &record);
                // Its caller may have been proven meanwhile.
                (request.is_proven.then_some(record), Answer::Pending { id, new: false })
            }
            Some(record) if record.status == Status::Denied => (None, Answer::Denied { id: self.id(binding, &record) }),
            _ => {
                let expires_ms = now_ms.saturating_add(self.ttl_ms);
                let record = Record {
                    status: Status::Pending,
                    asked_ms: now_ms,
                    expires_ms,
                    serial,
                    run: *request.run,
                    tenant: request.tenant,
                    by: String::new(),
                };
                let id = self.id(binding, &record);
                (Some(record), Answer::Pending { id, new: true })
            }
        }
    }

    /// An operator approves or denies; `by` is the name of the token, `tenants` those that it is limited to, if it is.
    ///
    /// # Errors
    /// Why it does not count; then nothing was changed.
    pub fn decide(
        &self,
        host: &dyn Host,
        counters: &ApprovalCounters,
        id: &str,
        approve: bool,
        (by, tenants): (&str, Option<&[CallerTag]>),
        now_ms: u64,
    ) -> Result<Decided, Refused> {
        let binding = binding_of(id).ok_or(Refused::Malformed)?;
        let mut decided = Err(Refused::Unknown);
        let mut change = |standing: Option<&[u8]>| {
            let standing = standing.and_then(Record::decode);
            let record = standing.filter(|record| record.is_valid(now_ms) && self.id(&binding, record) == id);
            let Some(record) = record else {
                decided = Err(Refused::Unknown);
                return Change::Keep;
            };
            let wanted = if approve { Status::Approved } else { Status::Denied };
            let (run, expires_ms) = (record.run, record.expires_ms);
            match record.status {
                _ if tenants.is_some_and(|tenants| !tenants.contains(&record.tenant)) => decided = Err(Refused::Limited),
                Status::Used => decided = Err(Refused::Used),
                Status::Denied if approve => decided = Err(Refused::Denied),
                status if status == wanted => decided = Ok(Decided { status, changed: false, run, expires_ms }),
                _ => {
                    decided = Ok(Decided { status: wanted, changed: true, run, expires_ms });
                    return stored(&Record { status: wanted, by: by.to_owned(), ..record }, true);
                }
            }
            Change::Keep
        };
        self.table.update(host, &binding, None, now_ms, &mut change).map_err(|_| Refused::State)?;
        if let Ok(Decided { changed: true, .. }) = decided {
            counters.count(host, if approve { ApprovalCount::Approved } else { ApprovalCount::Denied });
        }
        decided
    }

    fn binding(&self, Request { caller, run, asked, .. }: Request<'_>) -> Key {
        first(&self.key.digest(&[b"binding", caller, run, asked]))
    }

    fn id(&self, binding: &Key, record: &Record) -> String {
        let tag = self.key.digest(&[b"tag", binding, &record.asked_ms.to_le_bytes(), &record.serial.to_le_bytes()]);
        [&hex(binding), "-", &hex(&first::<{ TAG_DIGITS / 2 }>(&tag))].concat()
    }
}

/// How much is lost when it is forgotten: a given approval most, one that was used nothing, and one that waits no more than anyone could make wait who makes
/// up callers.
fn stored(record: &Record, is_proven: bool) -> Change {
    let (heat, firm) = match record.status {
        Status::Approved => (4.0, true),
        Status::Denied => (2.0, true),
        Status::Pending => (f32::from(u8::from(is_proven)), false),
        Status::Used => (0.0, false),
    };
    Change::Store { payload: record.encode(), heat, firm }
}

/// The binding in an id; `None` for what is not spelled like one.
fn binding_of(id: &str) -> Option<Key> {
    let (binding, tag) = id.split_once('-')?;
    let lower = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !lower(tag, TAG_DIGITS) || binding.len() != BINDING_DIGITS { None } else { unhex(binding) }
}

/// 16 bytes from 32 lower-case hex digits.
pub fn unhex(digits: &str) -> Option<Key> {
    let mut bytes = Vec::new();
    if decode_hex(digits, &mut bytes) { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests;
