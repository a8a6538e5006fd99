//! Events of records: each user message, tool result and call's arguments with its label, the part of the data it belongs to, and its unit.
//!
//! The one home of what an event of a data set is (DESIGN.md 8): the trainer, the receipts and the measurements all take them from here. [`of_record`]
//! gives those of a record in order, as a gateway would meet them; [`Corpus`] those of a whole folder, each text once a unit.

mod corpus;
mod injected;
mod score;

use floodmark_core::wire::{self, RECORD_BORDER};

pub use corpus::{Corpus, Left};
pub use floodmark_core::wire::Channel;
pub use injected::{injected_at, is_important_instructions};
pub use score::{Scorer, accumulate, views};

use crate::data::{self, Call, Message, Record, Split, unit_of};
use injected::Finder;

/// Sets whose texts choose thresholds and are measured, but are never trained on: share-alike licences, and cases kept for regression.
const NEVER_TRAINED: [&str; 3] = ["bipia", "memory_forensics", "sgd"];
/// Its tool results quote Wikipedia, whose licence is share-alike; the rest of it may be trained on.
const QUOTES_SHARE_ALIKE: &str = "goal_drift_agents";
/// Its agent puts its own reasoning and refusals into user messages, all but the first.
const USER_IS_AGENT: &str = "agentdojo_drift";

/// One text at one position of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The set's folder.
    pub set: String,
    /// Where the record comes from, finer than its set.
    pub source: String,
    /// The part of the data: of attacks the most held-out of the record's parts, of all else the record's own.
    pub split: Split,
    /// Every part that is named for it (task, injection, template, context, kind of attack) is held out as much as `split` says.
    pub strict: bool,
    /// What it shares with events that are not independent of it: what is injected for an attack in an agent run, else the task, document or conversation.
    pub unit: String,
    /// The record's id.
    pub record: String,
    /// Number of the event in its record, from 0.
    pub position: u32,
    /// Number of its message in its record, from 0.
    pub message: usize,
    /// It is all there is of its record.
    pub single: bool,
    /// Number of the chat, in runs that went over several.
    pub session: Option<u32>,
    /// Where it comes in: [`Channel::User`], [`Channel::ToolResult`] or [`Channel::ToolCall`].
    pub channel: Channel,
    /// Of a tool's result: the tool's name, where the set says it.
    pub tool: Option<String>,
    /// The text; of a call the tool's name and its arguments' strings, set apart as in judging.
    pub text: String,
    /// The language, where the set says it.
    pub lang: Option<String>,
    /// Kind of attack or template of an attacked record, kind of text or suite of others; `-` where the set says nothing.
    pub kind: String,
    /// What it is.
    pub label: Label,
    /// Whether its licence and its set allow training on it.
    pub trains: bool,
    /// Number of events that it stands for, in a [`Corpus`].
    pub count: u32,
}

/// What an event is, as far as that is certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// Nothing is injected.
    Benign,
    /// It holds an injection, or is an attack itself.
    Attack,
    /// Neither is certain: it counts nowhere.
    Unclear,
}

impl Event {
    /// Whether a model may be trained on it, as far as it says itself; [`Corpus::training`] also leaves out what stands in other parts too.
    pub fn trainable(&self) -> bool {
        self.trains && self.split == Split::Train && self.label != Label::Unclear
    }
}

/// The events of a record in order. As in judging, what is blank is none.
///
/// # Errors
/// When a single text has no channel.
pub fn of_record(set: &str, record: &Record) -> anyhow::Result<Vec<Event>> {
    if let Some(text) = &record.text {
        let channel = match record.channel {
            Some(data::Channel::User) => Channel::User,
            Some(data::Channel::Tool) => Channel::ToolResult,
            None => return Err(anyhow::anyhow!("give `user` or `tool`")),
        };
        if is_blank(text) {
            return Ok(Vec::new());
        }
        let label = if record.label == data::Label::Benign { Label::Benign } else { Label::Attack };
        return Ok(vec![Maker { set, record }.event([0, 0], None, channel, text.clone(), label)]);
    }
    let messages = record.messages.as_deref().unwrap_or_default();
    let mut finder = Finder::new(set, record);
    let mut events = Vec::new();
    let mut users = 0;
    for (number, message) in messages.iter().enumerate() {
        for (channel, text) in texts(message) {
            let mut label = finder.label(message, channel, &text);
            if channel == Channel::User {
                if users > 0 && set == USER_IS_AGENT {
                    label = Label::Unclear;
                }
                users += 1;
            }
            events.push(Maker { set, record }.event([events.len(), number], message.session, channel, text, label));
        }
    }
    Ok(events)
}

