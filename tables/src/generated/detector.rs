//! The detector of record: written by `cargo xtask train detector` from rules/detector and the data that rules/detector/README.md lists, with their licences.
//! Fingerprint of rules/detector: 7247e51dcb99d3b0
//! Do not edit: change the recipe and run the command again.

use floodmark_core::detector::{Detector, Levels, LinearModel, Member, Model, Platt};

/// The detector of record.
#[rustfmt::skip]
pub static DETECTOR: Detector<'static> = Detector {
    members: &[Member {
        name: "linear",
        model: Model::Linear(LinearModel {
            weights: include_bytes!("detector.bin"),
            unit: 0.019947040738083247,
            bias: -0.9413359761238098,
            platt: Platt { slope: 4.486889091301982, offset: 2.4331034101595383 },
        }),
    }],
    levels: Levels { tau_event: 0.5, event_block: 0.965574, drift: 0.6994653679126867, alarm: 0.30053463208731335 },
    version: "1-f0844df970ea",
};
