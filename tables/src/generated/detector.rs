//! The detector of record: written by `cargo xtask train detector` from rules/detector and the data that rules/detector/README.md lists, with their licences.
//! Fingerprint of rules/detector: 6a0cb32fa4390096
//! Do not edit: change the recipe and run the command again.

use floodmark_core::detector::{Detector, Levels, LinearModel, Member, Model, Platt};

/// The detector of record.
#[rustfmt::skip]
pub static DETECTOR: Detector<'static> = Detector {
    members: &[Member {
        name: "linear",
        model: Model::Linear(LinearModel {
            weights: include_bytes!("detector.bin"),
            unit: 0.02117497902216874,
            bias: -0.8520898222923279,
            platt: Platt { slope: 3.917643941637972, offset: 1.9698343054350822 },
        }),
    }],
    levels: Levels { tau_event: 0.5, event_block: 0.98564, drift: 0.5224151897706849, alarm: 0.83587, caller_alarm: 3.0 },
    version: "1-23d8cf67bab6",
};
