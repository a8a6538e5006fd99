//! The surviving grafts and their carriers as score receipts (docs/eval/receipts.md), so that deltas can be recomputed without the detector.

use std::path::Path;

use super::Study;
use super::sentences::Kind;
use crate::output;
use crate::receipts::COLUMNS;

/// What the receipt of grafts has beside the columns of every receipt.
const CARRIER: &str = "carrier";

/// Writes both files.
pub(super) fn write(study: &Study, folder: &Path) -> anyhow::Result<()> {
    let open = |name: &str| anyhow::Ok(csv::Writer::from_writer(output::create(&folder.join(name))?));
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
