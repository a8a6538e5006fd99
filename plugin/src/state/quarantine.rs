//! What is in quarantine: for each tenant a list, as a view for those who look after it. Whether an entry is held back is judged anew each time.

use floodmark_core::limits::MAX_QUARANTINE_BYTES;

/// The first byte of every list: the version of what follows.
const VERSION: u8 = 2;
/// Bytes of a note beside its strings and its release: digest, two times, kind, and four lengths.
const NOTE_BYTES: usize = 32 + 2 * 8 + 1 + 4 * 2;

/// One content that was held back, or released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The digest of the content.
    pub content: [u8; 32],
    /// When it was noted, in Unix milliseconds.
    pub noted_ms: u64,
    /// Its lineage is broken; else it is not trusted.
    pub broken: bool,
    /// The names below are those of its record; else they are what whoever asked said.
    pub is_verified: bool,
    /// Whose entry it was; empty when it was released unseen.
    pub principal: String,
    /// The entry's store; empty when it was released unseen.
    pub store: String,
    /// The entry; empty when it was released unseen.
    pub entry: String,
    /// The sealed release; empty when there is none.
    pub release: Vec<u8>,
    /// Unix milliseconds from which the release holds no longer; 0 for never.
    pub expires_ms: u64,
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is in the list.
    Changed,
    /// The list says so already.
    Same,
    /// There is no room for it; the list is not to be kept as it is now.
    Full,
}

impl Note {
    fn bytes(&self) -> usize {
        NOTE_BYTES + self.principal.len() + self.store.len() + self.entry.len() + self.release.len()
    }

    /// Its release holds.
    fn is_released(&self, now_ms: u64) -> bool {
        !self.release.is_empty() && (self.expires_ms == 0 || now_ms < self.expires_ms)
    }

    /// What its names are worth: nothing where it was released unseen.
    fn names(&self) -> u8 {
        if self.store.is_empty() { 0 } else { 1 + u8::from(self.is_verified) }
    }
}

/// The list of one tenant, the oldest note first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The notes.
    pub notes: Vec<Note>,
}

impl List {
    /// Reads what [`List::encode`] wrote. `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&VERSION, mut rest) = bytes.split_first()? else { return None };
        let mut notes = Vec::new();
        while !rest.is_empty() {
            let (content, behind) = rest.split_first_chunk()?;
            let (noted_ms, behind) = behind.split_first_chunk()?;
            let (expires_ms, behind) = behind.split_first_chunk()?;
            let (&[kind], behind) = behind.split_first_chunk()?;
            rest = behind;
            let (principal, store, entry) = (text(&mut rest)?, text(&mut rest)?, text(&mut rest)?);
            let release = part(&mut rest)?.to_vec();
            notes.push(Note {
                content: *content,
                noted_ms: u64::from_le_bytes(*noted_ms),
                broken: kind & 1 != 0,
                is_verified: kind & 2 != 0,
                expires_ms: u64::from_le_bytes(*expires_ms),
                principal,
                store,
                entry,
                release,
            });
        }
        Some(List { notes })
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        for note in &self.notes {
            bytes.extend(note.content);
            bytes.extend(note.noted_ms.to_le_bytes());
            bytes.extend(note.expires_ms.to_le_bytes());
            bytes.push(u8::from(note.broken) | u8::from(note.is_verified) << 1);
            for part in [note.principal.as_bytes(), note.store.as_bytes(), note.entry.as_bytes(), &note.release] {
                // The list's cap is far below.
                bytes.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_le_bytes());
                bytes.extend(part);
            }
        }
        bytes
    }

    /// The note on a content.
    pub fn find(&self, content: &[u8; 32]) -> Option<&Note> {
        self.notes.iter().find(|note| note.content == *content)
    }

    /// Something in it is released.
    pub fn has_releases(&self, now_ms: u64) -> bool {
        self.notes.iter().any(|note| note.is_released(now_ms))
    }

    /// Puts a note in: a release to what is known of its content, or names that are worth more than those that stand. Where there is no room the oldest whose
    /// release has expired leaves, then the oldest without one; a release that holds never does.
    pub fn put(&mut self, note: Note, now_ms: u64) -> Put {
        let content = note.content;
        match self.notes.iter_mut().find(|known| known.content == content) {
            Some(known) if !note.release.is_empty() => (known.release, known.expires_ms) = (note.release, note.expires_ms),
            Some(known) if known.names() < note.names() => {
                *known = Note { release: core::mem::take(&mut known.release), expires_ms: known.expires_ms, ..note };
            }
            Some(_) => return Put::Same,
            None => self.notes.push(note),
        }
        while 1 + self.notes.iter().map(Note::bytes).sum::<usize>() > MAX_QUARANTINE_BYTES {
            let may_go = |note: &Note| note.content != content && !note.is_released(now_ms);
            let expired = self.notes.iter().position(|note| may_go(note) && !note.release.is_empty());
            let Some(leaves) = expired.or_else(|| self.notes.iter().position(may_go)) else { return Put::Full };
            self.notes.remove(leaves);
        }
        Put::Changed
    }
}

