//! Redaction: the text of offending turns gives way to a notice of the same length, so that nothing else of the body moves.

use alloc::vec::Vec;

use crate::judge::{Hint, Judge, Judgement};
use crate::limits::MAX_REDACTIONS;
use crate::verdict::Verdict;
use crate::wire::RawString;

/// What stands in place of a text, the longest that fits. Never nothing: providers refuse an empty text.
const NOTICES: [&str; 3] = ["[removed by the gateway's policy]", "[removed]", "-"];

impl Judge<'_> {
    /// `body` without the text that `judgement`, which is this judge's on the same bytes, was `block` for. It is as long as before, and judged
    /// again: `None` when it would not pass all the same, or when it cannot be said where the text stands.
    pub fn redact(&self, body: &[u8], judgement: &Judgement<'_>, hint: Hint) -> Option<Vec<u8>> {
        let mut redacted = body.to_vec();
        replace(&mut redacted, &judgement.offending_strings)?;
        for _ in 1..MAX_REDACTIONS {
            let again = self.judge(&redacted, hint);
            if again.verdict < Verdict::Ask {
                return Some(redacted);
            }
            // Turns of score 0 can make others rise that did not before.
            replace(&mut redacted, &again.offending_strings)?;
        }
        (self.judge(&redacted, hint).verdict < Verdict::Ask).then_some(redacted)
    }
}

/// Puts a notice in the place of each string, with JSON white space behind it; an empty string stays. `None` when there is nothing to replace, or
/// a place holds no string.
fn replace(body: &mut [u8], strings: &[RawString]) -> Option<()> {
    for string in strings {
        let place = body.get_mut(string.start as usize..string.end as usize)?;
        let [b'"', text @ .., b'"'] = place else { return None };
        let Some(notice) = NOTICES.iter().find(|notice| notice.len() <= text.len()) else { continue };
        let spelled = [b"\"", notice.as_bytes(), b"\""].concat();
        place.fill(b' ');
        place.get_mut(..spelled.len())?.copy_from_slice(&spelled);
    }
    (!strings.is_empty()).then_some(())
}
