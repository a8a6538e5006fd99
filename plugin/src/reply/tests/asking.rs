//! Refusals of what an operator can approve: the provider's own shapes with another code and message, and the approval id where there is room for it.

use super::*;

const ID: &str = "0123456789abcdef0123456789abcdef-89abcdef";
const HELD: &str = "Request held back by the gateway's policy: rule role_confusion.x";
const PENDING: &str =
    "An operator has to approve it (approval 0123456789abcdef0123456789abcdef-89abcdef); then send the same again. Event ev-1.";

fn asking(format: Format, style: Style, asked: Asked) -> Case {
    Case { approval: Some(Approval::Pending(ID)), ..Case::new(format, style, asked) }
}

fn held(format: Format) -> String {
    match shapes::shape(format).list {
        "" => format!("{HELD}. {PENDING}"),
        list => format!("{HELD} at {list}[1]. {PENDING}"),
    }
}

/// What a blocked request is answered with, told as one that can be approved.
fn as_asked(blocked: &Value, format: Format) -> Value {
    let text = blocked.to_string().replace(&message_of(format), &held(format));
    let mut value: Value =
        text.replace("floodmark_blocked", "floodmark_ask").replace("FLOODMARK_BLOCKED", "FLOODMARK_ASK").parse().expect("JSON");
    let pointers = ["/error/details/0/metadata", "/error/data", "/error/data/0/metadata"];
    for pointer in pointers.into_iter().filter(|_| format.is_json_rpc() || format == Format::Gemini) {
        if let Some(Value::Object(data)) = value.pointer_mut(pointer) {
            data.insert("approval".to_owned(), ID.into());
        }
    }
    if let Some(Value::Object(meta)) = value.pointer_mut("/result/_meta") {
        meta.insert("floodmark.dev/approval".to_owned(), ID.into());
    }
    value
}

#[test]
fn every_format_says_so_in_its_own_shape() {
    for format in Format::KNOWN.into_iter().chain([Format::Unknown]) {
        for (style, asked) in [(Style::Error, Asked::Whole), (Style::Error, Asked::Stream), (Style::Refusal, Asked::Whole)] {
            let (case, blocked) = (asking(format, style, asked), Case::new(format, style, asked));
            assert_eq!(case.json(), as_asked(&blocked.json(), format), "{} {style:?}", format.name());
            let (reply, as_blocked) = (case.refusal(), blocked.refusal());
            assert_eq!(reply.status, as_blocked.status);
            assert_eq!((header(&reply, VERDICT_HEADER), header(&reply, APPROVAL_HEADER)), (Some("ask"), Some(ID)));
            assert_eq!((reply.details.as_str(), header(&as_blocked, APPROVAL_HEADER)), ("floodmark_ask{role_confusion.x}", None));
        }
        assert!(case_text(&asking(format, Style::Refusal, Asked::Stream)).contains(PENDING), "{}", format.name());
    }
}

fn case_text(case: &Case) -> String {
    String::from_utf8_lossy(&case.refusal().body).into_owned()
}

#[test]
fn what_was_denied_and_what_cannot_be_approved_say_so() {
    let of = |approval| Case { approval: Some(approval), ..Case::new(Format::OpenAiChat, Style::Error, Asked::Whole) };
    let denied = of(Approval::Denied(ID));
    let message = format!("{HELD} at messages[1]. An operator denied it (approval {ID}). Event ev-1.");
    assert_eq!(
        (denied.json()["error"]["message"].as_str(), header(&denied.refusal(), APPROVAL_HEADER)),
        (Some(message.as_str()), Some(ID))
    );
    let none = of(Approval::Impossible);
    let message =
        format!("{HELD} at messages[1]. An operator would have to approve it, but the gateway cannot keep approvals now. Event ev-1.");
    assert_eq!((none.json()["error"]["message"].as_str(), header(&none.refusal(), APPROVAL_HEADER)), (Some(message.as_str()), None));
    assert_eq!(none.json()["error"]["code"], "floodmark_ask");
    let odd = Case { rule: "run.rewritten", ..of(Approval::Pending(ID)) };
    let message = odd.json()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.ends_with(&format!(". {PENDING}")) && !message.contains("  "), "{message}");
}

/// A notification cannot be answered, whatever is to be said.
#[test]
fn notifications_are_accepted_and_the_header_tells() {
    let case = Case { rpc: Rpc { spoken: true, ..Rpc::default() }, ..asking(Format::Mcp, Style::Error, Asked::Whole) };
    let reply = case.refusal();
    assert_eq!((reply.status, reply.body.len(), header(&reply, APPROVAL_HEADER)), (202, 0, Some(ID)));
}