fn part<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, behind) = rest.split_first_chunk()?;
    let (part, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    *rest = behind;
    Some(part)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    core::str::from_utf8(part(rest)?).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 1000;

    fn note(number: u16, entry_bytes: usize) -> Note {
        let mut content = [0; 32];
        content[..2].copy_from_slice(&number.to_le_bytes());
        Note { content, noted_ms: u64::from(number), store: "s".to_owned(), entry: "e".repeat(entry_bytes), ..Note::default() }
    }

    fn released(number: u16) -> Note {
        Note { release: vec![7; 300], ..note(number, 1) }
    }

    fn numbers(list: &List) -> Vec<u64> {
        list.notes.iter().map(|note| note.noted_ms).collect()
    }

    fn put(list: &mut List, note: Note) -> Put {
        list.put(note, NOW_MS)
    }

    #[test]
    fn a_list_comes_back_and_nothing_else_is_one() {
        let mut list = List::default();
        let odd = Note { broken: true, is_verified: true, expires_ms: u64::MAX, principal: "ä".to_owned(), ..released(2) };
        assert_eq!((put(&mut list, note(1, 3)), put(&mut list, odd)), (Put::Changed, Put::Changed));
        let bytes = list.encode();
        assert_eq!(List::decode(&bytes), Some(list));
        assert_eq!(List::decode(&[VERSION]), Some(List::default()));
        assert_eq!(List::decode(b""), None);
        assert_eq!(List::decode(&[&[1], &bytes[1..]].concat()), None, "another version");
        let first = 1 + NOTE_BYTES + 1 + 3;
        for end in 2..bytes.len() {
            assert_eq!(List::decode(&bytes[..end]).is_some(), end == first, "{end}");
        }
    }

    #[test]
    fn names_give_way_to_those_that_are_worth_more() {
        let mut list = List::default();
        let unseen = Note { store: String::new(), entry: String::new(), expires_ms: NOW_MS + 9, ..released(3) };
        let said = Note { noted_ms: 5, ..note(3, 2) };
        let verified = Note { noted_ms: 6, is_verified: true, broken: true, ..note(3, 4) };
        for (new, put, expected) in [
            (unseen.clone(), Put::Changed, &unseen),
            (said.clone(), Put::Changed, &said),
            (Note { noted_ms: 7, ..note(3, 9) }, Put::Same, &said),
            (verified.clone(), Put::Changed, &verified),
            (said.clone(), Put::Same, &verified),
            (Note { noted_ms: 8, ..verified.clone() }, Put::Same, &verified),
        ] {
            assert_eq!(list.put(new, NOW_MS), put);
            // The release is there all the while.
            assert_eq!(list.notes, [Note { release: unseen.release.clone(), expires_ms: NOW_MS + 9, ..expected.clone() }]);
        }
    }

    #[test]
    fn the_newest_stay_and_what_is_released_does_not_leave() {
        let mut list = List::default();
        assert_eq!(
            (put(&mut list, note(0, 1)), put(&mut list, released(0))),
            (Put::Changed, Put::Changed),
            "a release comes to what is noted"
        );
        assert_eq!(put(&mut list, note(0, 1)), Put::Same);
        assert!(list.find(&note(0, 1).content).is_some_and(|note| note.store == "s" && note.release.len() == 300));
        for number in 1..2000 {
            assert_eq!(put(&mut list, note(number, usize::from(number) % 512)), Put::Changed);
            assert!(list.encode().len() <= MAX_QUARANTINE_BYTES);
        }
        let kept = numbers(&list);
        assert_eq!((kept[0], kept.last()), (0, Some(&1999)));
        assert!(kept.len() > 10 && kept[1..].windows(2).all(|pair| pair[1] == pair[0] + 1), "{kept:?}");
    }

    #[test]
    fn a_full_list_takes_no_release_for_one_that_holds() {
        // A third for ever, a third until just behind now, and a third that are over by then.
        let until = |number: u16| Note { expires_ms: [0, NOW_MS + 1, NOW_MS - 1][usize::from(number % 3)], ..released(number) };
        let most = (MAX_QUARANTINE_BYTES - 1) / released(0).bytes();
        let mut list = List::default();
        (0..most as u16).for_each(|number| assert_eq!(list.put(until(number), 0), Put::Changed));
        let standing = numbers(&list);
        let tried = |note: Note, now_ms| {
            let mut list = list.clone();
            let put = list.put(note, now_ms);
            (put, numbers(&list))
        };
        for new in [released(3000), note(3000, 512)] {
            assert_eq!(tried(new.clone(), NOW_MS - 2).0, Put::Full, "all hold");
            let (put, left) = tried(new, NOW_MS);
            assert_eq!(put, Put::Changed);
            let (gone, last): (Vec<u64>, _) = (standing.iter().filter(|number| !left.contains(number)).copied().collect(), left.last());
            assert_eq!(gone, [2, 5][..gone.len()], "the oldest of those that are over");
            assert_eq!(last, Some(&3000));
        }
        // Whatever waits leaves before any of them, and behind those that are over.
        let mut mixed = List::default();
        (0..most as u16 - 1).for_each(|number| assert_eq!(mixed.put(until(number), 0), Put::Changed));
        assert_eq!(mixed.put(note(500, 400), 0), Put::Changed);
        assert_eq!(mixed.put(released(501), NOW_MS), Put::Changed);
        assert!(numbers(&mixed).contains(&500) && !numbers(&mixed).contains(&2));
        // A list of which every release is over is no better than one without.
        assert!(list.has_releases(u64::MAX), "for ever");
        list.notes.retain(|note| note.expires_ms == NOW_MS - 1);
        assert_eq!((list.has_releases(NOW_MS - 2), list.has_releases(NOW_MS - 1)), (true, false));
    }
}
