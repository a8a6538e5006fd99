//! A table of small records in shared data: bounded, with a time to live, safe against two writers, and not to be flooded.
//!
//! Shared data is one map for all VMs. It has no bound, takes nothing away, and of a key that is not there it takes whatever comes. So a table
//! is a fixed number of sets of eight entries, each set one value under a key of its own, and every change of a set is one compare-and-swap.

use crate::host::Host;
use crate::metrics::{TableCount, TableCounters};

use super::set::{self, ENTRY_BYTES, Room, Slot, WAYS};

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;
/// Bytes of a caller's tag.
pub const CALLER_BYTES: usize = 8;
/// Names an entry: a keyed digest, since what a client chooses must not decide in which set it stands.
pub type Key = [u8; KEY_BYTES];
/// Names the caller that an entry belongs to: a keyed digest.
pub type CallerTag = [u8; CALLER_BYTES];

/// So often a change is tried while other VMs change the same set.
pub const MAX_TRIES: usize = 64;
/// The version that a set is created with. Any will do for a key that is not there; this one is none that a gateway gives within four billion writes, so
/// when another VM was first the write does not overwrite it.
const ABSENT: u32 = u32::MAX;

/// A table's measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Its name in the keys of shared data.
    pub name: &'static str,
    /// Most entries; rounded up to whole sets.
    pub entries: u32,
    /// Longest payload of an entry.
    pub payload_bytes: usize,
    /// An entry that was not stored again for so long is gone.
    pub ttl_ms: u64,
    /// An entry's heat is half as much after so long.
    pub half_life_ms: u64,
    /// A new entry that finds no room since all is firm becomes firm itself, and one of those goes.
    pub insists: bool,
}

/// A table. It holds nothing itself: everything is in shared data.
#[derive(Clone, Debug, Default)]
pub struct Table {
    shape: Shape,
    sets: u32,
    counters: TableCounters,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What was stored.
    pub payload: Vec<u8>,
    /// Whose it is.
    pub caller: CallerTag,
    /// Its heat when it was stored last.
    pub heat: f32,
    /// It stays before all that are not.
    pub firm: bool,
    /// When it was stored last, Unix milliseconds.
    pub touched_ms: u64,
}

/// What is to become of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It stays as it is.
    Keep,
    /// This takes its place.
    Store {
        /// What to remember.
        payload: Vec<u8>,
        /// How much is lost with it: of full sets the coolest entries go, and none for a cooler one. At least 0; anything that is no such number counts as the most.
        heat: f32,
        /// It stays before all that are not.
        firm: bool,
    },
    /// It goes.
    Remove,
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was asked for, or there was nothing to take away.
    Kept,
    /// It is stored.
    Stored,
    /// It was taken away.
    Removed,
    /// It is new and there was no room: all that could go is hotter.
    Full,
}

/// What became of an entry, and whether what stood before could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Updated {
    /// What became of it.
    pub outcome: Outcome,
    /// The set held bytes that are none of ours; whatever was in it is lost.
    pub was_unreadable: bool,
}

/// Why nothing was stored or found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// The gateway has no shared data, or it failed.
    Unavailable,
    /// Others changed the same set [`MAX_TRIES`] times meanwhile.
    Contended,
    /// The payload is longer than the table takes.
    TooLong,
}

impl Table {
    /// A table of this shape.
    pub fn new(shape: Shape, counters: TableCounters) -> Self {
        Table { shape, sets: shape.entries.div_ceil(WAYS as u32).max(1), counters }
    }

    /// Most bytes that its values take in shared data, keys beside.
    pub fn max_bytes(&self) -> u64 {
        u64::from(self.sets) * (4 + (WAYS * (ENTRY_BYTES + self.shape.payload_bytes)) as u64)
    }

    /// Finds an entry. One of another caller than `caller` is counted and not given; `None` asks for anybody's.
    ///
    /// # Errors
    /// When there is no shared data.
    pub fn get(&self, host: &dyn Host, key: &Key, caller: Option<&CallerTag>, now_ms: u64) -> Result<Option<Entry>, StateError> {
        let set = self.set_of(key);
        let Some((bytes, _)) = host.shared_data(&set).map_err(|_| StateError::Unavailable)? else {
            self.counters.count(host, TableCount::Misses);
            return Ok(None);
        };
        let slots = self.read(host, &bytes).unwrap_or_default();
        let (found, how) = self.find(&slots, key, caller, now_ms);
        self.counters.count(host, how);
        let found = found.and_then(|way| slots.get(way));
        Ok(found.map(|slot| Entry {
            payload: slot.payload.to_vec(),
            caller: slot.caller,
            heat: slot.heat,
            firm: slot.firm,
            touched_ms: slot.touched_ms,
        }))
    }

    /// Changes an entry as `change` says, which gets what stands, and is asked again when another VM was quicker. With no `caller` anybody's entry is
    /// changed, and none is made.
    ///
    /// # Errors
    /// [`StateError`]; then nothing was changed.
    pub fn update(
        &self,
        host: &dyn Host,
        key: &Key,
        caller: Option<&CallerTag>,
        now_ms: u64,
        change: &mut dyn FnMut(Option<&[u8]>) -> Change,
    ) -> Result<Updated, StateError> {
        let done = self.try_update(host, key, caller, now_ms, change);
        if done.is_err() || done.is_ok_and(|done| done.outcome == Outcome::Full) {
            self.counters.count(host, TableCount::Lost);
        }
        done
    }

