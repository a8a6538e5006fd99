//! Files and media in a body: text files are decoded and read, images, audio and video are not.

use alloc::borrow::Cow;
use alloc::string::String;

use super::{Walk, walk_nest};
use crate::text::base64_file;
use crate::wire::document::RECORD_BORDER;
use crate::wire::draft::{Draft, Joined};
use crate::wire::issue::{IssueKind, Issues};
use crate::wire::json::Token;

/// Media types that are no `text/…` and yet text, and the names that Bedrock has for text files.
const TEXTUAL: [&str; 10] = ["json", "xml", "yaml", "yml", "javascript", "txt", "md", "html", "csv", "toml"];

/// What Bedrock and OpenAI call images, sound and films.
const MEDIA: [&str; 21] = [
    "png", "jpeg", "jpg", "gif", "webp", "wav", "mp3", "flac", "ogg", "opus", "aac", "m4a", "pcm16", "mp4", "mov", "mkv", "webm", "mpeg",
    "mpg", "wmv", "flv",
];

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
        let value = data.decode(&mut Issues::default());
        match file(&value, draft.media_type.as_deref()) {
            File::Text(text) if !literal => draft.own.part_of(Cow::Owned(text)),
            File::Media if !literal => self.reader.issues.push(IssueKind::MediaSkipped, data.at),
            _ => draft.own.part(data, &mut self.reader.issues),
        }
    }
}

/// What the bytes of a file are.
enum File {
    /// Text, decoded.
    Text(String),
    /// Base64 of something else.
    Media,
    /// No base64: text as it stands.
    Plain,
}

fn file(value: &str, media_type: Option<&str>) -> File {
    let url = value.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).and_then(|_| value.get(5..)?.split_once(','));
    let (said, payload) = match url {
        Some((said, payload)) => (said.to_ascii_lowercase(), payload),
        None => (media_type.unwrap_or_default().to_ascii_lowercase() + ";base64", value),
    };
    let Some(name) = said.strip_suffix(";base64") else { return File::Plain };
    let Some(bytes) = base64_file(payload) else { return File::Plain };
    let name = name.split(';').next().unwrap_or_default().trim();
    if ["image/", "audio/", "video/"].iter().any(|kind| name.starts_with(kind)) || MEDIA.contains(&name) {
        return File::Media;
    }
    let textual = name.starts_with("text/") || TEXTUAL.iter().any(|end| name.rsplit(['/', '+']).next() == Some(end));
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(odd) if textual => String::from_utf8_lossy(odd.as_bytes()).into_owned(),
        Err(_) => return File::Media,
    };
    // What it is, is seen by what stands in it: labels are many, and may be wrong.
    let control = |letter: char| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}');
    if !textual && text.contains(control) {
        return File::Media;
    }
    // U+001F keeps records apart, which a text must not forge.
    File::Text(text.replace(RECORD_BORDER, " "))
}
