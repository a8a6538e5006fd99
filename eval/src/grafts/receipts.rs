//! The surviving grafts and their carriers as score receipts (docs/eval/receipts.md), so that deltas can be recomputed without the detector.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::Study;
use super::sentences::Kind;

/// The header of the native receipt; that of grafts has the carrier as well.
const COLUMNS: [&str; 5] = ["trajectory_id", "group", "position", "score", "unit"];
const CARRIER: &str = "carrier";

/// Writes both files.
pub(super) fn write(study: &Study, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let open = |name: &str| {
        let path = folder.join(name);
        csv::Writer::from_path(&path).with_context(|| format!("cannot write {}", path.display()))
    };
    let (mut grafts, mut natives) = (open("grafts.csv")?, open("native.csv")?);
    grafts.write_record(COLUMNS.iter().chain([&CARRIER]))?;
    natives.write_record(COLUMNS)?;
    for kind in [Kind::Attack, Kind::Sham] {
        for (carrier, grafted) in study.survivors(kind) {
            let id = format!("{}/{}", kind.name(), carrier.id);
            for (position, (score, native)) in grafted.scores.iter().zip(&carrier.scores).enumerate() {
                let [position, score, native] = [position.to_string(), score.to_string(), native.to_string()];
                grafts.write_record([id.as_str(), kind.name(), &position, &score, &carrier.task, &carrier.id])?;
                natives.write_record([carrier.id.as_str(), "native", &position, &native, &carrier.task])?;
            }
        }
    }
    grafts.flush()?;
    Ok(natives.flush()?)
}
