//! Views of a text: the forms in which patterns look for it, each with a map back to the original.

pub mod decoded;
pub mod fold_table;
pub mod folded;
pub mod offsets;

pub(crate) use decoded::base64_file;
pub use decoded::{Decoded, decode};
pub use fold_table::{Fold, FoldTable};
pub use folded::Folded;

/// A view, as reasons name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// [`Folded`], with words apart and letters together as they are usually written.
    Folded,
    /// Only the letters and digits of [`Folded`]: words run together, or letters were set apart.
    Squashed,
    /// [`Decoded`], then folded or squashed.
    Decoded,
}

impl View {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            View::Folded => "folded",
            View::Squashed => "squashed",
            View::Decoded => "decoded",
        }
    }
}
