//! Authority classes, and why a lineage has a bad one or is broken.

use serde::{Serialize, Serializer};

/// The authority of an entry; the greater, the less. In JSON a number from 1 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The user wrote it.
    User = 1,
    /// A source gave it that the operator approved.
    Approved = 2,
    /// An agent made it from entries of classes 1 to 3 alone.
    Derived = 3,
    /// Everything else.
    Untrusted = 4,
}

impl Class {
    /// From 1 to 4.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl Serialize for Class {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

/// A special reason for class 4: of the entry itself, else of the first of its parents that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// There is no record.
    NoRecord,
    /// The record names a key that is not in the ring, so nothing in it is believed and its parents are not looked at.
    UnknownKey,
    /// It was written for another tenant, or for a principal of no group with this one.
    OtherPrincipal,
    /// A newer version of the entry was seen before.
    Stale,
}

impl Why {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Why::NoRecord => "no_record",
            Why::UnknownKey => "unknown_key",
            Why::OtherPrincipal => "other_principal",
            Why::Stale => "stale",
        }
    }
}

/// Why a lineage is broken: of the entry itself, else of the first of its parents with which something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// The record does not decode, is spelled in another way than ours, or a field is out of bounds.
    Malformed,
    /// The record's tag is not the one of its key.
    HashMismatch,
    /// The content is not what the record was sealed for.
    ContentMismatch,
    /// The record is of another entry or store: a copy.
    WrongEntry,
    /// The record of a parent is not there.
    MissingParent,
    /// A parent is broken.
    BrokenParent,
    /// The record is its own ancestor.
    Cycle,
}

impl Broken {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Broken::Malformed => "malformed",
            Broken::HashMismatch => "hash_mismatch",
            Broken::ContentMismatch => "content_mismatch",
            Broken::WrongEntry => "wrong_entry",
            Broken::MissingParent => "missing_parent",
            Broken::BrokenParent => "broken_parent",
            Broken::Cycle => "cycle",
        }
    }
}

/// What is known of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub class: Class,
    pub why: Option<Why>,
    pub broken: Option<Broken>,
}

impl Outcome {
    /// Of this class for no special reason.
    pub const fn class(class: Class) -> Self {
        Outcome { class, why: None, broken: None }
    }

    /// Class 4 for a special reason.
    pub const fn why(why: Why) -> Self {
        Outcome { class: Class::Untrusted, why: Some(why), broken: None }
    }

    /// Broken, which is class 4 too.
    pub const fn broken(broken: Broken) -> Self {
        Outcome { class: Class::Untrusted, why: None, broken: Some(broken) }
    }

    /// With one parent more. Whatever the parent is, it never gets better.
    pub fn join(&mut self, parent: Outcome) {
        if parent.broken.is_some() {
            self.fail(Broken::BrokenParent);
        }
        self.class = self.class.max(parent.class);
        self.why = self.why.or(parent.why);
    }

    /// Broken for this reason, unless it is for another.
    pub fn fail(&mut self, broken: Broken) {
        self.broken = self.broken.or(Some(broken));
        self.class = Class::Untrusted;
    }
}
