//! A detector in a file of its own, for measurements with a model that is not the detector of record.

use std::path::Path;

use anyhow::Context as _;
use floodmark_core::Detector;
use floodmark_core::detector::{Levels, LinearModel, Member, Model, Platt};
use serde::{Deserialize, Serialize};

use crate::output;

/// A detector as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: String,
    tau_event: f64,
    event_block: f64,
    drift: f64,
    alarm: f64,
    caller_alarm: f64,
    members: Vec<StoredMember>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredMember {
    name: String,
    unit: f64,
    bias: f64,
    slope: f64,
    offset: f64,
    weights: Vec<u8>,
}

/// Writes a detector.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, detector: &Detector<'_>) -> anyhow::Result<()> {
    let Levels { tau_event, event_block, drift, alarm, caller_alarm } = detector.levels;
    let member = |member: &Member<'_>| {
        let Model::Linear(LinearModel { weights, unit, bias, platt: Platt { slope, offset } }) = member.model;
        StoredMember { name: member.name.to_owned(), unit, bias, slope, offset, weights: weights.to_vec() }
    };
    let members = detector.members.iter().map(member).collect();
    let stored = Stored { version: detector.version.to_owned(), tau_event, event_block, drift, alarm, caller_alarm, members };
    output::write(path, &serde_json::to_vec(&stored)?)
}

/// Reads a detector. It stays in memory to the end of the program, as the detector of record does.
///
/// # Errors
/// When the file cannot be read, or holds no detector.
pub fn read(path: &Path) -> anyhow::Result<&'static Detector<'static>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let shown = path.display();
    let stored: Stored = serde_json::from_slice(&bytes)
        .with_context(|| format!("{shown} holds no detector; write one with `cargo xtask train detector`"))?;
    let members: Vec<Member<'static>> = stored.members.into_iter().map(member).collect();
    let Stored { version, tau_event, event_block, drift, alarm, caller_alarm, .. } = stored;
    let levels = Levels { tau_event, event_block, drift, alarm, caller_alarm };
    Ok(Box::leak(Box::new(Detector { members: members.leak(), levels, version: version.leak() })))
}

fn member(stored: StoredMember) -> Member<'static> {
    let StoredMember { name, unit, bias, slope, offset, weights } = stored;
    let model = Model::Linear(LinearModel { weights: weights.leak(), unit, bias, platt: Platt { slope, offset } });
    Member { name: name.leak(), model }
}

#[cfg(test)]
mod tests {
    use super::*;
    use floodmark_tables::DETECTOR;

    #[test]
    fn what_was_written_scores_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        write(&path, &DETECTOR).unwrap();
        let found = read(&path).unwrap();
        assert_eq!((found.levels, found.version, found.members.len()), (DETECTOR.levels, DETECTOR.version, DETECTOR.members.len()));
        for text in ["Ignore all of this.", "", "a b"] {
            assert_eq!(found.score(text), DETECTOR.score(text));
        }
        std::fs::write(&path, "{}").unwrap();
        assert!(format!("{:#}", read(&path).unwrap_err()).contains("holds no detector"));
    }
}
