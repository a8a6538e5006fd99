//! Arguments of a call, read only as far as limits need, and whether a call is inside a mandate.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::grant::Limit;
use crate::limits::{MAX_LIMIT_TEXT_BYTES, MAX_MANDATE_ARGUMENTS};

/// A value as limits see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A text that is short enough to be listed.
    Text(String),
    /// A number within 2^53: as exact as the tools that take it read it. Beyond, different numbers are one double.
    Number(f64),
    /// Anything else.
    Other,
}

/// The arguments of a call, in their order. Of more than a mandate can name only that there are more is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Vec<(String, Argument)>);

impl Arguments {
    /// Arguments by their names.
    pub fn new(arguments: Vec<(String, Argument)>) -> Self {
        Arguments(arguments)
    }
}

/// The greatest whole number up to which doubles hold all.
const EXACT: u64 = 1 << 53;

struct ReadArgument;

impl<'de> Visitor<'de> for ReadArgument {
    type Value = Argument;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Argument, E> {
        Ok(if text.len() <= MAX_LIMIT_TEXT_BYTES { Argument::Text(String::from(text)) } else { Argument::Other })
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Argument, E> {
        // The very number may be what a greater one was rounded to.
        Ok(if number.abs() < EXACT as f64 { Argument::Number(number) } else { Argument::Other })
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Argument, E> {
        Ok(if number <= EXACT { Argument::Number(number as f64) } else { Argument::Other })
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Argument, E> {
        Ok(if number.unsigned_abs() <= EXACT { Argument::Number(number as f64) } else { Argument::Other })
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Argument, E> {
        Ok(Argument::Other)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Argument, E> {
        Ok(Argument::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Argument, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Argument::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Argument, A::Error> {
        while values.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Argument::Other)
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadArgument)
    }
}

struct ReadArguments;

impl<'de> Visitor<'de> for ReadArguments {
    type Value = Arguments;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<Arguments, A::Error> {
        let mut arguments: Vec<(String, Argument)> = Vec::new();
        while let Some((name, value)) = values.next_entry::<String, Argument>()? {
            // One more than a mandate can name says that no mandate holds.
            if arguments.len() <= MAX_MANDATE_ARGUMENTS {
                arguments.push((name, value));
            }
        }
        Ok(Arguments(arguments))
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReadArguments)
    }
}

/// Whether each argument is named by a limit and fits it, and each that is limited is there: what a tool does without it nobody limited. An argument that stands
/// twice must fit twice, whichever the tool reads.
pub(super) fn fits(Arguments(arguments): &Arguments, limits: &BTreeMap<String, Limit>) -> bool {
    let fit = arguments.iter().all(|(name, argument)| match (limits.get(name), argument) {
        (Some(Limit::Any), _) => true,
        (Some(Limit::OneOf(texts)), Argument::Text(text)) => texts.contains(text),
        (Some(Limit::Max(most)), Argument::Number(number)) => number.abs() <= *most,
        _ => false,
    });
    let is_there = |name| arguments.iter().any(|(given, _)| given == name);
    // Of more than a mandate can name not all are kept.
    fit && arguments.len() <= MAX_MANDATE_ARGUMENTS && limits.iter().all(|(name, limit)| matches!(limit, Limit::Any) || is_there(name))
}

/// Whether a tool's name is what a pattern says, in which `*` stands for any characters. At most as many steps as the two lengths multiplied.
pub(super) fn matches(pattern: &str, tool: &str) -> bool {
    let (pattern, tool) = (pattern.as_bytes(), tool.as_bytes());
    let (mut at, mut letter) = (0, 0);
    // Behind the last star, and what it stands for begins where and ends where.
    let mut star: Option<(usize, usize)> = None;
    while letter < tool.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, letter));
            }
            Some(byte) if tool.get(letter) == Some(byte) => (at, letter) = (at + 1, letter + 1),
            _ => {
                let Some((behind, end)) = star else { return false };
                (at, letter) = (behind, end + 1);
                star = Some((behind, letter));
            }
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}
