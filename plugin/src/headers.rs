//! Header fields as a host gives them: names compare without regard to case, values are bytes.

use floodmark_core::limits::MAX_CODINGS;
use floodmark_core::wire::Codings;

use crate::host::Header;

/// The fields of one message.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<Header>);

impl Fields {
    /// Takes the fields; none when they could not be had.
    pub fn new(fields: Vec<Header>) -> Self {
        Fields(fields)
    }

    /// Whether the host gave no fields at all: every message has some, so they could not be had.
    pub fn is_unknown(&self) -> bool {
        self.0.is_empty()
    }

    /// The names that are UTF-8.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(name, _)| core::str::from_utf8(name).ok())
    }

    /// All values of a field.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value.as_slice())
    }

    /// The first value of a field.
    pub fn value(&self, name: &str) -> Option<&[u8]> {
        self.values(name).next()
    }

    /// Whether `is` says so of any value of a field, those that commas join apart, in lower case. They are not asked for further then.
    pub fn any_word(&self, name: &str, is: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut is = |word: &[u8]| is(&word.trim_ascii().to_ascii_lowercase());
        self.values(name).any(|value| value.split(|&byte| byte == b',').any(&mut is))
    }

    /// How the body is compressed; `None` when it is in a way that is not read.
    pub fn codings(&self) -> Option<Codings> {
        let mut words = Vec::new();
        let too_many = self.any_word("content-encoding", &mut |word| {
            if !matches!(word, b"" | b"identity") {
                words.push(word.to_vec());
            }
            words.len() > MAX_CODINGS
        });
        if too_many { None } else { Codings::parse(words) }
    }

    /// The length that is announced; `None` without one.
    pub fn length_bytes(&self) -> Option<u64> {
        core::str::from_utf8(self.value("content-length")?).ok()?.trim().parse().ok()
    }

    /// Whether a content-type names a charset that changes how ASCII or UTF-8 bytes are read.
    pub fn foreign_charset(&self) -> bool {
        self.any_word("content-type", &mut |kind| kind.split(|&byte| byte == b';').skip(1).any(is_foreign_charset))
    }
}

/// Whether a parameter of a content-type, in lower case, names such a charset.
fn is_foreign_charset(parameter: &[u8]) -> bool {
    let value = parameter.trim_ascii().strip_prefix(b"charset").map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(b"="));
    value.is_some_and(|charset| {
        let name = charset.trim_ascii();
        let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
        !matches!(name, b"utf-8" | b"utf8" | b"us-ascii" | b"ascii")
    })
}
