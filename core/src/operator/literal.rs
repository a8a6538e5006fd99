//! The literal that every match of a pattern must hold, read off the pattern's own spelling.

use alloc::format;
use alloc::string::String;

use crate::limits::MIN_OPERATOR_LITERAL_BYTES;

const ANCHOR: &str = "a pattern looks at a piece of a text, which has no begin and end of its own: leave out `^`, `$`, `\\A` and `\\z`";
const GROUP: &str = "groups with a name or flags are not taken; use `(...)` or `(?:...)`: the case of letters does not count anyway";
const ESCAPE: &str = "`\\x`, `\\u` and `\\U` are not taken; write the character itself";
const BRACKETS: &str =
    "brackets within brackets, such as `[[:digit:]]`, are not taken; write the characters, for example `[0-9]`, or `\\[` for a bracket";
const ALTERNATIVES: &str = "it consists of alternatives, so no literal stands in every match; give each a pattern of its own, or put them into a group beside a word";

/// The longest run of plain characters that stands in every match: outside groups, brackets and repetitions, without white space. ASCII letters in
/// lower case. `pattern` must be well formed.
#[cold]
#[inline(never)]
pub(super) fn required(pattern: &str) -> Result<String, String> {
    let mut runs = Runs::default();
    let mut depth = 0_usize;
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('A' | 'z') => return Err(ANCHOR.into()),
                // Borders of words, as `\b` is.
                Some('<' | '>') => runs.end(),
                Some('x' | 'u' | 'U') => return Err(ESCAPE.into()),
                Some(escaped) if !escaped.is_ascii_alphanumeric() => runs.push(depth, escaped),
                _ => runs.end(),
            },
            '[' => {
                runs.end();
                skip_brackets(&mut letters)?;
            }
            '(' => {
                runs.end();
                depth += 1;
                if letters.next_if_eq(&'?').is_some() && letters.next() != Some(':') {
                    return Err(GROUP.into());
                }
            }
            ')' => {
                runs.end();
                depth = depth.saturating_sub(1);
            }
            '{' => {
                runs.drop_last();
                letters.by_ref().find(|&letter| letter == '}');
            }
            '*' | '?' => runs.drop_last(),
            '+' | '.' => runs.end(),
            '^' | '$' => return Err(ANCHOR.into()),
            '|' if depth == 0 => return Err(ALTERNATIVES.into()),
            _ if letter.is_whitespace() || letter == '|' => runs.end(),
            _ => runs.push(depth, letter),
        }
    }
    runs.end();
    if runs.longest.len() < MIN_OPERATOR_LITERAL_BYTES {
        return Err(format!(
            "no literal stands in every match; put at least {MIN_OPERATOR_LITERAL_BYTES} characters next to each other, outside groups, brackets and \
             repetitions and without a space"
        ));
    }
    Ok(runs.longest)
}

#[derive(Default)]
struct Runs {
    run: String,
    longest: String,
}

impl Runs {
    /// Takes a character that stands for itself; inside a group it need not stand in every match.
    fn push(&mut self, depth: usize, letter: char) {
        if depth > 0 || letter.is_whitespace() {
            self.end();
        } else {
            self.run.push(letter.to_ascii_lowercase());
        }
    }

    /// What was read last is repeated, perhaps no time at all.
    fn drop_last(&mut self) {
        self.run.pop();
        self.end();
    }

    fn end(&mut self) {
        if self.run.len() > self.longest.len() {
            self.longest.clone_from(&self.run);
        }
        self.run.clear();
    }
}

/// Goes behind the bracket that closes a class. A bracket that stands first in it is one of its characters.
fn skip_brackets(letters: &mut core::iter::Peekable<core::str::Chars<'_>>) -> Result<(), String> {
    let _ = letters.next_if_eq(&'^');
    let _ = letters.next_if_eq(&']');
    while let Some(letter) = letters.next() {
        match letter {
            ']' => break,
            '[' => return Err(BRACKETS.into()),
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_outside_of_what_may_be_missing() {
        for (pattern, literal) in [
            ("bluebird", "bluebird"),
            ("Project Bluebird", "bluebird"),
            (r"acme-\d{4}", "acme-"),
            ("(project|code) bluebird", "bluebird"),
            ("blue(bird)?house", "house"),
            ("colou?rfully", "rfully"),
            ("abcd*efg", "abc"),
            ("abcd+efgh", "abcd"),
            ("abcd{0,3}efg", "abc"),
            ("abcx??defg", "defg"),
            (r"a\.b\.c", "a.b.c"),
            (r"wordy\b{start}ab", "wordy"),
            ("[]x]long[^]]er", "long"),
            (r"[\]abc]def", "def"),
            ("(?:abcd(efgh|ijkl))mno", "mno"),
            (r"internal\ only", "internal"),
            (r"\<bluebird\>", "bluebird"),
            ("größe", "größe"),
        ] {
            assert_eq!(required(pattern).as_deref(), Ok(literal), "{pattern}");
        }
    }

    #[test]
    fn patterns_without_one_are_refused_with_what_to_do() {
        for (pattern, word) in [
            ("", "at least 3 characters"),
            ("a*", "at least 3 characters"),
            ("(abc)", "at least 3 characters"),
            ("(abc)?", "at least 3 characters"),
            ("ab.cd.ef", "at least 3 characters"),
            ("abc|def", "alternatives"),
            ("^abc", "no begin and end"),
            ("abc$", "no begin and end"),
            (r"\Aabc", "no begin and end"),
            (r"(x|\z)abc", "no begin and end"),
            ("(?i)abc", "flags"),
            ("(?P<n>x)abc", "flags"),
            ("[[:digit:]]zebra", "`[0-9]`"),
            ("[^[:space:]]giraffe", "brackets within brackets"),
            (r"\x41bc", "the character itself"),
            (r"\u{41}bc", "the character itself"),
        ] {
            let problem = required(pattern).expect_err(pattern);
            assert!(problem.contains(word), "{pattern}: {problem}");
        }
    }
}
