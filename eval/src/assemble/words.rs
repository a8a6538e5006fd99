//! What the assistant says in assembled conversations: our own neutral words, that no pattern looks for.

use crate::stats::Chance;

/// Answers between turns.
const ANSWERS: [&str; 12] = [
    "Sure, I can help with that.",
    "Thanks for the details. What else do you need?",
    "All right, here is a short summary of what I found.",
    "Okay. Let me know how you would like to go on.",
    "I see. Is there anything you would like me to add?",
    "Done. Tell me if something is missing.",
    "That makes sense. Shall we look at the next part?",
    "Here is a first version; we can change it together.",
    "Got it. Would you like more detail on any of this?",
    "Of course. Give me a moment to look at it.",
    "Good question. In short, it depends on what you prefer.",
    "I have noted that. What comes next?",
];
/// Tools that texts come from, with the arguments of the call.
const CALLS: [(&str, &str); 6] = [
    ("read_file", r#"{"path":"notes.txt"}"#),
    ("fetch_page", r#"{"page":"overview"}"#),
    ("open_mail", r#"{"folder":"inbox","number":"3"}"#),
    ("open_table", r#"{"name":"prices"}"#),
    ("read_document", r#"{"name":"report"}"#),
    ("open_calendar", r#"{"day":"monday"}"#),
];

/// An answer.
pub fn answer(chance: &mut Chance) -> &'static str {
    ANSWERS[chance.below(ANSWERS.len())]
}

/// A tool and its arguments.
pub fn call(chance: &mut Chance) -> (&'static str, &'static str) {
    CALLS[chance.below(CALLS.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Scorer;
    use floodmark_core::{Hint, Judge, Policy};
    use floodmark_tables::{DETECTOR, TABLES};

    /// They must not decide anything: no pattern is met, and no call scores above the drift.
    #[test]
    fn our_own_words_are_harmless() {
        let judge = Judge::new(&Policy::default(), &TABLES).unwrap();
        let mut scorer = Scorer::new(&DETECTOR);
        for text in ANSWERS {
            let body = crate::requests::alone(text, crate::data::Channel::User);
            assert!(judge.judge(&body, Hint::default()).reasons.is_empty(), "{text}");
        }
        for (tool, arguments) in CALLS {
            let values: serde_json::Map<String, serde_json::Value> = serde_json::from_str(arguments).unwrap();
            let strings = values.iter().flat_map(|(key, value)| [key.clone(), value.as_str().unwrap().to_owned()]);
            let text = std::iter::once(tool.to_owned()).chain(strings).collect::<Vec<_>>().join("\u{1f}");
            assert!(scorer.score(&text) < DETECTOR.levels.drift, "{text}: {}", scorer.score(&text));
        }
    }
}
