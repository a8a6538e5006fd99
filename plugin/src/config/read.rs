//! Configuration types read from a JSON value, with the path of the key where a value does not fit.
//!
//! serde_path_to_error over serde_json's reader says the same, but took 85 KB of code more, and gateways compile all code at every start.

use core::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, map, value};

use super::parse::ConfigError;

/// The value of type `T` that `value` spells. The error's path begins at `value`.
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, ConfigError> {
    T::deserialize(Node(value)).map_err(|misfit| *misfit.0)
}

/// What does not fit, and where; the path grows on the way out. Boxed, since every reader of a value carries it.
#[derive(Debug)]
struct Misfit(Box<ConfigError>);

impl Misfit {
    fn inside(mut self, key: &str) -> Self {
        *self.0 = core::mem::take(&mut *self.0).inside(key);
        self
    }

    fn at(mut self, index: usize) -> Self {
        *self.0 = core::mem::take(&mut *self.0).at(index);
        self
    }

    #[inline(never)]
    fn type_of(value: &Value, expected: &dyn de::Expected) -> Self {
        Misfit::invalid_type(unexpected(value), expected)
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(truth) => Unexpected::Bool(*truth),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    }
}

/// What stands there. [`Unexpected`] says it as well, but prints fractions, which takes 14 KB of code.
#[inline(never)]
fn words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(truth) => format!("boolean `{truth}`"),
        Unexpected::Unsigned(number) => format!("integer `{number}`"),
        Unexpected::Signed(number) => format!("integer `{number}`"),
        Unexpected::Float(_) => "a number with a fraction".to_owned(),
        Unexpected::Str(text) => format!("string {text:?}"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        _ => "null".to_owned(),
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.problem)
    }
}

impl core::error::Error for Misfit {}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        Misfit(Box::new(ConfigError { path: String::new(), problem: problem.to_string() }))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Misfit::custom(format_args!("invalid type: {}, expected {expected}", words(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Misfit::custom(format_args!("invalid value: {}, expected {expected}", words(found)))
    }
}

/// A value to be read.
#[derive(Clone, Copy)]
struct Node<'v>(&'v Value);

/// Each form asks the visitor for the one thing that may stand there, so that no code is made for the others.
impl<'de> de::Deserializer<'de> for Node<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(_) => self.deserialize_bool(visitor),
            Value::Number(_) => self.deserialize_f64(visitor),
            Value::String(_) => self.deserialize_str(visitor),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Bool(truth) => visitor.visit_bool(*truth),
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0.as_u64() {
            Some(number) => visitor.visit_u64(number),
            None => Err(Misfit::type_of(self.0, &visitor)),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            // Envoy makes of a fraction in YAML a string.
            Value::String(text) => match serde_json::from_slice(text.as_bytes()) {
                Ok(Value::Number(number)) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
                _ => Err(Misfit::type_of(self.0, &visitor)),
            },
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(text) => visitor.visit_str(text),
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items { rest: items.iter(), index: 0 }),
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Object(members) => visitor.visit_map(Members { rest: members.iter(), next: None }),
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            other => Err(Misfit::type_of(other, &visitor)),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items<'v> {
    rest: core::slice::Iter<'v, Value>,
    index: usize,
}

impl<'v> SeqAccess<'v> for Items<'v> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'v>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        self.index += 1;
        seed.deserialize(Node(item)).map(Some).map_err(|misfit| misfit.at(self.index - 1))
    }
}

struct Members<'v> {
    rest: map::Iter<'v>,
    next: Option<(&'v str, &'v Value)>,
}

impl<'v> MapAccess<'v> for Members<'v> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'v>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        let Some((key, value)) = self.rest.next() else { return Ok(None) };
        self.next = Some((key, value));
        let reader: StrDeserializer<'_, Misfit> = key.as_str().into_deserializer();
        seed.deserialize(reader).map(Some).map_err(|misfit| misfit.inside(key))
    }

    fn next_value_seed<V: DeserializeSeed<'v>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let (key, value) = self.next.unwrap_or(("", &value::Value::Null));
        seed.deserialize(Node(value)).map_err(|misfit| misfit.inside(key))
    }
}