    fn try_update(
        &self,
        host: &dyn Host,
        key: &Key,
        caller: Option<&CallerTag>,
        now_ms: u64,
        change: &mut dyn FnMut(Option<&[u8]>) -> Change,
    ) -> Result<Updated, StateError> {
        let set = self.set_of(key);
        for tried in 0..MAX_TRIES {
            let standing = host.shared_data(&set).map_err(|_| StateError::Unavailable)?;
            let (bytes, version) = standing.unwrap_or((Vec::new(), ABSENT));
            let read = self.read(host, &bytes);
            let was_unreadable = read.is_none();
            let mut slots = read.unwrap_or_default();
            let (found, how) = self.find(&slots, key, caller, now_ms);
            if tried == 0 {
                self.counters.count(host, how);
            }
            let wanted = change(found.and_then(|way| slots.get(way)).map(|slot| slot.payload));
            let (payload, heat, firm) = match (wanted, found) {
                (Change::Keep, _) | (Change::Remove, None) => return Ok(Updated { outcome: Outcome::Kept, was_unreadable }),
                (Change::Remove, Some(way)) => {
                    slots.remove(way);
                    if self.write(host, &set, &slots, version)? {
                        return Ok(Updated { outcome: Outcome::Removed, was_unreadable });
                    }
                    continue;
                }
                (Change::Store { payload, .. }, _) if payload.len() > self.shape.payload_bytes => return Err(StateError::TooLong),
                (Change::Store { payload, heat, firm }, _) => (payload, if heat >= 0.0 { heat } else { f32::MAX }, firm),
            };
            let mut evicted = false;
            match (found.and_then(|way| slots.get_mut(way)), caller) {
                (Some(slot), _) => {
                    // A clock that runs back makes nothing younger than it was.
                    let touched_ms = slot.touched_ms.max(now_ms);
                    *slot = Slot { payload: &payload, heat, firm, touched_ms, ..*slot };
                }
                (None, None) => return Ok(Updated { outcome: Outcome::Kept, was_unreadable }),
                (None, Some(caller)) => {
                    let mut new = Slot { key: *key, caller: *caller, heat, firm, touched_ms: now_ms, payload: &payload };
                    slots.retain(|slot| !self.is_expired(slot, now_ms));
                    let mut room = set::room(&slots, &new, self.shape.half_life_ms);
                    if room == Room::None && self.shape.insists {
                        new.firm = true;
                        room = set::room(&slots, &new, self.shape.half_life_ms);
                    }
                    match room {
                        Room::Free => slots.push(new),
                        Room::Instead(way) => {
                            evicted = true;
                            if let Some(slot) = slots.get_mut(way) {
                                *slot = new;
                            }
                        }
                        Room::None => return Ok(Updated { outcome: Outcome::Full, was_unreadable }),
                    }
                }
            }
            if self.write(host, &set, &slots, version)? {
                if evicted {
                    self.counters.count(host, TableCount::Evictions);
                }
                return Ok(Updated { outcome: Outcome::Stored, was_unreadable });
            }
        }
        Err(StateError::Contended)
    }

    /// The key of shared data under which a key's set stands.
    fn set_of(&self, key: &Key) -> String {
        let [a, b, c, d, ..] = *key;
        format!("floodmark/1/{}/{}", self.shape.name, u32::from_le_bytes([a, b, c, d]) % self.sets.max(1))
    }

    fn is_expired(&self, slot: &Slot<'_>, now_ms: u64) -> bool {
        now_ms.saturating_sub(slot.touched_ms) >= self.shape.ttl_ms
    }

    fn read<'b>(&self, host: &dyn Host, bytes: &'b [u8]) -> Option<Vec<Slot<'b>>> {
        let slots = set::decode(bytes, self.shape.payload_bytes);
        if slots.is_none() {
            self.counters.count(host, TableCount::Unreadable);
        }
        slots
    }

    /// The way that an entry has in its set, and what is counted for it.
    fn find(&self, slots: &[Slot<'_>], key: &Key, caller: Option<&CallerTag>, now_ms: u64) -> (Option<usize>, TableCount) {
        let mut how = TableCount::Misses;
        for (way, slot) in slots.iter().enumerate() {
            if slot.key != *key || self.is_expired(slot, now_ms) {
                continue;
            }
            if caller.is_none_or(|caller| *caller == slot.caller) {
                return (Some(way), TableCount::Hits);
            }
            how = TableCount::Foreign;
        }
        (None, how)
    }

    /// `false` when another VM was quicker.
    fn write(&self, host: &dyn Host, set: &str, slots: &[Slot<'_>], version: u32) -> Result<bool, StateError> {
        let written = host.set_shared_data(set, &set::encode(slots), version).map_err(|_| StateError::Unavailable)?;
        if !written {
            self.counters.count(host, TableCount::Conflicts);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
