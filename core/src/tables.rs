//! The static data that a judge works with. `floodmark-tables` holds the real ones; tests may bring their own.

use crate::detector::Detector;
use crate::instructions::wording::Wording;
use crate::score::CategorySet;

/// Everything that was made before, by hand or by training.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'t> {
    /// The patterns, and how texts are folded for them and for the detector.
    pub categories: &'t CategorySet<'t>,
    /// The detector of record; without one events have no score.
    pub detector: Option<&'t Detector<'t>>,
    /// The wording of instructions; without it only patterns and detector say what is like one.
    pub instructions: Option<&'t Wording<'t>>,
}
