//! What is in quarantine: for each tenant a list, as a view for those who look after it. Whether an entry is held back is judged anew each time.

use floodmark_core::limits::MAX_QUARANTINE_BYTES;

/// The first byte of every list: the version of what follows.
const VERSION: u8 = 1;
/// Bytes of a note beside its strings and its release: digest, time, kind, and four lengths.
const NOTE_BYTES: usize = 32 + 8 + 1 + 4 * 2;

/// One content that was held back, or released.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The digest of the content.
    pub content: [u8; 32],
    /// When it was noted, in Unix milliseconds.
    pub noted_ms: u64,
    /// Its lineage is broken; else it is not trusted.
    pub broken: bool,
    /// Whose entry it was; empty when it was released unseen.
    pub principal: String,
    /// The entry's store; empty when it was released unseen.
    pub store: String,
    /// The entry; empty when it was released unseen.
    pub entry: String,
    /// The sealed release; empty when there is none.
    pub release: Vec<u8>,
}

impl Note {
    fn bytes(&self) -> usize {
        NOTE_BYTES + self.principal.len() + self.store.len() + self.entry.len() + self.release.len()
    }

    fn is_released(&self) -> bool {
        !self.release.is_empty()
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
            let (&[kind], behind) = behind.split_first_chunk()?;
            rest = behind;
            let (principal, store, entry) = (text(&mut rest)?, text(&mut rest)?, text(&mut rest)?);
            let release = part(&mut rest)?.to_vec();
            notes.push(Note {
                content: *content,
                noted_ms: u64::from_le_bytes(*noted_ms),
                broken: kind == 1,
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
            bytes.push(u8::from(note.broken));
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

    /// Something in it was released.
    pub fn has_releases(&self) -> bool {
        self.notes.iter().any(Note::is_released)
    }

    /// Puts a note in. `false` when nothing changes: it is there already, and brings no release. Where there is no room the oldest that was not released
    /// leaves, and of released ones the oldest when nothing else is left.
    pub fn put(&mut self, note: Note) -> bool {
        match self.notes.iter_mut().find(|known| known.content == note.content) {
            Some(known) if note.is_released() => known.release = note.release,
            // It was released unseen, and now it is seen.
            Some(known) if known.store.is_empty() && !note.store.is_empty() => {
                *known = Note { release: core::mem::take(&mut known.release), ..note };
            }
            Some(_) => return false,
            None => self.notes.push(note),
        }
        while 1 + self.notes.iter().map(Note::bytes).sum::<usize>() > MAX_QUARANTINE_BYTES {
            // The last one is new. One alone always has room.
            let others = self.notes.len().saturating_sub(1);
            let leaves = self.notes.iter().take(others).position(|note| !note.is_released()).unwrap_or(0);
            self.notes.remove(leaves);
        }
        true
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

    #[test]
    fn a_list_comes_back_and_nothing_else_is_one() {
        let mut list = List::default();
        assert!(list.put(note(1, 3)) && list.put(Note { broken: true, principal: "ä".to_owned(), ..released(2) }));
        let bytes = list.encode();
        assert_eq!(List::decode(&bytes), Some(list));
        assert_eq!(List::decode(&[VERSION]), Some(List::default()));
        assert_eq!(List::decode(b""), None);
        assert_eq!(List::decode(&[&[2], &bytes[1..]].concat()), None, "another version");
        let first = 1 + NOTE_BYTES + 1 + 3;
        for end in 2..bytes.len() {
            assert_eq!(List::decode(&bytes[..end]).is_some(), end == first, "{end}");
        }
    }

    #[test]
    fn what_was_released_unseen_gets_its_names_when_it_is_seen() {
        let mut list = List::default();
        let unseen = Note { store: String::new(), entry: String::new(), ..released(3) };
        assert!(list.put(unseen.clone()) && list.put(Note { noted_ms: 5, ..note(3, 2) }) && !list.put(note(3, 2)));
        assert_eq!(list.notes, [Note { noted_ms: 5, release: unseen.release, ..note(3, 2) }]);
    }

    #[test]
    fn the_newest_stay_and_what_was_released_leaves_last() {
        let mut list = List::default();
        assert!(list.put(note(0, 1)) && list.put(released(0)), "a release comes to what is noted");
        assert!(!list.put(note(0, 1)), "known");
        assert!(list.find(&note(0, 1).content).is_some_and(|note| note.store == "s" && note.release.len() == 300));
        for number in 1..2000 {
            assert!(list.put(note(number, usize::from(number) % 512)));
            assert!(list.encode().len() <= MAX_QUARANTINE_BYTES);
        }
        let kept = numbers(&list);
        assert_eq!((kept[0], kept.last()), (0, Some(&1999)));
        assert!(kept.len() > 10 && kept[1..].windows(2).all(|pair| pair[1] == pair[0] + 1), "{kept:?}");
        let most = (MAX_QUARANTINE_BYTES - 1) / released(0).bytes();
        for number in 2000..2100 {
            list.put(released(number));
        }
        let kept = numbers(&list);
        assert_eq!((kept.len(), kept.last()), (most, Some(&2099)), "{kept:?}");
        list.put(note(3000, 512));
        assert_eq!(numbers(&list).last(), Some(&3000), "what is new is seen");
        list.put(note(3001, 512));
        assert_eq!(list.notes.iter().filter(|note| note.is_released()).count(), most - 2, "and takes its room from what is not released");
    }
}
