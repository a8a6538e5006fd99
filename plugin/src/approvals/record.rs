//! What is kept of an approval: a few numbers and a name, spelled by hand since it never leaves the gateway.

use floodmark_core::limits::MAX_TOKEN_NAME_BYTES;
use serde::Serialize;

use crate::state::table::{CALLER_BYTES, CallerTag, KEY_BYTES, Key};

/// The first byte of every record: the version of what follows.
const VERSION: u8 = 2;
/// Longest record.
pub(super) const MAX_RECORD_BYTES: usize = 2 + 8 + 8 + 4 + KEY_BYTES + CALLER_BYTES + MAX_TOKEN_NAME_BYTES;

/// How far an approval has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Asked for.
    Pending,
    /// Given, and not used yet.
    Approved,
    /// Denied.
    Denied,
    /// Used.
    Used,
}

impl Status {
    const ALL: [Status; 4] = [Status::Pending, Status::Approved, Status::Denied, Status::Used];
}

/// An approval as it stands in shared data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub status: Status,
    /// When it was asked for, in Unix milliseconds.
    pub asked_ms: u64,
    /// From when on it is void.
    pub expires_ms: u64,
    /// How often the same was asked for before, so that ids differ where the clock does not.
    pub serial: u32,
    /// The run that asked.
    pub run: Key,
    /// The tenant for whom it was asked, or [`super::NO_TENANT`].
    pub tenant: CallerTag,
    /// Name of the token that decided; empty before.
    pub by: String,
}

impl Record {
    /// Whether it is not void yet.
    pub fn is_valid(&self, now_ms: u64) -> bool {
        now_ms < self.expires_ms
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.status as u8];
        bytes.extend(self.asked_ms.to_le_bytes());
        bytes.extend(self.expires_ms.to_le_bytes());
        bytes.extend(self.serial.to_le_bytes());
        bytes.extend(self.run);
        bytes.extend(self.tenant);
        bytes.extend(self.by.as_bytes());
        bytes
    }

    /// `None` for bytes that are no record: nothing is approved then.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&[VERSION, status], rest) = bytes.split_first_chunk()? else { return None };
        let (asked_ms, rest) = rest.split_first_chunk()?;
        let (expires_ms, rest) = rest.split_first_chunk()?;
        let (serial, rest) = rest.split_first_chunk()?;
        let (run, rest) = rest.split_first_chunk()?;
        let (tenant, by) = rest.split_first_chunk()?;
        let status = *Status::ALL.get(usize::from(status))?;
        let by = core::str::from_utf8(by).ok().filter(|by| by.len() <= MAX_TOKEN_NAME_BYTES)?.to_owned();
        let (asked_ms, expires_ms) = (u64::from_le_bytes(*asked_ms), u64::from_le_bytes(*expires_ms));
        Some(Record { status, asked_ms, expires_ms, serial: u32::from_le_bytes(*serial), run: *run, tenant: *tenant, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_and_nothing_else_is_one() {
        for status in Status::ALL {
            let by = "a".repeat(if status == Status::Pending { 0 } else { MAX_TOKEN_NAME_BYTES });
            let record =
                Record { status, asked_ms: 5, expires_ms: u64::MAX, serial: 7, run: [9; KEY_BYTES], tenant: [8; CALLER_BYTES], by };
            let bytes = record.encode();
            assert!(bytes.len() <= MAX_RECORD_BYTES);
            assert_eq!(Record::decode(&bytes), Some(record));
            let least = MAX_RECORD_BYTES - MAX_TOKEN_NAME_BYTES;
            assert!((0..least).all(|end| Record::decode(&bytes[..end]).is_none()));
            for (at, other) in [(0, 1), (1, 4), (1, 255)] {
                let mut odd = bytes.clone();
                odd[at] = other;
                assert_eq!(Record::decode(&odd), None);
            }
            assert_eq!(Record::decode(&[&bytes[..least], &[0xff][..]].concat()), None, "a name is UTF-8");
            assert_eq!(Record::decode(&[&bytes[..least], &[b'a'; MAX_TOKEN_NAME_BYTES + 1]].concat()), None);
        }
    }
}
