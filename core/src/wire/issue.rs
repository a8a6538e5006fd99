//! Issues: what was odd in an input, and what that means for the verdict.

use alloc::vec::Vec;

use crate::limits::MAX_ISSUES;

/// What an issue does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It is counted, nothing else.
    Note,
    /// The verdict is at least `flag`.
    Flag,
    /// Readers disagree about such a body, so what was scanned may not be what the provider reads: the verdict on AI traffic is `block`.
    Refuse,
}

macro_rules! issues {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal $(as $rule:literal)?, $effect:ident;)+) => {
        /// A kind of issue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum IssueKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl IssueKind {
            /// Every kind, in the order of the declaration.
            pub const ALL: &'static [IssueKind] = &[$(IssueKind::$kind),+];

            /// Its name in reports, metrics and logs.
            pub const fn name(self) -> &'static str {
                match self { $(IssueKind::$kind => $name),+ }
            }

            /// The rule id that a refusal for it carries.
            pub const fn rule(self) -> &'static str {
                match self { $(IssueKind::$kind => issues!(@rule $name $($rule)?)),+ }
            }

            /// What it does to the verdict.
            pub const fn effect(self) -> Effect {
                match self { $(IssueKind::$kind => Effect::$effect),+ }
            }

            /// The kind whose refusal carries this rule id.
            pub fn of_rule(rule: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.rule() == rule)
            }

            /// What it is, in a sentence.
            pub const fn describe(self) -> &'static str {
                match self { $(IssueKind::$kind => concat!($($doc),+)),+ }
            }
        }
    };
    (@rule $name:literal) => { concat!("wire.", $name) };
    (@rule $name:literal $rule:literal) => { $rule };
}

issues! {
    /// The body is larger than `max_body_bytes`, packed or unpacked, and was not read.
    Oversize = "oversize", Refuse;
    /// The body has a `content-encoding` that is not read: none of gzip, deflate and identity, or too many.
    ContentEncoding = "content_encoding", Refuse;
    /// The body is not what its `content-encoding` says: it breaks off, fails its check, has bytes behind its end, is JSON as it stands, or unpacks
    /// to far more than text does.
    Compression = "compression", Refuse;
    /// The gateway did not hand over the whole body.
    BodyMissing = "body_missing", Refuse;
    /// The memory for copies of bodies was used up, so the stream was not followed to its end. Bodies that the gateway holds need none.
    MemoryBudget = "memory_budget", Refuse;
    /// The body is UTF-16 or UTF-32, which lenient servers read.
    WideEncoding = "wide_encoding", Refuse;
    /// The body is not valid UTF-8; the bad bytes were read as U+FFFD.
    InvalidUtf8 = "invalid_utf8", Refuse;
    /// The body is not JSON from the given byte on; what stood before it was read.
    Syntax = "syntax", Refuse;
    /// The body ends inside a value.
    Truncated = "truncated", Refuse;
    /// Objects and arrays are nested deeper than is read.
    TooDeep = "too_deep", Refuse;
    /// An object holds the same key twice.
    DuplicateKey = "duplicate_key", Refuse;
    /// A string holds a raw control character, which strict readers refuse and lenient ones accept.
    ControlCharacter = "control_character", Refuse;
    /// Bytes follow the document.
    TrailingBytes = "trailing_bytes", Refuse;
    /// A key differs from one of its format's only in case, which some readers take for the same key and others pass over.
    KeyCase = "key_case", Refuse;
    /// The content-type names a charset other than UTF-8; some readers decode the body with it.
    Charset = "charset", Refuse;
    /// A response has several content-types; some readers go by the first, others by the last.
    ContentType = "content_type", Refuse;
    /// More messages, tool results and tool calls than are told apart.
    TooManyEvents = "too_many_events", Refuse;
    /// A stream holds a frame that is longer than is kept; it was not read.
    FrameTooLong = "frame_too_long", Refuse;
    /// A frame of an AWS event stream fails its check or is not laid out as one; nothing from there on was read.
    FrameBroken = "frame_broken", Refuse;
    /// The body holds two lists of messages, such as those of two formats; readers differ in which of them they take.
    TwoConversations = "two_conversations", Refuse;
    /// A stream's message numbers a choice, call or block by something else than a plain number, which readers take for different ones.
    OddNumber = "odd_number", Refuse;
    /// A `\u` escape names half of a surrogate pair; it was read as U+FFFD.
    LoneSurrogate = "lone_surrogate", Flag;
    /// A text holds more base64, hex or hidden characters than is decoded; what is beyond was scanned as it stands.
    EncodedSpans = "encoded_spans", Flag;
    /// The operator's own patterns would have to be looked at more closely than is allowed; some may not have been found.
    OperatorPatterns = "operator_patterns", Flag;
    /// A message has no role or one that its format does not know; it was read as a user's.
    UnknownRole = "unknown_role", Note;
    /// The body starts with a byte order mark, which was skipped.
    ByteOrderMark = "byte_order_mark", Note;
    /// Image, audio, video or file data was not scanned as text.
    MediaSkipped = "media_skipped", Note;
    /// The body refers to text that the gateway cannot see: an earlier response, a stored conversation or prompt, cached or encrypted content.
    UnseenText = "unseen_text", Note;
    /// The body is none of the known formats; all its strings were scanned.
    UnknownFormat = "unknown_format", Note;
    /// The body does not go on from any history that this run was judged with: what stood in it was changed, or left out. All of it was scanned, and nothing
    /// that was counted before got lower. It is no fault: clients shorten long histories.
    RunRewritten = "run_rewritten" as "run.rewritten", Note;
    /// What was known of the run could not be read or stored, so the body was judged with less than was known.
    RunLost = "run_lost" as "run.lost", Flag;
    /// The header that names the caller is there several times, so readers differ in who it is.
    RunAmbiguousCaller = "run_ambiguous_caller" as "run.ambiguous_caller", Flag;
}

