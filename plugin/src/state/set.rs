//! One set of a table: a few entries in one value of shared data, so that finding room and taking it is one compare-and-swap.

use super::table::{CALLER_BYTES, CallerTag, KEY_BYTES, Key};

/// Entries of a set.
pub(super) const WAYS: usize = 8;
/// Most entries of a set that one caller may have.
pub(super) const CALLER_WAYS: usize = WAYS / 2;
/// What begins every value that is ours; the last byte is the version of what follows.
const MARK: [u8; 4] = *b"fms\x01";
/// Bytes of an entry before its payload: key, caller, heat, flags, time, length.
pub(super) const ENTRY_BYTES: usize = KEY_BYTES + CALLER_BYTES + 4 + 1 + 8 + 2;
const FIRM: u8 = 1;

/// An entry as it stands in a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slot<'s> {
    pub key: Key,
    pub caller: CallerTag,
    pub heat: f32,
    pub firm: bool,
    pub touched_ms: u64,
    pub payload: &'s [u8],
}

impl Slot<'_> {
    /// Its heat at a later time: half as much after each half-life, in straight lines between. Eviction needs an order, not a curve.
    pub(super) fn heat_at(&self, now_ms: u64, half_life_ms: u64) -> f32 {
        let age_ms = now_ms.saturating_sub(self.touched_ms);
        let half_life_ms = half_life_ms.max(1);
        let halvings = i32::try_from(age_ms / half_life_ms).unwrap_or(i32::MAX).min(200);
        let part = (age_ms % half_life_ms) as f32 / half_life_ms as f32;
        let mut heat = self.heat;
        for _ in 0..halvings {
            heat *= 0.5;
        }
        heat * (1.0 - part / 2.0)
    }
}

/// Reads a set; `None` when the bytes are none of ours.
pub(super) fn decode(bytes: &[u8], max_payload_bytes: usize) -> Option<Vec<Slot<'_>>> {
    // An emptied value: shared data cannot take a key away.
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    let mut rest = bytes.strip_prefix(&MARK)?;
    let mut slots: Vec<Slot<'_>> = Vec::with_capacity(WAYS);
    while !rest.is_empty() {
        let key: Key = *take(&mut rest)?;
        let caller: CallerTag = *take(&mut rest)?;
        let heat = f32::from_le_bytes(*take(&mut rest)?);
        let [flags] = *take(&mut rest)?;
        let touched_ms = u64::from_le_bytes(*take(&mut rest)?);
        let length = usize::from(u16::from_le_bytes(*take(&mut rest)?));
        let (payload, behind) = rest.split_at_checked(length)?;
        rest = behind;
        let ours = flags <= FIRM && heat >= 0.0 && length <= max_payload_bytes && slots.len() < WAYS;
        if !ours || slots.iter().any(|other| other.key == key && other.caller == caller) {
            return None;
        }
        slots.push(Slot { key, caller, heat, firm: flags == FIRM, touched_ms, payload });
    }
    Some(slots)
}

fn take<'b, const N: usize>(rest: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (part, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(part)
}

/// Writes a set. One of no entries is an empty value.
pub(super) fn encode(slots: &[Slot<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if slots.is_empty() {
        return bytes;
    }
    bytes.extend(MARK);
    for slot in slots {
        bytes.extend(slot.key);
        bytes.extend(slot.caller);
        bytes.extend(slot.heat.to_le_bytes());
        bytes.push(if slot.firm { FIRM } else { 0 });
        bytes.extend(slot.touched_ms.to_le_bytes());
        // The table has refused longer ones.
        bytes.extend(u16::try_from(slot.payload.len()).unwrap_or(u16::MAX).to_le_bytes());
        bytes.extend(slot.payload);
    }
    bytes
}

/// What has to go for a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Nothing: there is a free way.
    Free,
    /// This one.
    Instead(usize),
    /// There is none: what stands is hotter.
    None,
}

