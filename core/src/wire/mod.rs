//! Wire formats: bytes of a request to one [`Document`] of events, with issues; never all or nothing.

pub mod issue;
pub mod json;
