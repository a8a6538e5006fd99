//! The detector of record. Written by `cargo xtask train detector`; do not edit.
use floodmark_core::detector::{Detector, Levels, LinearModel, Member, Model, Platt};

/// The detector of record.
pub static DETECTOR: Detector<'static> = Detector {
    members: &[Member {
        name: "linear",
        model: Model::Linear(LinearModel { weights: &[0; 256], unit: 0.01, bias: -3.0, platt: Platt { slope: 1.0, offset: 0.0 } }),
    }],
    levels: Levels { tau_event: 0.5, event_block: 0.9, drift: 0.1, alarm: 1.5 },
    version: "0",
};
