//! What each fuzz target begins with: the cases of testdata/, behind the bytes by which the target chooses what to do with the rest.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use floodmark_core::wire::{Format, Framing, write_frame};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::paths;

/// A case of testdata/wire, as far as it matters here.
#[derive(Deserialize)]
struct Case {
    body: Option<Box<RawValue>>,
    body_text: Option<String>,
    body_hex: Option<String>,
    content_encoding: Option<String>,
}

/// A file of testdata/frames.
#[derive(Deserialize)]
struct Frames {
    cases: Vec<FramesCase>,
}

#[derive(Deserialize)]
struct FramesCase {
    stream_hex: String,
}

/// The lengths of pieces that a stream comes in, with their number before them.
const PIECES: [u8; 5] = [4, 1, 7, 30, 200];
/// Behind all formats in the list of the targets: none.
const NO_FORMAT: u8 = Format::KNOWN.len() as u8;

/// Writes the seeds of one target into `folder`.
pub fn write(target: &str, folder: &Path) -> Result<()> {
    let mut number = 0;
    let mut seed = |parts: &[&[u8]]| {
        number += 1;
        fs::write(folder.join(format!("{number:04}")), parts.concat())
    };
    if target == "config" {
        // The examples in the manual.
        let manual = fs::read_to_string(paths::root().join("docs/config.md"))?;
        for block in manual.split("```json\n").skip(1) {
            seed(&[block.split("```").next().unwrap_or_default().as_bytes()])?;
        }
    }
    for path in cases(&paths::root().join("testdata/wire"))? {
        let case: Case = serde_json::from_slice(&fs::read(&path)?).with_context(|| format!("{}", path.display()))?;
        let Some(body) = case.bytes() else { continue };
        let packed = case
            .content_encoding
            .as_deref()
            .and_then(|coding| ["gzip", "deflate", "deflate, gzip", "gzip, gzip"].iter().position(|known| *known == coding));
        let text = std::str::from_utf8(&body).ok().filter(|_| case.content_encoding.is_none());
        let frame = |framing| text.map(|text| write_frame(framing, Some("message"), text)).unwrap_or_default();
        match target {
            "codings" => seed(&[&[packed.unwrap_or(0) as u8], &body])?,
            "json" if packed.is_none() => seed(&[&body])?,
            "body" if packed.is_none() => seed(&[&[NO_FORMAT], &body])?,
            "judge" if packed.is_none() => seed(&[&[1, NO_FORMAT], &body])?,
            "sse" => seed(&[&[0], &PIECES, &frame(Framing::Sse)])?,
            "json_lines" => seed(&[&[0], &PIECES, &frame(Framing::JsonLines)])?,
            "aws" => seed(&[&[0], &PIECES, &frame(Framing::AwsEventStream)])?,
            "streamed" => {
                for (index, framing) in [Framing::Sse, Framing::JsonLines, Framing::AwsEventStream].into_iter().enumerate() {
                    seed(&[&[index as u8, NO_FORMAT], &PIECES, &frame(framing)])?;
                }
            }
            _ => {}
        }
    }
    let frames: Frames = serde_json::from_slice(&fs::read(paths::root().join("testdata/frames/aws.json"))?)?;
    for case in &frames.cases {
        match target {
            "aws" => seed(&[&[0], &PIECES, &bytes(&case.stream_hex)])?,
            "streamed" => seed(&[&[2, NO_FORMAT], &PIECES, &bytes(&case.stream_hex)])?,
            _ => {}
        }
    }
    Ok(())
}

fn cases(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort_unstable();
    Ok(found)
}

impl Case {
    fn bytes(&self) -> Option<Vec<u8>> {
        let json = self.body.as_ref().map(|json| json.get().as_bytes().to_vec());
        json.or_else(|| self.body_text.as_ref().map(|text| text.as_bytes().to_vec())).or_else(|| self.body_hex.as_deref().map(bytes))
    }
}

/// The bytes that hex digits spell; those of testdata/ are held by tests.
fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..hex.len()).step_by(2).map_while(digit).collect()
}
