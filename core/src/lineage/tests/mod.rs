//! Tests of lineage from inside: bodies against the postcard crate, and the walk over numbers instead of records, where links may go in circles.

mod bodies;
mod walks;
