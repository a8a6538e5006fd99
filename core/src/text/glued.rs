//! The glued view: text parts put together with nothing between, as some readers do where others put a line feed.

use alloc::string::String;

/// A text without its joints, and the way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glued<'e> {
    text: String,
    /// Offsets of the joints in the original, ascending.
    joints: &'e [usize],
}

impl<'e> Glued<'e> {
    /// Takes the one-byte joints out of `original`; `None` when there are none.
    pub fn new(original: &str, joints: &'e [usize]) -> Option<Self> {
        joints.first()?;
        let mut text = String::with_capacity(original.len());
        let mut from = 0;
        for &joint in joints {
            text.push_str(original.get(from..joint).unwrap_or_default());
            from = joint + 1;
        }
        text.push_str(original.get(from..).unwrap_or_default());
        Some(Glued { text, joints })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The byte range of the original that the view's bytes `start..end` come from.
    pub fn span(&self, (start, end): (usize, usize)) -> (usize, usize) {
        // The joint number `n` stood before the view's byte `joint - n`.
        let before = |offset: usize, end: bool| {
            let passed = |&(number, &joint): &(usize, &usize)| joint - number < offset + usize::from(!end);
            offset + self.joints.iter().enumerate().take_while(passed).count()
        };
        (before(start, false), before(end, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_lead_back_over_the_joints() {
        assert_eq!(Glued::new("abc", &[]), None);
        let original = "ab\ncd\n\nef";
        let glued = Glued::new(original, &[2, 5, 6]).expect("it has joints");
        assert_eq!(glued.as_str(), "abcdef");
        let span = |start, end| {
            let (start, end) = glued.span((start, end));
            &original[start..end]
        };
        assert_eq!(span(0, 2), "ab");
        assert_eq!(span(1, 3), "b\nc");
        assert_eq!(span(2, 4), "cd");
        assert_eq!(span(0, 6), original);
        assert_eq!(span(4, 6), "ef");
    }
}
