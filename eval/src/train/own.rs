//! Our own texts to train on: frames with slots, filled in by chance, from `rules/detector/texts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

use crate::stats::Chance;

/// A slot's value may hold slots itself; deeper is taken for a circle.
const DEEPEST: u32 = 3;

/// A text of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// `file/family`.
    pub family: String,
    /// Whether it is an attack.
    pub attack: bool,
    /// The text.
    pub text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    label: Label,
    #[serde(default)]
    slots: BTreeMap<String, Vec<String>>,
    family: Vec<Family>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    Attack,
    Benign,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    /// Where such texts come in, for readers.
    #[serde(rename = "channel")]
    _channel: String,
    /// What is hard about them, for readers.
    #[serde(rename = "about")]
    _about: String,
    frames: Vec<String>,
}

/// All texts of the folder, each frame that has slots filled in `fillings` times, in the order of the files.
///
/// # Errors
/// When a file cannot be read or is none of ours, a slot has no value, or slots stand in each other in a circle.
pub fn read(folder: &Path, fillings: usize, seed: u64) -> anyhow::Result<Vec<Own>> {
    let mut chance = Chance::new(seed);
    let mut texts = Vec::new();
    for path in paths(folder)? {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let found = expand(&text, &stem, fillings, &mut chance);
        texts.extend(found.with_context(|| format!("in {}", path.display()))?);
    }
    Ok(texts)
}

/// The files of the folder, in their order.
///
/// # Errors
/// When it cannot be read.
pub fn paths(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for side in ["attack", "benign"] {
        let side = folder.join(side);
        let entries = std::fs::read_dir(&side).with_context(|| format!("cannot read the folder {}", side.display()))?;
        for entry in entries {
            paths.push(entry?.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn expand(text: &str, stem: &str, fillings: usize, chance: &mut Chance) -> anyhow::Result<Vec<Own>> {
    let File { label, slots, family: families } = toml::from_str(text)?;
    ensure!(slots.values().all(|values| !values.is_empty()), "a slot has no value");
    let mut texts = Vec::new();
    for Family { name, frames, .. } in families {
        for frame in frames {
            let times = if holds_slot(&frame, &slots) { fillings } else { 1 };
            for _ in 0..times {
                let mut text = String::new();
                fill(&frame, &slots, 0, chance, &mut text).with_context(|| format!("family {name}"))?;
                texts.push(Own { family: format!("{stem}/{name}"), attack: label == Label::Attack, text });
            }
        }
    }
    Ok(texts)
}

fn holds_slot(frame: &str, slots: &BTreeMap<String, Vec<String>>) -> bool {
    slots.keys().any(|name| frame.contains(&format!("{{{name}}}")))
}

/// Writes `frame` with its slots filled in. Braces around anything but a slot's name stand for themselves, and two for one.
fn fill(frame: &str, slots: &BTreeMap<String, Vec<String>>, depth: u32, chance: &mut Chance, out: &mut String) -> anyhow::Result<()> {
    if depth > DEEPEST {
        bail!("slots in slots more than {DEEPEST} deep at {frame:?}");
    }
    let mut rest = frame;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let brace = &from[..1];
        if let Some(behind) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            out.push_str(brace);
            rest = behind;
            continue;
        }
        let name = from[1..].split('}').next().unwrap_or_default();
        match slots.get(name).filter(|_| brace == "{") {
            Some(values) => {
                fill(&values[chance.below(values.len())], slots, depth + 1, chance, out)?;
                rest = &from[name.len() + 2..];
            }
            None => {
                out.push_str(brace);
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(file: &str) -> anyhow::Result<Vec<Own>> {
        expand(file, "f", 3, &mut Chance::new(1))
    }

    const HEAD: &str =
        "label = 'attack'\n[slots]\nwho = ['Ann']\nwhat = ['ask {who}']\n[[family]]\nname = 'n'\nchannel = 'user'\nabout = 'x'\n";

    #[test]
    fn frames_are_filled_in() {
        let found = texts(&format!("{HEAD}frames = ['Please {{what}} now.', 'Plain.']\n")).unwrap();
        let shown: Vec<&str> = found.iter().map(|own| own.text.as_str()).collect();
        assert_eq!(shown, ["Please ask Ann now.", "Please ask Ann now.", "Please ask Ann now.", "Plain."]);
        assert!(found.iter().all(|own| own.attack && own.family == "f/n"));
    }

    #[test]
    fn braces_that_are_no_slots_stay() {
        let found = texts(&format!("{HEAD}frames = ['{{{{\"x\": {{who}}}}}} {{unknown}} }} {{']\n")).unwrap();
        assert_eq!(found[0].text, "{\"x\": Ann} {unknown} } {");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(texts("label = 'odd'\nfamily = []").is_err());
        let circle = "label = 'benign'\n[slots]\na = ['{a}']\n[[family]]\nname = 'n'\nchannel = 'c'\nabout = 'x'\nframes = ['{a}']\n";
        assert!(format!("{:#}", texts(circle).unwrap_err()).contains("family n: slots in slots"));
    }
}
