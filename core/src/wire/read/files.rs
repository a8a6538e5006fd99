//! Files and media in a body: text files are decoded and read, images, audio and video are not.

use alloc::borrow::Cow;
use alloc::string::String;

use super::{Walk, walk_nest};
use crate::text::base64_file;
use crate::wire::document::RECORD_BORDER;
use crate::wire::draft::{Draft, Joined};
use crate::wire::issue::IssueKind;
use crate::wire::json::{Text, Token};

/// Media types that are no `text/…` and yet text, and the names that Bedrock has for text files.
const TEXTUAL: [&str; 10] = ["json", "xml", "yaml", "yml", "javascript", "txt", "md", "html", "csv", "toml"];

impl<'b> Walk<'b> {
    /// A file's bytes. They are kept until it is known what they are.
    pub(super) fn data(&mut self, draft: &mut Draft<'b>) -> Option<()> {
        match self.reader.token()? {
            Token::Text(text) => {
                self.settle(draft);
                draft.data = Some(text);
                Some(())
            }
            Token::Open(_) => walk_nest(&mut self.reader, &mut draft.own),
            _ => Some(()),
        }
    }

    /// Image, audio or video data: what cannot be a phrase is not scanned.
    pub(super) fn media(&mut self, into: &mut Joined<'b>) -> Option<()> {
        let skipped = &mut false;
        let read = self.reader.each_string(|text, issues| match text.is_one_word() {
            true => *skipped |= text.value_place().is_some(),
            false => into.record(text, issues),
        });
        if *skipped {
            self.reader.note(IssueKind::MediaSkipped);
        }
        read
    }

    /// Bytes whose part does not say what they are may be told by the object around it.
    pub(super) fn pass_on_data(&mut self, part: &mut Draft<'b>, around: &mut Draft<'b>) {
        if part.data.is_some() && part.media_type.is_none() && part.kind.is_none() {
            self.settle(around);
            around.data = part.data.take();
        }
        self.settle(part);
    }

    /// Reads the bytes of a file, now that all is known of them.
    pub(super) fn settle(&mut self, draft: &mut Draft<'b>) {
        let Some(data) = draft.data.take() else { return };
        let literal = matches!(draft.kind.as_deref(), Some("text" | "program_output"));
        match text_file(data, draft.media_type.as_deref()) {
            Some(text) if !literal => draft.own.part_of(Cow::Owned(text)),
            None if !literal && data.is_one_word() => self.reader.issues.push(IssueKind::MediaSkipped, data.at),
            _ => draft.own.part(data, &mut self.reader.issues),
        }
    }
}

/// The text of a file that is one; `None` when it is none, or not in base64.
fn text_file(data: Text<'_>, media_type: Option<&str>) -> Option<String> {
    let value = data.raw();
    let (media_type, payload) = match value.strip_prefix("data:").and_then(|url| url.split_once(',')) {
        Some((said, payload)) => (said.strip_suffix(";base64")?, payload),
        None => (media_type?, value),
    };
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let textual = name.starts_with("text/") || TEXTUAL.iter().any(|end| name.rsplit(['/', '+']).next() == Some(end));
    let bytes = textual.then(|| base64_file(payload)).flatten()?;
    // U+001F keeps records apart, which a text must not forge.
    Some(String::from_utf8_lossy(&bytes).replace(RECORD_BORDER, " "))
}
