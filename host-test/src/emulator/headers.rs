//! A header map as a proxy keeps it: names in lower case, values as bytes, order and repetitions kept.

use super::abi::Status;

/// Header or trailer fields in wire order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// First value of a name, as the ABI gives it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice())
    }

    /// First value of a name when it is UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// Appends a field.
    pub fn add(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.0.push((name.to_ascii_lowercase(), value.into()));
    }

    /// Puts one field in the place of all fields of that name.
    pub fn set(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.remove(name);
        self.add(name, value);
    }

    /// Drops all fields of a name.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// All fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// Number of fields.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all names and values.
    pub(super) fn byte_size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The ABI's form: count, the lengths of all names and values, then each with a NUL behind it.
    pub(super) fn to_pairs(&self) -> Vec<u8> {
        let mut out = (self.0.len() as u32).to_le_bytes().to_vec();
        for (name, value) in &self.0 {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        for (name, value) in &self.0 {
            for part in [name.as_bytes(), value.as_slice()] {
                out.extend_from_slice(part);
                out.push(0);
            }
        }
        out
    }

    /// Reads the ABI's form; lengths that point outside are a failure.
    pub(super) fn from_pairs(bytes: &[u8]) -> Result<Self, Status> {
        if bytes.is_empty() {
            return Ok(Self::new());
        }
        let count = length(bytes, 0)?;
        let mut at = count.checked_mul(8).and_then(|size| size.checked_add(4)).ok_or(Status::ParseFailure)?;
        let mut take = |len: usize| {
            let part = at.checked_add(len).and_then(|end| bytes.get(at..end)).ok_or(Status::ParseFailure);
            at = at.saturating_add(len).saturating_add(1);
            part
        };
        let mut headers = Self::new();
        for index in 0..count {
            let name = take(length(bytes, 4 + index * 8)?)?;
            let value = take(length(bytes, 8 + index * 8)?)?;
            headers.add(&String::from_utf8_lossy(name), value);
        }
        Ok(headers)
    }
}

impl<N: AsRef<str>, V: Into<Vec<u8>>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        let mut headers = Self::new();
        for (name, value) in fields {
            headers.add(name.as_ref(), value);
        }
        headers
    }
}

fn length(bytes: &[u8], at: usize) -> Result<usize, Status> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(Status::ParseFailure)?;
    Ok(u32::from_le_bytes(*word) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_layout_of_the_abi() {
        let headers: Headers = [("A", "xy"), ("b", "")].into_iter().collect();
        let expected = [&[2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], b"a\0xy\0b\0\0"].concat();
        assert_eq!(headers.to_pairs(), expected);
        assert_eq!(Headers::from_pairs(&expected), Ok(headers));
    }

    #[test]
    fn pairs_that_lie_about_lengths_are_refused() {
        for lie in [&[1, 0, 0][..], &[1, 0, 0, 0], &[255; 12], &[1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, b'a', 0]] {
            assert_eq!(Headers::from_pairs(lie), Err(Status::ParseFailure), "{lie:?}");
        }
    }

    #[test]
    fn set_replaces_all_and_add_keeps() {
        let mut headers: Headers = [("a", "1"), ("A", "2")].into_iter().collect();
        assert_eq!((headers.len(), headers.text("a")), (2, Some("1")));
        headers.set("a", "3");
        assert_eq!((headers.len(), headers.text("A")), (1, Some("3")));
    }
}
