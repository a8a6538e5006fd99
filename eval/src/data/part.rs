//! The part of the data that a command takes.

use super::Split;

/// A part of the data, or all of it: what a command is told to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// To choose patterns on.
    Train,
    /// To look at while choosing.
    Dev,
    /// To measure on.
    Test,
    /// Everything.
    All,
}

impl Part {
    /// Its name in commands and reports.
    pub fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The only part that it is of, if it is.
    pub fn one(self) -> Option<Split> {
        match self {
            Part::Train => Some(Split::Train),
            Part::Dev => Some(Split::Dev),
            Part::Test => Some(Split::Test),
            Part::All => None,
        }
    }

    /// Whether it has what is of this part.
    pub fn holds(self, split: Split) -> bool {
        self.one().is_none_or(|one| one == split)
    }
}