/// The texts of a message that are events.
fn texts(message: &Message) -> Vec<(Channel, String)> {
    let mut texts = match message.role.as_str() {
        "user" => vec![(Channel::User, message.content.clone())],
        "tool" => vec![(Channel::ToolResult, message.shown().to_owned())],
        "assistant" => message.tool_calls.iter().map(|call| (Channel::ToolCall, called(call))).collect(),
        _ => Vec::new(),
    };
    texts.retain(|(_, text)| !is_blank(text));
    texts
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace() || char::from(byte) == RECORD_BORDER)
}

/// The tool's name and the strings of its arguments, their keys among them, set apart as in judging.
fn called(call: &Call) -> String {
    let mut strings = vec![call.name.clone()];
    strings.retain(|name| !name.is_empty());
    wire::arguments_spelled(call.spelled().into(), &mut |string| strings.push(string.into_owned()));
    strings.join(RECORD_BORDER.encode_utf8(&mut [0; 4]))
}

/// Whether a set's texts of this channel may be trained on.
fn may_train(set: &str, channel: Channel) -> bool {
    match channel {
        Channel::ToolResult if set == QUOTES_SHARE_ALIKE => false,
        _ => !NEVER_TRAINED.contains(&set),
    }
}

/// What the events of a record share.
struct Maker<'r> {
    set: &'r str,
    record: &'r Record,
}

