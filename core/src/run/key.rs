//! Keyed digests: nothing that a client chooses is stored or compared as it came.
//!
//! SipHash-1-3 with 128 bits (Aumasson and Bernstein 2012), keyed and never shown to anyone: each body's whole history goes through it, so it has to cost little beside
//! reading (docs/decisions.md).

use core::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use crate::wire::{Channel, Event, Role};

/// A secret for digests, derived by the caller for this purpose alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RunKey([u8; 16]);

impl core::fmt::Debug for RunKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("RunKey(..)")
    }
}

/// What a digest is of, so that one kind is never taken for another.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// An event of a history.
    Event = 1,
    /// A history up to an event.
    Chain = 2,
    /// A text of the assistant.
    Outgoing = 3,
    /// What asks for an approval.
    Asked = 4,
    /// The first turn of a conversation.
    FirstTurn = 5,
    /// A whole body.
    Body = 6,
    /// What a body is judged under.
    Conditions = 7,
}

impl RunKey {
    /// A key of this sub-key, 16 secret bytes.
    pub const fn new(secret: [u8; 16]) -> Self {
        RunKey(secret)
    }

    /// A digest that is being made.
    pub(crate) fn digest(&self, of: Of) -> Digest {
        let mut digest = Digest(SipHasher13::new_with_key(&self.0));
        digest.bytes(&[of as u8]);
        digest
    }

    /// The digest of an event: where it came from, the role of its message and its text.
    pub(crate) fn event(&self, event: &Event<'_>) -> [u8; 16] {
        let mut digest = self.digest(Of::Event);
        digest.bytes(&[channel_byte(event.channel), role_byte(event.role)]);
        digest.bytes(&(event.records_at as u64).to_le_bytes());
        digest.bytes(event.text.as_bytes());
        digest.end()
    }

    /// The digest of a history with one event more.
    pub(crate) fn chain(&self, before: [u8; 16], event: &[u8; 16]) -> [u8; 16] {
        let mut digest = self.digest(Of::Chain);
        digest.bytes(&before);
        digest.bytes(event);
        digest.end()
    }
}

/// A digest that is being made. Its state is as secret as the key.
#[derive(Clone)]
pub(crate) struct Digest(SipHasher13);

impl core::fmt::Debug for Digest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Digest(..)")
    }
}

impl Digest {
    #[inline(never)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// Adds a text with its length, so that no other texts one behind the other are the same.
    pub fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    #[inline(never)]
    pub fn end(&self) -> [u8; 16] {
        self.0.finish128().as_bytes()
    }
}

/// A channel as a byte of a digest; never changed, since stored digests would mean something else.
pub(crate) const fn channel_byte(channel: Channel) -> u8 {
    match channel {
        Channel::System => 0,
        Channel::User => 1,
        Channel::Assistant => 2,
        Channel::ToolResult => 3,
        Channel::ToolCall => 4,
        Channel::ToolDefinition => 5,
        Channel::Prompt => 6,
        Channel::Resource => 7,
        Channel::Other => 8,
    }
}

const fn role_byte(role: Option<Role>) -> u8 {
    match role {
        None => 0,
        Some(Role::System) => 1,
        Some(Role::Developer) => 2,
        Some(Role::User) => 3,
        Some(Role::Assistant) => 4,
        Some(Role::Tool) => 5,
        Some(Role::Unknown) => 6,
    }
}
