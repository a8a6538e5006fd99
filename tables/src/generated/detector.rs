//! The detector of record: written by `cargo xtask train detector` from rules/detector and the data that rules/detector/README.md lists, with their licences.
//! Fingerprint of rules/detector: 54727f7d3d0f289e
//! Do not edit: change the recipe and run the command again.

use floodmark_core::detector::{Detector, Levels, LinearModel, Member, Model, Platt};

/// The detector of record.
#[rustfmt::skip]
pub static DETECTOR: Detector<'static> = Detector {
    members: &[Member {
        name: "linear",
        model: Model::Linear(LinearModel {
            weights: include_bytes!("detector.bin"),
            unit: 0.02002430525351697,
            bias: -0.9352525472640991,
            platt: Platt { slope: 4.667709361038617, offset: 2.228872160105182 },
        }),
    }],
    levels: Levels { tau_event: 0.5, event_block: 0.975164, drift: 0.6548568988197276, alarm: 0.34514310118027236 },
    version: "1-30bd186ea249",
};