impl Maker<'_> {
    /// The tool that a result is of.
    fn tool(&self, message: usize, channel: Channel) -> Option<String> {
        let message = self.record.messages.as_ref()?.get(message).filter(|_| channel == Channel::ToolResult)?;
        message.name.clone()
    }

    fn event(&self, [position, message]: [usize; 2], session: Option<u32>, channel: Channel, text: String, label: Label) -> Event {
        let Maker { set, record } = *self;
        let injected = label != Label::Benign;
        // What nothing is injected into is of its own part only.
        let parts: Vec<Split> = record.parts().filter(|_| injected).collect();
        let split = parts.iter().copied().fold(record.split, Split::max);
        let kinds: [&Option<String>; 5] = if record.label == data::Label::Benign {
            [&record.benign_kind, &record.kind, &record.suite, &None, &None]
        } else {
            [&record.attack, &record.attack_kind, &record.technique, &record.kind, &None]
        };
        Event {
            set: set.to_owned(),
            source: record.source.clone(),
            split,
            strict: record.split == split && parts.iter().all(|part| *part == split),
            unit: unit_of(set, record, injected),
            record: record.id.clone(),
            position: position as u32,
            message,
            single: record.text.is_some(),
            session,
            channel,
            tool: self.tool(message, channel),
            text,
            lang: record.lang.clone(),
            kind: kinds.into_iter().flatten().next().cloned().unwrap_or_else(|| "-".to_owned()),
            label,
            trains: may_train(set, channel),
            count: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_core::wire::{Body, Direction, Format};

    pub(super) fn record(keys: &str) -> Record {
        serde_json::from_str(&format!(r#"{{"id":"r1","source":"s",{keys}}}"#)).unwrap()
    }

    fn events(set: &str, keys: &str) -> Vec<Event> {
        of_record(set, &record(keys)).unwrap()
    }

    fn labels(events: &[Event]) -> Vec<(Channel, &str, Label)> {
        events.iter().map(|event| (event.channel, event.text.as_str(), event.label)).collect()
    }

    #[test]
    fn single_texts_have_their_records_label() {
        let found = events(
            "injection_events",
            r#""label":"attack","split":"dev","unit":"u","text":"a","channel":"tool","attack_kind":"k","lang":"Thai""#,
        );
        let [event] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((event.channel, event.label, event.split), (Channel::ToolResult, Label::Attack, Split::Dev));
        assert_eq!((event.unit.as_str(), event.kind.as_str(), event.lang.as_deref()), ("u", "k", Some("Thai")));
        assert!(event.trains && !event.trainable(), "dev is not trained on");
        let found = events("bipia", r#""label":"benign","split":"train","unit":"u","text":"a","channel":"user""#);
        assert_eq!((found[0].label, found[0].channel, found[0].kind.as_str()), (Label::Benign, Channel::User, "-"));
        assert!(!found[0].trainable(), "share-alike");
        let without = record(r#""label":"benign","split":"train","text":"a""#);
        assert!(of_record("x", &without).is_err());
    }

    #[test]
    fn a_benign_conversation_is_its_users_tools_and_calls() {
        let found = events(
            "llm_chat",
            r#""label":"benign","split":"train","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},
               {"role":"assistant","content":"a","tool_calls":[{"name":"f","arguments":{"x":"1","y":[{"z":"2"}],"n":3}},{"name":"g","arguments":{}}]},
               {"role":"tool","content":"","error":"e"},{"role":"assistant","content":"b","tool_calls":[{"name":"f","arguments":"{\"q\":\"3\"}"}]}]"#,
        );
        let expected = [
            (Channel::User, "u", Label::Benign),
            (Channel::ToolCall, "f\u{1f}x\u{1f}1\u{1f}y\u{1f}z\u{1f}2\u{1f}n", Label::Benign),
            (Channel::ToolCall, "g", Label::Benign),
            (Channel::ToolResult, "e", Label::Benign),
            (Channel::ToolCall, "f\u{1f}q\u{1f}3", Label::Benign),
        ];
        assert_eq!(labels(&found), expected);
        assert_eq!(found.iter().map(|event| event.position).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }

    /// Judging takes the same texts out of the bodies that a gateway would see.
    #[test]
    fn events_are_those_of_judging() {
        let record = record(
            r#""label":"benign","split":"train","messages":[{"role":"user","content":"one two"},{"role":"assistant","content":"",
               "tool_calls":[{"name":"f","arguments":{"to":["a b","c"],"deep":{"text":"d e"}}},{"name":"g","arguments":"{\"q\":\"f g\"}"},{"name":"h","arguments":{}}]},
               {"role":"tool","content":"three","name":"f"},{"role":"tool","content":"","error":"no such file"},{"role":"user","content":" "},{"role":"user","content":"four"}]"#,
        );
        let chats = crate::requests::chats(record.messages.as_deref().unwrap());
        let bytes = chats[0].bodies().next().unwrap();
        let body = Body::new(&bytes);
        let document = wire::read(&body, Some(Format::OpenAiChat), Direction::Request);
        let judged: Vec<_> =
            document.events.iter().filter(|event| event.is_step()).map(|event| (event.channel, event.text.as_ref())).collect();
        let found = of_record("llm_chat", &record).unwrap();
        assert_eq!(found.iter().map(|event| (event.channel, event.text.as_str())).collect::<Vec<_>>(), judged);
    }

    #[test]
    fn attack_conversations_are_unclear() {
        for (set, keys) in [
            ("multi_turn_attacks", r#""technique":"crescendo""#),
            ("hh_redteam_dialogues", r#""attack_kind":"content_redteam_unverified""#),
        ] {
            let found = events(set, &format!(r#""label":"attack","split":"train",{keys},"messages":[{{"role":"user","content":"u"}}]"#));
            assert_eq!((found[0].label, found[0].trainable()), (Label::Unclear, false), "{set}");
        }
    }

    #[test]
    fn an_attack_is_of_the_most_held_out_of_its_parts() {
        let keys = |injection: &str| {
            format!(
                r#""label":"attack_failed","split":"train","user_split":"train","injection_split":"{injection}","template_split":"shared","injection_seen":true,
                   "suite":"s","task":"t","injection_task":"i","attack":"direct","messages":[{{"role":"user","content":"u"}},{{"role":"tool","content":"T\u004fDO: x"}}]"#
            )
        };
        let found = events("agentdojo_gt", &keys("test"));
        assert_eq!(
            (found[0].label, found[0].split, found[0].unit.as_str()),
            (Label::Benign, Split::Train, "s/t"),
            "the user's words are the task's"
        );
        assert_eq!((found[1].label, found[1].split, found[1].unit.as_str()), (Label::Attack, Split::Test, "s/i"));
        assert_eq!((found[0].trainable(), found[1].trainable(), found[1].strict), (true, false, false));
        let found = events("agentdojo_gt", &keys("train"));
        assert!(found[1].trainable() && found[1].strict);
    }

    #[test]
    fn what_may_not_be_trained_on_is_not() {
        let keys = r#""label":"benign","split":"train","messages":[{"role":"user","content":"u"},{"role":"tool","content":"t"}]"#;
        for (set, expected) in [
            ("sgd", [false, false]),
            ("memory_forensics", [false, false]),
            ("goal_drift_agents", [true, false]),
            ("llm_chat", [true, true]),
        ] {
            assert_eq!(events(set, keys).iter().map(Event::trainable).collect::<Vec<_>>(), expected, "{set}");
        }
    }

    #[test]
    fn a_defended_agents_own_words_in_user_messages_are_unclear() {
        let keys = r#""label":"attack_failed","split":"train","injection_seen":false,"attack":"important_instructions","messages":[{"role":"user","content":"u"},{"role":"user","content":"v"}]"#;
        assert_eq!(events("agentdojo_drift", keys).iter().map(|event| event.label).collect::<Vec<_>>(), [Label::Benign, Label::Unclear]);
    }
}
