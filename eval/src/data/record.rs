//! A record as the files spell it; keys that no measurement needs are passed over.

use serde::{Deserialize, Deserializer};

use super::message::Message;

/// One conversation, agent run or single text.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// Its id, unique in its file; `line N` where the file names none.
    #[serde(default, deserialize_with = "named")]
    pub id: String,
    /// Where it comes from, finer than its set; the file's name where none is named.
    #[serde(default, deserialize_with = "named")]
    pub source: String,
    /// What it is.
    pub label: Label,
    /// The part of the data that its unit is in; `test` where none is named.
    #[serde(default)]
    pub split: Split,
    /// Its independence unit, where the set names one.
    #[serde(default, deserialize_with = "word")]
    pub unit: Option<String>,
    /// Suite of the task, of agent runs.
    #[serde(default, deserialize_with = "word")]
    pub suite: Option<String>,
    /// The user's task, of agent runs.
    #[serde(default, deserialize_with = "word")]
    pub task: Option<String>,
    /// What the injection asks for, of attacked agent runs.
    #[serde(default, deserialize_with = "word")]
    pub injection_task: Option<String>,
    /// Whether the injection stands in a tool's result; unknown where the set does not say.
    #[serde(default)]
    pub injection_seen: Option<bool>,
    /// The attack's template, of attacked agent runs.
    #[serde(default, deserialize_with = "word")]
    pub attack: Option<String>,
    /// Kind of attack, of single texts and some conversations.
    #[serde(default, deserialize_with = "word")]
    pub attack_kind: Option<String>,
    /// Kind of attack, of conversations.
    #[serde(default, deserialize_with = "word")]
    pub technique: Option<String>,
    /// Kind of text, of texts from memories.
    #[serde(default, deserialize_with = "word")]
    pub kind: Option<String>,
    /// Kind of text, of harmless single texts.
    #[serde(default, deserialize_with = "word")]
    pub benign_kind: Option<String>,
    /// The text's language, where it was translated.
    #[serde(default, deserialize_with = "word")]
    pub lang: Option<String>,
    /// The part that what is injected is in, where it has a part of its own.
    #[serde(default)]
    pub injection_split: Option<String>,
    /// The part that the kind of attack is in.
    #[serde(default)]
    pub attack_split: Option<String>,
    /// The part that the attack's template is in; `shared` where it is in all.
    #[serde(default)]
    pub template_split: Option<String>,
    /// The part that the user's task is in.
    #[serde(default)]
    pub user_split: Option<String>,
    /// The part that the document around the attack is in.
    #[serde(default)]
    pub context_split: Option<String>,
    /// Of conversations and agent runs.
    #[serde(default)]
    pub messages: Option<Vec<Message>>,
    /// Of single texts.
    #[serde(default)]
    pub text: Option<String>,
    /// Where a single text comes in; of a file's texts `user` where none is named.
    #[serde(default)]
    pub channel: Option<Channel>,
}

impl Record {
    /// The parts that its task, injection, template, context and kind of attack are in, of those that are named.
    pub fn parts(&self) -> impl Iterator<Item = Split> {
        let named = [&self.user_split, &self.injection_split, &self.template_split, &self.context_split, &self.attack_split];
        named.into_iter().flatten().filter_map(|name| Split::of(name))
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Nothing wrong in it.
    Benign,
    /// An attack.
    Attack,
    /// An attacked run in which the attacker got what was wanted.
    AttackSuccess,
    /// An attacked run in which not.
    AttackFailed,
}

/// Part of the data, fixed for a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// To choose patterns and weights on.
    Train,
    /// To look at while choosing.
    Dev,
    /// To measure on.
    #[default]
    Test,
}

impl Split {
    /// The part of this name; `None` of other names.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "train" => Split::Train,
            "dev" => Split::Dev,
            "test" => Split::Test,
            _ => return None,
        })
    }

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Dev => "dev",
            Split::Test => "test",
        }
    }
}

/// Where a single text comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A user's message.
    User,
    /// What a tool gave back.
    Tool,
}

/// A name, which files also spell as a number.
fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a name is a text or a whole number")]
    enum Word {
        Text(String),
        Number(i64),
    }
    let word = Option::<Word>::deserialize(deserializer)?;
    Ok(word.map(|word| match word {
        Word::Text(text) => text,
        Word::Number(number) => number.to_string(),
    }))
}

/// A name that is empty until the reader gives one.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    word(deserializer).map(Option::unwrap_or_default)
}