/// Finds room for `new` among entries that have not expired. A caller that has its share of the set gives up one of its own. Nothing gives way to what
/// is cooler, or loose where it is firm itself: so a flood of new entries cannot wash out what was counted. Of those that may go it is
/// the loose first, then the coolest, then the newcomer's own, then the one that was not touched for longest.
pub(super) fn room(slots: &[Slot<'_>], new: &Slot<'_>, half_life_ms: u64) -> Room {
    let own = slots.iter().filter(|slot| slot.caller == new.caller).count();
    let only_own = own >= CALLER_WAYS;
    if !only_own && slots.len() < WAYS {
        return Room::Free;
    }
    let mut best: Option<(usize, (bool, f32, bool, u64))> = None;
    for (way, slot) in slots.iter().enumerate() {
        let heat = slot.heat_at(new.touched_ms, half_life_ms);
        let is_own = slot.caller == new.caller;
        let may_go = heat <= new.heat && slot.firm <= new.firm && (is_own || !only_own);
        let rank = (slot.firm, heat, !is_own, slot.touched_ms);
        if may_go && best.is_none_or(|(_, least)| rank < least) {
            best = Some((way, rank));
        }
    }
    best.map_or(Room::None, |(way, _)| Room::Instead(way))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(caller: u8, heat: f32, firm: bool, touched_ms: u64) -> Slot<'static> {
        Slot { key: [touched_ms as u8; KEY_BYTES], caller: [caller; CALLER_BYTES], heat, firm, touched_ms, payload: b"p" }
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let slots = [slot(1, 0.5, false, 10), slot(2, 0.0, true, 20)];
        let bytes = encode(&slots);
        assert_eq!(bytes.len(), MARK.len() + 2 * (ENTRY_BYTES + 1));
        assert_eq!(decode(&bytes, 1).as_deref(), Some(&slots[..]));
        assert_eq!(decode(b"", 1), Some(vec![]));
        assert_eq!(decode(&bytes, 0), None, "a payload over the cap");
        for end in 1..bytes.len() {
            let whole = end == MARK.len() || end == MARK.len() + ENTRY_BYTES + 1;
            assert_eq!(decode(&bytes[..end], 1).is_some(), whole, "{end}");
        }
        let mut other = bytes.clone();
        other[3] = 2;
        assert_eq!(decode(&other, 1), None, "another version");
        for heat in [-1.0, f32::NAN] {
            assert_eq!(decode(&encode(&[slot(1, heat, false, 10)]), 1), None, "{heat}");
        }
        assert_eq!(decode(&encode(&[slots[0], slots[0]]), 1), None, "one entry twice");
        let many: Vec<_> = (0..9).map(|at| slot(1, 0.0, false, at)).collect();
        assert!(decode(&encode(&many[..8]), 1).is_some() && decode(&encode(&many), 1).is_none());
        for text in ["fms", "null", "{\"version\":1}", "fms\u{1}x"] {
            assert_eq!(decode(text.as_bytes(), 1), None, "{text}");
        }
    }

    #[test]
    fn heat_halves() {
        let hot = slot(1, 8.0, false, 1000);
        for (now_ms, expected) in [(0, 8.0), (1000, 8.0), (1050, 6.0), (1100, 4.0), (1150, 3.0), (1200, 2.0), (1400, 0.5), (u64::MAX, 0.0)]
        {
            assert_eq!(hot.heat_at(now_ms, 100), expected, "{now_ms}");
        }
        assert!(hot.heat_at(1000, 0).is_finite());
    }

    #[test]
    fn the_least_goes_and_never_for_less() {
        const DAY: u64 = 86_400_000;
        // Eight of as many callers; new ones come at 100.
        let full = |heats: [f32; 8]| -> Vec<_> { heats.iter().zip(0..).map(|(&heat, at)| slot(at, heat, false, u64::from(at))).collect() };
        let new = |caller, heat, firm| Slot { touched_ms: 100, ..slot(caller, heat, firm, 100) };
        let cold = full([0.0; 8]);
        assert_eq!(room(&cold[..7], &new(9, 0.0, false), DAY), Room::Free);
        assert_eq!(room(&cold, &new(9, 0.0, false), DAY), Room::Instead(0), "the oldest");
        assert_eq!(room(&cold, &new(5, 0.0, false), DAY), Room::Instead(5), "its own before others'");
        let warm = full([0.9, 0.5, 0.4, 0.3, 0.4, 0.5, 0.6, 0.7]);
        assert_eq!(room(&warm, &new(9, 0.0, false), DAY), Room::None);
        assert_eq!(room(&warm, &new(9, 0.35, false), DAY), Room::Instead(3));
        assert_eq!(room(&warm, &new(0, 0.35, false), DAY), Room::Instead(3), "its own is hotter");
        assert_eq!(room(&warm, &new(9, 0.29, true), DAY), Room::None, "to be firm makes no room among what is hotter");
        let firm: Vec<_> = cold.iter().map(|slot| Slot { firm: true, ..*slot }).collect();
        assert_eq!(room(&firm, &new(9, 5.0, false), DAY), Room::None);
        assert_eq!(room(&firm, &new(9, 0.0, true), DAY), Room::Instead(0));
        let mixed: Vec<_> = firm[..4].iter().chain(&warm[4..]).copied().collect();
        assert_eq!(room(&mixed, &new(9, 1.0, true), DAY), Room::Instead(4), "the loose first, hotter or not");
        // Four of one caller and one of another.
        let half: Vec<_> =
            [(1, 0.9), (1, 0.1), (1, 0.2), (1, 0.3), (2, 0.0)].iter().zip(0..).map(|(&(c, h), at)| slot(c, h, false, at)).collect();
        assert_eq!(room(&half, &new(1, 0.15, false), DAY), Room::Instead(1), "of its own, though there are free ways and cooler ones");
        assert_eq!(room(&half, &new(1, 0.05, false), DAY), Room::None);
        assert_eq!(room(&half, &new(2, 0.0, false), DAY), Room::Free);
        // What was hot has cooled.
        let later = Slot { touched_ms: 10 * DAY, ..new(1, 0.05, false) };
        assert_eq!(room(&half, &later, DAY), Room::Instead(1));
    }
}
