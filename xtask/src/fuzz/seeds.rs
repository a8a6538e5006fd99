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

/// The file testdata/lineage/vectors.json, as far as it matters here.
#[derive(Deserialize)]
struct Lineage {
    valid: Vec<Sealed>,
    invalid: Vec<Sealed>,
}

#[derive(Deserialize)]
struct Sealed {
    kind: String,
    sealed: String,
}

/// The lengths of pieces that a stream comes in, with their number before them.
const PIECES: [u8; 5] = [4, 1, 7, 30, 200];
/// Behind all formats in the list of the targets: none.
const NO_FORMAT: u8 = Format::KNOWN.len() as u8;
/// Framings as the targets number them.
const FRAMINGS: [Framing; 3] = [Framing::Sse, Framing::JsonLines, Framing::AwsEventStream];
/// Kinds of sealed things as their target numbers them.
const KINDS: [&str; 4] = ["record", "grant", "release", "head"];
/// Codings as their target numbers them.
const CODINGS: [&str; 4] = ["gzip", "deflate", "deflate, gzip", "gzip, gzip"];

/// Writes the seeds of one target into `folder`.
pub fn write(target: &str, folder: &Path) -> Result<()> {
    let mut number = 0;
    let mut seed = |start: &[u8], rest: &[u8]| {
        number += 1;
        fs::write(folder.join(format!("{number:04}")), [start, rest].concat())
    };
    match target {
        "config" => {
            // The examples in the manual.
            let manual = fs::read_to_string(paths::root().join("docs/config.md"))?;
            for block in manual.split("```json\n").skip(1) {
                seed(&[], block.split("```").next().unwrap_or_default().as_bytes())?;
            }
        }
        "lineage" => {
            let vectors = fs::read(paths::root().join("testdata/lineage/vectors.json"))?;
            let Lineage { valid, invalid } = serde_json::from_slice(&vectors)?;
            for Sealed { kind, sealed } in valid.iter().chain(&invalid) {
                let kind = KINDS.iter().position(|known| known == kind).unwrap_or_default() as u8;
                seed(&[kind], &unhex(sealed))?;
            }
        }
        "json" | "body" | "judge" | "run" | "codings" => {
            for Body { bytes, coding } in bodies()? {
                match target {
                    "json" => seed(&[], &bytes)?,
                    "body" => [0, 1].iter().try_for_each(|direction| seed(&[NO_FORMAT, *direction], &bytes))?,
                    "judge" => [0, 1].iter().try_for_each(|direction| seed(&[1, NO_FORMAT, *direction], &bytes))?,
                    "run" => [0, 1].iter().try_for_each(|history| seed(&[NO_FORMAT, 0, *history, 3, 9, 9, 0, 0], &bytes))?,
                    _ => seed(&[coding.unwrap_or_default()], &bytes)?,
                }
            }
        }
        _ => {
            for (framing, stream) in streams()? {
                let framing = FRAMINGS.iter().position(|known| *known == framing).unwrap_or_default() as u8;
                match target {
                    "streamed" => seed(&[&[framing, NO_FORMAT, 1], &PIECES[..]].concat(), &stream)?,
                    _ => seed(&[&[0], &PIECES[..]].concat(), &stream)?,
                }
            }
        }
    }
    Ok(())
}

/// A body of testdata/wire, and the number of its coding.
struct Body {
    bytes: Vec<u8>,
    coding: Option<u8>,
}

fn bodies() -> Result<Vec<Body>> {
    let mut bodies = Vec::new();
    for path in files(&paths::root().join("testdata/wire"))? {
        let case: Case = serde_json::from_slice(&fs::read(&path)?).with_context(|| format!("{}", path.display()))?;
        let json = case.body.map(|json| json.get().as_bytes().to_vec());
        let bytes = json.or(case.body_text.map(String::into_bytes)).or(case.body_hex.as_deref().map(unhex));
        let coding = CODINGS.iter().position(|known| case.content_encoding.as_deref() == Some(known));
        bodies.extend(bytes.map(|bytes| Body { bytes, coding: coding.map(|coding| coding as u8) }));
    }
    Ok(bodies)
}

/// The streams of testdata/, and the bodies as streams of one message.
fn streams() -> Result<Vec<(Framing, Vec<u8>)>> {
    let mut streams = Vec::new();
    for path in files(&paths::root().join("testdata/streams"))? {
        let framing = if path.extension().is_some_and(|extension| extension == "sse") { Framing::Sse } else { Framing::JsonLines };
        streams.push((framing, fs::read(&path)?));
    }
    let frames: Frames = serde_json::from_slice(&fs::read(paths::root().join("testdata/frames/aws.json"))?)?;
    streams.extend(frames.cases.iter().map(|case| (Framing::AwsEventStream, unhex(&case.stream_hex))));
    for Body { bytes, coding } in bodies()? {
        if let (Ok(text), None) = (std::str::from_utf8(&bytes), coding) {
            streams.extend(FRAMINGS.map(|framing| (framing, write_frame(framing, Some("message"), text))));
        }
    }
    Ok(streams)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
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

/// The bytes that hex digits spell; those of testdata/ are held by tests.
fn unhex(hex: &str) -> Vec<u8> {
    let digit = |at| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..hex.len()).step_by(2).map_while(digit).collect()
}
