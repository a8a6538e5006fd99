//! A record as the files spell it; keys that no measurement needs are passed over.

use serde::Deserialize;
use serde_json::value::RawValue;

/// One conversation, agent run or single text.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// Its id, unique in its file.
    pub id: String,
    /// Where it comes from, finer than its set.
    pub source: String,
    /// What it is.
    pub label: Label,
    /// The part of the data that its unit is in.
    pub split: Split,
    /// Its independence unit, where the set names one.
    #[serde(default)]
    pub unit: Option<String>,
    /// Suite of the task, of agent runs.
    #[serde(default)]
    pub suite: Option<String>,
    /// The user's task, of agent runs.
    #[serde(default)]
    pub task: Option<String>,
    /// What the injection asks for, of attacked agent runs.
    #[serde(default)]
    pub injection_task: Option<String>,
    /// Whether the injection stands in a tool's result; unknown where the set does not say.
    #[serde(default)]
    pub injection_seen: Option<bool>,
    /// The attack's template, of attacked agent runs.
    #[serde(default)]
    pub attack: Option<String>,
    /// Kind of attack, of single texts and some conversations.
    #[serde(default)]
    pub attack_kind: Option<String>,
    /// Kind of attack, of conversations.
    #[serde(default)]
    pub technique: Option<String>,
    /// Kind of text, of texts from memories.
    #[serde(default)]
    pub kind: Option<String>,
    /// Of conversations and agent runs.
    #[serde(default)]
    pub messages: Option<Vec<Message>>,
    /// Of single texts.
    #[serde(default)]
    pub text: Option<String>,
    /// Where a single text comes in.
    #[serde(default)]
    pub channel: Option<Channel>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// To choose patterns and weights on.
    Train,
    /// To look at while choosing.
    Dev,
    /// To measure on.
    Test,
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

/// A message of a conversation.
#[derive(Debug, Deserialize)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub content: String,
    /// What the assistant calls.
    #[serde(default)]
    pub tool_calls: Vec<Call>,
    /// Of a tool's result: why the call failed. Where there is no content the agent was shown this.
    #[serde(default)]
    pub error: Option<String>,
    /// Number of the chat, in runs that went over several.
    #[serde(default)]
    pub session: Option<u32>,
}

/// A tool call.
#[derive(Debug, Deserialize)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON: an object, or a string that already holds one.
    pub arguments: Box<RawValue>,
}
