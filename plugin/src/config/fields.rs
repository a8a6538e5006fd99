//! Objects read by hand. Derived readers say the same, at several times the code, which gateways compile at every start; they are left where an object has many keys and defaults.

use serde_json::{Map, Value};

use super::parse::{ConfigError, error};

/// The members of an object. What does not fit is kept until [`Fields::end`], the first of it, and read as nothing meanwhile: whoever leaves at each key has
/// everything that was read before dropped there, in code of its own.
#[derive(Debug)]
pub(crate) struct Fields<'v> {
    /// `None` when it is no object.
    members: Option<&'v Map<String, Value>>,
    misfit: Option<ConfigError>,
}

impl<'v> Fields<'v> {
    /// Of an object with no other keys than these.
    pub fn new(value: &'v Value, keys: &[&str]) -> Self {
        let members = match object(value) {
            Ok(members) => members,
            Err(misfit) => return Fields { members: None, misfit: Some(misfit) },
        };
        let unknown = members.keys().find(|key| !keys.contains(&key.as_str()));
        let unknown = unknown.map(|key| shown(key));
        let misfit = unknown.map(|key| error(key, ["unknown field `", key, "`, expected ", &one_of(keys)].concat()));
        Fields { members: Some(members), misfit }
    }

    /// What was read, if all of it fits.
    pub fn end<T>(self, read: T) -> Result<T, ConfigError> {
        self.misfit.map_or(Ok(read), Err)
    }

    /// What stands there; nothing where it is left out or null.
    pub fn maybe(&self, key: &str) -> Option<&'v Value> {
        self.members?.get(key).filter(|value| !value.is_null())
    }

    /// Something must stand there.
    pub fn need(&mut self, key: &str) {
        if self.maybe(key).is_none() {
            self.wrong(error("", ["missing field `", key, "`"].concat()));
        }
    }

    /// A text.
    pub fn text(&mut self, key: &str) -> String {
        self.need(key);
        self.maybe_text(key).unwrap_or_default()
    }

    /// A text that may be left out.
    pub fn maybe_text(&mut self, key: &str) -> Option<String> {
        self.read(key, text)
    }

    /// A number that may be left out.
    pub fn maybe_number(&mut self, key: &str) -> Option<u64> {
        self.read(key, |value| value.as_u64().ok_or_else(|| not("a number from 0 on", value)))
    }

    /// A list; an empty one where it is left out. Each item is read by `read`.
    pub fn list<T>(&mut self, key: &str, read: fn(&'v Value) -> Result<T, ConfigError>) -> Vec<T> {
        let items = self.read(key, |value| value.as_array().ok_or_else(|| not("a list", value))).map_or(&[][..], Vec::as_slice);
        let mut ready = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read(item) {
                Ok(item) => ready.push(item),
                Err(misfit) => {
                    self.wrong(misfit.at(index).inside(key));
                    break;
                }
            }
        }
        ready
    }

    /// The number of the word that stands there.
    pub fn word(&mut self, key: &str, words: &[&str]) -> usize {
        self.need(key);
        match self.maybe(key).map(|value| word(value, words)) {
            Some(Ok(number)) => return number,
            Some(Err(misfit)) => self.wrong(misfit.inside(key)),
            None => {}
        }
        0
    }

    /// What `read` makes of what stands there.
    pub fn read<T>(&mut self, key: &str, read: fn(&'v Value) -> Result<T, ConfigError>) -> Option<T> {
        match read(self.maybe(key)?) {
            Ok(value) => Some(value),
            Err(misfit) => {
                self.wrong(misfit.inside(key));
                None
            }
        }
    }

    #[inline(never)]
    fn wrong(&mut self, misfit: ConfigError) {
        self.misfit.get_or_insert(misfit);
    }
}

/// A text, for [`Fields::list`].
pub(crate) fn text(value: &Value) -> Result<String, ConfigError> {
    value.as_str().map(str::to_owned).ok_or_else(|| not("a string", value))
}

/// The number of a word.
pub(crate) fn word(value: &Value, words: &[&str]) -> Result<usize, ConfigError> {
    let text = text(value)?;
    let position = words.iter().position(|word| *word == text);
    position.ok_or_else(|| error("", ["unknown variant `", shown(&text), "`, expected ", &one_of(words)].concat()))
}

/// What is wrong with a value of another type. The value is not shown: it may be an entry's text.
pub(crate) fn not(expected: &str, value: &Value) -> ConfigError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    error("", ["invalid type: ", found, ", expected ", expected].concat())
}

/// An object.
pub(crate) fn object(value: &Value) -> Result<&Map<String, Value>, ConfigError> {
    value.as_object().ok_or_else(|| not("an object", value))
}

fn one_of(words: &[&str]) -> String {
    ["one of `", &words.join("`, `"), "`"].concat()
}

/// A word that is not known, if it can be one: it may as well be an entry's text.
fn shown(word: &str) -> &str {
    if word.len() <= 32 && word.bytes().all(|byte| byte.is_ascii_graphic()) { word } else { "..." }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let value = json!({"a": "x", "b": 7, "c": ["x", 1.5], "d": null});
        let all = || Fields::new(&value, &["a", "b", "c", "d", "e"]);
        let mut fields = all();
        assert_eq!((fields.text("a"), fields.maybe_text("d"), fields.maybe_text("e")), ("x".to_owned(), None, None));
        assert_eq!((fields.maybe_number("b"), fields.maybe_number("e"), fields.word("a", &["y", "x"])), (Some(7), None, 1));
        assert_eq!((fields.list("e", text), fields.end("read")), (vec![], Ok("read")));
        let said = |fields: Fields<'_>| fields.end(()).map_err(|ConfigError { path, problem }| (path, problem)).expect_err("a misfit");
        let of = |read: fn(&mut Fields<'_>)| {
            let mut fields = all();
            read(&mut fields);
            // What comes later does not count.
            fields.need("d");
            said(fields)
        };
        fn odd(_: &Value) -> Result<(), ConfigError> {
            Err(error("k", "is odd"))
        }
        for (given, path, problem) in [
            (of(|fields| drop(fields.text("b"))), "b", "invalid type: a number, expected a string"),
            (of(|fields| drop(fields.text("d"))), "", "missing field `d`"),
            (of(|fields| assert_eq!(fields.maybe_number("a"), None)), "a", "invalid type: a string, expected a number from 0 on"),
            (of(|fields| drop(fields.list("c", text))), "c[1]", "invalid type: a number, expected a string"),
            (of(|fields| drop(fields.list("c", odd))), "c[0].k", "is odd"),
            (of(|fields| drop(fields.list("a", text))), "a", "invalid type: a string, expected a list"),
            (of(|fields| assert_eq!(fields.word("a", &["y", "z"]), 0)), "a", "unknown variant `x`, expected one of `y`, `z`"),
            (said(Fields::new(&value, &["a", "b"])), "c", "unknown field `c`, expected one of `a`, `b`"),
            (said(Fields::new(&json!({"k".repeat(33): 1}), &["a"])), "...", "unknown field `...`, expected one of `a`"),
            (said(Fields::new(&json!({"k k": 1}), &["a"])), "...", "unknown field `...`, expected one of `a`"),
            (said(Fields::new(&json!([]), &[])), "", "invalid type: a list, expected an object"),
        ] {
            assert_eq!(given, (path.to_owned(), problem.to_owned()));
        }
    }
}
