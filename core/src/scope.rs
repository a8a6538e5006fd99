//! The scope of judging: which events of a body are looked at, and which of them count as turns.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::wire::{Channel, Direction, Document, Event, Role};

/// What of a body is judged. By default everything is; what is left out is not read by any rule and is no turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    /// Only messages of these roles are scanned; none means all. What a tool gave back has role `tool` and a tool call role `assistant`, whatever message they
    /// stand in; a message without a known role has role `unknown`. Text outside the messages is not touched by this.
    pub roles: Vec<Role>,
    /// Only events of these channels are scanned; none means all.
    pub channels: Vec<Channel>,
    /// Messages of these roles are scanned, but only flag: they are no turns. System and developer messages never are.
    pub trusted_roles: Vec<Role>,
    /// Only what follows the last message of the assistant is scanned, as gateways do that judged the rest of the conversation before. Attacks that
    /// are spread over turns are then not seen.
    pub new_turns_only: bool,
}

impl Scope {
    /// Whether each event of `document` is to be judged; notes what is trusted.
    pub(crate) fn apply(&self, document: &mut Document<'_>, direction: Direction) -> Vec<bool> {
        if *self == Scope::default() {
            return document.events.iter().map(|_| true).collect();
        }
        // The last answer that something follows: what a client puts behind its own message answers nothing.
        let last = document.events.iter().filter(|event| event.channel.is_turn()).filter_map(|event| event.message).max();
        let answers = document.events.iter().filter(|event| role(event) == Some(Role::Assistant)).filter_map(|event| event.message);
        let answered = answers.filter(|answer| last.is_some_and(|last| *answer < last)).max();
        let old = answered.filter(|_| self.new_turns_only && direction == Direction::Request);
        let judged = document.events.iter().map(|event| {
            let of_role = self.roles.is_empty() || role(event).is_none_or(|role| self.roles.contains(&role));
            let on_channel = self.channels.is_empty() || self.channels.contains(&event.channel);
            let is_new = old.is_none_or(|old| event.message.is_none_or(|message| message > old));
            of_role && on_channel && is_new
        });
        let judged = judged.collect();
        for event in &mut document.events {
            event.trusted = role(event).is_some_and(|role| self.trusted_roles.contains(&role));
        }
        judged
    }
}

/// Whose words an event's are; `None` outside the messages.
fn role(event: &Event<'_>) -> Option<Role> {
    match event.channel {
        Channel::ToolResult => Some(Role::Tool),
        Channel::ToolCall => Some(Role::Assistant),
        _ => event.role,
    }
}
