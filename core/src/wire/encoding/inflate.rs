//! Deflate streams (RFC 1951) one behind the other into one bounded buffer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use crate::limits::{DEFLATE_BLOCK_BYTES, DEFLATE_FREE_BLOCKS};

/// Why a stream was left before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is no such stream, it ends early, its check fails, or it has far more blocks than text needs.
    Broken,
    /// It gives more bytes than there is room for.
    Full,
}

/// The streams' output.
pub struct Inflater {
    state: Box<DecompressorOxide>,
    /// Longer than what is filled.
    out: Vec<u8>,
    filled: usize,
    max_bytes: usize,
    /// Blocks that may still come: setting up one takes as long as reading some hundred bytes, and an empty one is ten bits long.
    blocks: usize,
}

impl Inflater {
    /// For streams of `input_bytes` in all that give at most `max_bytes`.
    pub fn new(input_bytes: usize, max_bytes: usize) -> Self {
        Inflater {
            state: Box::default(),
            out: Vec::new(),
            filled: 0,
            max_bytes,
            blocks: DEFLATE_FREE_BLOCKS + input_bytes / DEFLATE_BLOCK_BYTES,
        }
    }

    /// What the streams gave.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.out.truncate(self.filled.min(self.max_bytes));
        self.out
    }

    /// What the streams gave from `start` on.
    pub fn bytes_from(&self, start: usize) -> &[u8] {
        self.out.get(start..self.filled).unwrap_or_default()
    }

    /// Number of bytes that the streams gave.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Reads one stream from the start of `input`, with zlib's frame and its check or without. Gives the number of bytes that it took.
    pub fn stream(&mut self, input: &[u8], zlib: bool) -> Result<usize, Stop> {
        let frame = if zlib { TINFL_FLAG_PARSE_ZLIB_HEADER } else { 0 };
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF | TINFL_FLAG_STOP_ON_BLOCK_BOUNDARY | frame;
        self.state.init();
        let (start, mut used) = (self.filled, 0);
        loop {
            // Only this stream's bytes, so that it cannot copy from one before it.
            let (rest, out) = (input.get(used..).unwrap_or_default(), self.out.get_mut(start..).unwrap_or_default());
            let (status, read, wrote) = decompress(&mut self.state, rest, out, self.filled - start, flags);
            used += read;
            self.filled += wrote;
            if self.filled > self.max_bytes {
                return Err(Stop::Full);
            }
            match status {
                TINFLStatus::Done | TINFLStatus::BlockBoundary => {
                    self.blocks = self.blocks.checked_sub(1).ok_or(Stop::Broken)?;
                    if status == TINFLStatus::Done {
                        return Ok(used);
                    }
                }
                TINFLStatus::HasMoreOutput => self.grow(input.len())?,
                _ => return Err(Stop::Broken),
            }
        }
    }

    /// Makes room, twice as much as there is. One byte more than allowed tells a stream that fills it from one that goes on.
    fn grow(&mut self, input_bytes: usize) -> Result<(), Stop> {
        let most = self.max_bytes.saturating_add(1);
        if self.out.len() >= most {
            return Err(Stop::Full);
        }
        let bytes = self.out.len().saturating_mul(2).max(input_bytes.saturating_mul(4)).max(1024).min(most);
        self.out.reserve_exact(bytes - self.out.len());
        self.out.resize(bytes, 0);
        Ok(())
    }
}