/// Something odd in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is.
    pub kind: IssueKind,
    /// Byte offset where it was seen, in the body as read (unpacked; bytes that are no UTF-8 count as the three of U+FFFD).
    pub at: usize,
}

/// A list of at most [`MAX_ISSUES`] issues. Once full it keeps what decides: a later issue takes the place of one of a lesser effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Issues {
    list: Vec<Issue>,
    /// The list is full and holds nothing of a lesser effect than this, so that a body full of oddities is not searched for each of them.
    floor: Option<Effect>,
}

impl Issues {
    /// Adds an issue.
    pub fn push(&mut self, kind: IssueKind, at: usize) {
        let issue = Issue { kind, at };
        if self.list.len() < MAX_ISSUES {
            self.list.push(issue);
        } else if self.floor.is_some_and(|floor| kind.effect() <= floor) {
            // Nothing to do: it would find no place.
        } else if let Some(lesser) = self.list.iter_mut().rev().find(|held| held.kind.effect() < kind.effect()) {
            *lesser = issue;
        } else {
            self.floor = Some(kind.effect());
        }
    }

    /// The kinds that occur, each once, in the order of their declaration.
    pub fn kinds(&self) -> impl Iterator<Item = IssueKind> {
        IssueKind::ALL.iter().copied().filter(|kind| self.list.iter().any(|issue| issue.kind == *kind))
    }

    /// The issues as they were found.
    pub fn as_slice(&self) -> &[Issue] {
        &self.list
    }

    /// The first issue of the strongest effect.
    pub fn worst(&self) -> Option<Issue> {
        let strongest = self.list.iter().map(|issue| issue.kind.effect()).max()?;
        self.list.iter().find(|issue| issue.kind.effect() == strongest).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_still_takes_what_refuses() {
        let mut issues = Issues::default();
        for at in 0..MAX_ISSUES + 5 {
            issues.push(IssueKind::MediaSkipped, at);
        }
        assert_eq!(issues.as_slice().len(), MAX_ISSUES);
        issues.push(IssueKind::DuplicateKey, 900);
        assert_eq!(issues.as_slice().len(), MAX_ISSUES);
        assert_eq!(issues.worst(), Some(Issue { kind: IssueKind::DuplicateKey, at: 900 }));
        for at in 1000..1000 + 2 * MAX_ISSUES {
            issues.push(IssueKind::ControlCharacter, at);
        }
        assert_eq!(issues.kinds().collect::<Vec<_>>(), [IssueKind::DuplicateKey, IssueKind::ControlCharacter]);
    }
}
