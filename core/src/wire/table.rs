//! The table of all keys that are known, made at compile time of the formats' own tables: what stands at each key, by the place of its object.

use super::document::{Channel, IdKind};
use super::format::Format;
use super::formats;
use crate::hash::Fnv1a;

/// What kind of object a key stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A request's own, or one of a JSON-RPC batch.
    Root,
    /// A response's own, one of a batch, a message of a stream, or a response inside it.
    Answer,
    /// The `params` of a JSON-RPC request.
    Params,
    /// The `result` of a server's JSON-RPC answer.
    Result,
    /// The `result` of a client's JSON-RPC answer.
    Reply,
    /// One of several answers of a model.
    Choice,
    /// A message, an item, or a part of its content.
    Message,
    /// A tool call.
    Call,
    /// What a client says beside the messages.
    Metadata,
}

/// Whose word messages are that do not say it themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The client's: a user's message.
    Client,
    /// Items of a conversation: what their type says, else the client's.
    Items,
    /// The model's.
    Model,
    /// An MCP server's: they are prompts, whatever their role.
    Server,
    /// An MCP server's or another agent's: a prompt unless it has a role.
    Peer,
    /// What an MCP server's resources hold.
    Resource,
}

/// What the value of a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A list of messages or items, or the text of one.
    Messages(From),
    /// A message, or its text.
    Message(From),
    /// Answers of a model to choose from.
    Choices,
    /// An object of this place, or a list of them, whose keys count for the object that it stands in; or its text.
    Nested(Place),
    /// Instructions outside the messages: text or parts.
    Instructions,
    /// Strings that are an event of their own on this channel.
    On(Channel),
    /// The message's role.
    Role,
    /// The type of the part, item or stream message.
    Type,
    /// Text for the model, or parts that hold it.
    Text,
    /// A list of tool calls, or one.
    Calls,
    /// The name of a tool or of a message's author.
    Name,
    /// A tool call's arguments: an object, or a string that spells one.
    Arguments,
    /// What a tool gave back: text, parts, or an object of them.
    ToolResult,
    /// What joins a call and its result.
    CallId,
    /// The object's own identifier, which joins where nothing else does.
    OwnId,
    /// A file's bytes: base64, a data URL, or text.
    Data,
    /// What those bytes are.
    MediaType,
    /// Image, audio or video data.
    Media,
    /// An identifier or a word that no model reads.
    Opaque,
    /// An identifier of the conversation or the user.
    Id(IdKind),
    /// An identifier that stands for text which the gateway cannot see, and may name the conversation.
    Unseen(Option<IdKind>),
    /// JSON-RPC's version.
    RpcVersion,
    /// The `id` of a JSON-RPC message, or of a response.
    RootId,
    /// A JSON-RPC request's method.
    Method,
    /// Whether a stream is asked for.
    Stream,
    /// The number of a choice, call or block that a stream's messages go on with.
    Index,
    /// Why a model stopped, or that it did: its calls are whole.
    Stopped,
}

/// What one key holds in one place of a format.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The key.
    pub key: &'static str,
    /// The objects that it stands in.
    pub place: Place,
    /// What stands at it.
    pub holds: Holds,
    /// How much it speaks for the format. A body with [`RECOGNISED`] of one format is taken for it whatever its path.
    pub mark: u8,
}

/// Marks that make a body AI traffic by itself.
pub const RECOGNISED: u32 = 2;

/// A key that says nothing of the format.
pub(super) const fn key(place: Place, key: &'static str, holds: Holds) -> Key {
    Key { key, place, holds, mark: 0 }
}

/// A key that speaks for the format.
pub(super) const fn mark(mark: u8, place: Place, key: &'static str, holds: Holds) -> Key {
    Key { key, place, holds, mark }
}

/// Every format's keys, in the order of [`Format::KNOWN`].
pub const FORMATS: [(Format, &[Key]); Format::KNOWN.len()] = [
    (Format::OpenAiChat, formats::openai_chat::KEYS),
    (Format::OpenAiResponses, formats::openai_responses::KEYS),
    (Format::AnthropicMessages, formats::anthropic_messages::KEYS),
    (Format::Gemini, formats::gemini::KEYS),
    (Format::BedrockConverse, formats::bedrock_converse::KEYS),
    (Format::Ollama, formats::ollama::KEYS),
    (Format::Mcp, formats::mcp::KEYS),
    (Format::A2a, formats::a2a::KEYS),
];

/// A key of the merged table.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Hash of place and folded key, by which the table is sorted.
    hash: u64,
    /// The key.
    pub key: &'static str,
    place: Place,
    /// What stands there: the same in every format that knows it, which a test holds.
    pub holds: Holds,
    /// Marks for each format.
    pub marks: [u8; Format::KNOWN.len()],
    /// Bit `i` is set when format `i` lists the key.
    formats: u16,
}

