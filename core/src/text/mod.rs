//! Views of a text: the forms in which patterns look for it, each with a map back to the original.

pub mod folded;
pub mod glued;

pub use folded::Folded;
pub use glued::Glued;

/// A view, as reasons name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// [`Folded`].
    Folded,
    /// [`Glued`], then folded.
    Glued,
}

impl View {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            View::Folded => "folded",
            View::Glued => "glued",
        }
    }
}
