//! Compressed bodies against another unpacker.

use std::io::Read;

use floodmark_core::wire::Codings;

use crate::number;

const MAX_BYTES: usize = 100_000;

/// What is unpacked without an issue is what another unpacker gives; and nothing is larger than the cap.
pub fn codings(mut data: &[u8]) {
    const KINDS: [&[&str]; 4] = [&["gzip"], &["deflate"], &["deflate", "gzip"], &["gzip", "gzip"]];
    let names = KINDS[number(&mut data, KINDS.len())];
    let decoded = Codings::parse(names).expect("codings that are read").decode(data, MAX_BYTES);
    assert!(decoded.bytes.len() <= MAX_BYTES.max(data.len()));
    if decoded.issue.is_none() {
        let theirs = names.iter().rev().fold(data.to_vec(), |bytes, name| unpack(name, &bytes));
        assert_eq!(decoded.bytes, theirs, "{names:?}");
    }
}

/// A coding taken off by flate2 over zlib-rs. Of deflate with or without a frame the one is taken that can be read.
fn unpack(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let read = |reader: &mut dyn Read| {
        let mut out = Vec::new();
        reader.read_to_end(&mut out).map(|_| out)
    };
    match coding {
        "gzip" => read(&mut flate2::read::MultiGzDecoder::new(bytes)).expect("members of gzip"),
        "deflate" => read(&mut flate2::read::ZlibDecoder::new(bytes))
            .or_else(|_| read(&mut flate2::read::DeflateDecoder::new(bytes)))
            .expect("a deflate stream"),
        _ => bytes.to_vec(),
    }
}