impl Known {
    /// Whether `format` lists the key.
    pub fn is_of(&self, format: Format) -> bool {
        Format::KNOWN.iter().position(|known| *known == format).is_some_and(|at| self.formats >> at & 1 == 1)
    }
}

/// What is known of `key` in an object of `place`, and its number; in another case too, which the caller sees by comparing.
pub fn find(place: Place, key: &str) -> Option<(usize, &'static Known)> {
    let start = Fnv1a::EMPTY.with(place as u8);
    let hash = folded(key).fold(start, |hash, letter| hash.with(letter as u8)).value();
    let known = TABLE.0.get(..TABLE.1)?;
    let at = known.binary_search_by_key(&hash, |known| known.hash).ok()?;
    let found = known.get(at).filter(|known| known.place == place && (known.key == key || folded(known.key).eq(folded(key))));
    Some((at, found?))
}

/// A key as readers see it that pay no heed to case; Go's fold the long s and the Kelvin sign too.
fn folded(key: &str) -> impl Iterator<Item = char> + '_ {
    key.chars().map(|letter| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    })
}

/// The same hash for a table's key, which is plain ASCII.
const fn hash(place: Place, key: &[u8]) -> u64 {
    let mut hash = Fnv1a::EMPTY.with(place as u8);
    let mut rest = key;
    while let [byte, tail @ ..] = rest {
        hash = hash.with(byte.to_ascii_lowercase());
        rest = tail;
    }
    hash.value()
}

#[allow(clippy::indexing_slicing, reason = "at compile time")]
const fn count() -> usize {
    let (mut all, mut format) = (0, 0);
    while format < FORMATS.len() {
        all += FORMATS[format].1.len();
        format += 1;
    }
    all
}

const NOTHING: Known = Known { hash: 0, key: "", place: Place::Root, holds: Holds::Opaque, marks: [0; Format::KNOWN.len()], formats: 0 };

/// Number of keys, each counted once a place.
pub const KEYS: usize = merged().1;

/// All keys, each once a place, sorted by hash; how many they are; behind them nothing.
static TABLE: ([Known; count()], usize) = merged();

#[allow(clippy::indexing_slicing, reason = "at compile time")]
const fn merged() -> ([Known; count()], usize) {
    let mut table = [NOTHING; count()];
    let (mut used, mut format) = (0, 0);
    while format < FORMATS.len() {
        let keys = FORMATS[format].1;
        let mut number = 0;
        while number < keys.len() {
            let Key { key, place, holds, mark } = keys[number];
            let hash = hash(place, key.as_bytes());
            // Where it belongs: behind all that are smaller.
            let mut at = used;
            while at > 0 && table[at - 1].hash > hash {
                at -= 1;
            }
            if at > 0 && table[at - 1].hash == hash {
                table[at - 1].marks[format] = mark;
                table[at - 1].formats |= 1 << format;
            } else {
                let mut behind = used;
                while behind > at {
                    table[behind] = table[behind - 1];
                    behind -= 1;
                }
                table[at] = Known { hash, key, place, holds, marks: [0; Format::KNOWN.len()], formats: 1 << format };
                table[at].marks[format] = mark;
                used += 1;
            }
            number += 1;
        }
        format += 1;
    }
    (table, used)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of different formats that meet must mean the same, and no two keys may share a hash.
    #[test]
    fn every_key_of_every_format_is_found_as_it_says() {
        for (at, (format, keys)) in FORMATS.iter().enumerate() {
            for Key { key, place, holds, mark } in *keys {
                let (_, found) = find(*place, key).unwrap_or_else(|| panic!("{format:?}: {key} in {place:?} is not found"));
                assert!(found.is_of(*format), "{format:?}: {key} in {place:?}");
                assert!(key.is_ascii() && found.key == *key, "{format:?}: {key} in {place:?} is {} in another case", found.key);
                assert_eq!(found.holds, *holds, "{format:?}: {key} in {place:?}");
                assert_eq!(found.marks[at], *mark, "{format:?}: {key} in {place:?}");
                let twice = keys.iter().filter(|other| other.key == *key && other.place == *place).count();
                assert_eq!(twice, 1, "{format:?}: {key} in {place:?} stands twice");
            }
        }
        assert_eq!(FORMATS.map(|(format, _)| format), Format::KNOWN);
        assert_eq!(find(Place::Root, "SYSTEMin\u{17f}truction").map(|(_, known)| known.key), Some("systemInstruction"));
        assert!(find(Place::Root, "").is_none() && find(Place::Call, "messages").is_none());
    }
}
