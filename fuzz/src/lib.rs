//! What the fuzz targets check, as plain functions of bytes: one for each reader that the network reaches.
//!
//! None of them may panic, and each compares what was read with an independent reader, or with what another way of handing over the same bytes gives.

mod body;
mod codings;
mod frames;
mod json;
mod lineage;
mod run;
mod streamed;

pub use body::{body, judge};
pub use codings::codings;
pub use frames::{aws, json_lines, sse};
pub use json::json;
pub use lineage::lineage;
pub use run::run;
pub use streamed::streamed;

/// The configuration of the plugin: read, or refused with a line that says why.
pub fn config(data: &[u8]) {
    if let Err(error) = floodmark_plugin::config::parse(data) {
        let line = error.to_string();
        assert!(line.starts_with("configuration refused") && !line.contains(char::is_control), "{line:?}");
    }
}

/// Takes a number from the start of the data, below `limit`.
fn number(data: &mut &[u8], limit: usize) -> usize {
    let Some((&first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    usize::from(first) % limit
}

/// The pieces that a stream comes in. The data begins with the number of lengths, then the lengths, which are used in turn; the rest is the stream.
fn pieces<'d>(data: &mut &'d [u8]) -> Vec<&'d [u8]> {
    let count = number(data, 16).min(data.len());
    let (lengths, stream) = data.split_at(count);
    *data = stream;
    let (mut rest, mut pieces) = (stream, Vec::new());
    for length in lengths.iter().cycle().take(1000) {
        let (piece, behind) = rest.split_at(usize::from(*length).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}
