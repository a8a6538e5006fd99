//! The scan with a few phrases of its own; the shipped lists are held to their lines by `cargo xtask gen` and tested in `tables/tests/instructions.rs`.

use super::*;

const PHRASES: [Phrase<'static>; 24] = [
    Phrase { words: "agents", roles: role::PARTY },
    Phrase { words: "all", roles: role::OBJECT | role::DETERMINER },
    Phrase { words: "be", roles: role::BE },
    Phrase { words: "best to", roles: role::OPENS },
    Phrase { words: "cash", roles: role::GOODS },
    Phrase { words: "do not", roles: role::REQUEST_AT_START },
    Phrase { words: "email", roles: role::NOUN_OR_VERB | role::MOVES },
    Phrase { words: "every", roles: role::CONDITION | role::OBJECT | role::UNIVERSAL },
    Phrase { words: "i want", roles: role::WISH },
    Phrase { words: "is", roles: role::PREDICATE },
    Phrase { words: "monday", roles: role::TIME },
    Phrase { words: "must", roles: role::DUTY },
    Phrase { words: "never", roles: role::LEAD },
    Phrase { words: "of", roles: role::FINITE },
    Phrase { words: "please", roles: role::REQUEST },
    Phrase { words: "print", roles: role::NOUN_OR_VERB },
    Phrase { words: "rule", roles: role::KEY },
    Phrase { words: "send", roles: role::VERB },
    Phrase { words: "send off", roles: role::PLAIN },
    Phrase { words: "senden", roles: role::LAST },
    Phrase { words: "sent", roles: role::DONE },
    Phrase { words: "staff", roles: role::STAFF },
    Phrase { words: "task", roles: role::ACTION },
    Phrase { words: "to", roles: role::TARGET },
];

fn find(text: &str) -> Option<Likeness> {
    Wording { phrases: &PHRASES }.find(text)
}

#[test]
fn a_command_is_one_where_a_clause_begins() {
    for text in [
        "send it",
        "SEND it",
        "Fine. Send it",
        "Fine.Send it",
        "Fine: send it",
        "a\nsend it",
        "- send it",
        "12. send it",
        "2) send it",
        "{\"text\":\"send it\"}",
        "one\\nsend it",
        "said 'fine': 'send it'",
        "Never send it",
        "Dear friend, send it",
        "email every friend",
        "email $5",
        "email me@b.example",
        "email b.example",
        "email ~/it",
        "email-every friend",
        "send-every friend",
    ] {
        assert_eq!(find(text), Some(Likeness::Imperative), "{text}");
    }
    for text in [
        "",
        "they send it",
        "sender of it",
        "resend it",
        "half-send it",
        "send is a verb",
        "send-off is a noun",
        "email-off every day",
        "{\"send\": 1}",
        "[\"send\", \"go\"]",
        "email address",
        "email, every day",
        "to go on and on and to see, send it",
        "they 'send it'",
        "please-d",
    ] {
        let expected = text.starts_with("please").then_some(Likeness::Request);
        assert_eq!(find(text), expected, "{text}");
    }
}

#[test]
fn a_condition_ends_in_a_time_or_a_comma() {
    for text in ["every Monday send it", "every 5 send it", "every one of the many friends of ours, send it", "every Monday, send it"] {
        assert_eq!(find(text), Some(Likeness::Schedule), "{text}");
    }
    for text in ["every Monday they send it", "they go every Monday send-off or not", "every friend sent it"] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn a_duty_is_one_of_whom_instructions_are_for_or_a_passive() {
    for text in [
        "agents must go",
        "of all the agents in\nthis house some must go",
        "every friend must go",
        "it must at once be sent",
        "the rule: go",
        "my_rule : go",
    ] {
        assert_eq!(find(text), Some(Likeness::Obligation), "{text}");
    }
    for text in [
        "it must go",
        "agents go. It must go",
        "agents go\n\nit must go",
        "my every friend must go",
        "it must be",
        "it must be said that it was sent",
        "it must have a good and long reason to be sent",
        "sent must be",
        "rule of thumb: go",
        "a word that is long and far: go",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn what_follows_makes_a_command_of_a_noun() {
    for text in [
        "email 9 to bob",
        "email it now to bob",
        "email bob@c.example notes to bob",
        "email bob all notes",
        "email bob's notes",
        "email cash",
        "email 900 cash.",
        "print cash to bob",
        "print bob's notes",
        "go 2) send it",
        "go * send it",
        "go / send it",
        "go & send it",
        "go `send it",
        "go #send it",
        "go _send it",
        "_send_ it",
        "send_every one",
        "task: send it",
        "{\"task\" : \"send\"}",
        "{\"task\":\"email\"}",
        "notes now senden",
        "notes now senden. go",
        "it were best to send it",
        "staff must send it",
    ] {
        assert_eq!(find(text), Some(Likeness::Imperative), "{text}");
    }
    assert_eq!(find("i want it at once sent"), Some(Likeness::Obligation));
    for text in [
        "email 9.5",
        "email to bob",
        "email 9 to",
        "email to bob is late",
        "email 9 to bob is late",
        "email of bob to bob",
        "email one two three four five six seven to bob",
        "email bob. to bob",
        "email cash is late",
        "email cash flow",
        "print 9 to bob",
        "print bob all notes",
        "send price is high",
        "send of it",
        "send off it",
        "send_it_on",
        "go(2) sends",
        "go 2024) send",
        "go`send` it",
        "use `send` for it",
        "{\"title\":\"send\"}",
        "{\"task\":\"sender\"}",
        "{\"task\":1,\"title\":\"send\"}",
        "senden",
        "it is bob's to senden",
        "notes senden now",
        "staff must go",
        "staff send it",
        "i want it",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
    // A verb that is rarely a noun is one only if it is said so at once.
    for text in ["send price", "send all that is here", "send to bob what is his", "send one two three that is", "send 9 of it"] {
        assert_eq!(find(text), Some(Likeness::Imperative), "{text}");
    }
}

#[test]
fn the_longest_phrase_counts() {
    assert_eq!(find("do not go"), Some(Likeness::Request));
    assert_eq!(find("do-not go"), Some(Likeness::Request));
    assert_eq!(find("do. not go"), None);
    assert_eq!(find("do notice"), None);
    assert_eq!(find("do"), None);
}

proptest::proptest! {
    /// No text makes it panic, and what is in front of a new paragraph changes nothing of what is found behind it.
    #[test]
    fn a_paragraph_is_read_alone(before in "[a-z ,.:'\"\n-]{0,40}", text in "(send|email|every|monday|must|be|sent|agents|rule|go|,|:|\\.|-|\"| |\n){0,12}") {
        let alone = find(&text);
        let both = find(&alloc::format!("{before}\n\n{text}"));
        if find(&alloc::format!("{before}\n\n")).is_none() {
            proptest::prop_assert_eq!(both, alone);
        }
    }
}
