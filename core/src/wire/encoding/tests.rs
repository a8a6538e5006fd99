//! Codings against a packer, and against whatever bytes there may be.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use miniz_oxide::deflate::{compress_to_vec, compress_to_vec_zlib};
use proptest::prelude::*;

use super::*;

const MAX_BYTES: usize = 100_000;

fn codings(value: &str) -> Codings {
    Codings::parse(value.split(',').map(str::trim)).expect("codings that are read")
}

/// CRC-32 bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
    })
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(compress_to_vec(text, 6));
    file.extend(crc32(text).to_le_bytes());
    file.extend((text.len() as u32).to_le_bytes());
    file
}

fn pack(coding: &str, text: &[u8]) -> Vec<u8> {
    match coding {
        "gzip" => gzip(text),
        "zlib" => compress_to_vec_zlib(text, 6),
        "raw" => compress_to_vec(text, 6),
        other => panic!("{other}"),
    }
}

fn header(coding: &str) -> &str {
    if coding == "gzip" { "gzip" } else { "deflate" }
}

/// Text of any length that packs well and not so well.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![Just(String::from("{\"role\":\"user\",\"content\":\"")), "[a-z ]{0,40}", "\\PC{0,8}"];
    (proptest::collection::vec(word, 0..60), 1usize..8).prop_map(|(words, times)| words.concat().repeat(times).into_bytes())
}

fn coding() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("gzip"), Just("zlib"), Just("raw")]
}

proptest! {
    #[test]
    fn what_was_packed_is_read_again(text in text(), first in coding(), second in coding()) {
        let once = pack(first, &text);
        prop_assume!(begins_like_json(&once) != Some(true));
        let decoded = codings(header(first)).decode(&once, MAX_BYTES);
        prop_assert_eq!((&decoded.bytes[..], decoded.issue), (&text[..], None));
        let both = format!("{}, {}", header(first), header(second));
        let twice = pack(second, &once);
        prop_assume!(begins_like_json(&twice) != Some(true));
        let decoded = codings(&both).decode(&twice, MAX_BYTES);
        prop_assert_eq!((&decoded.bytes[..], decoded.issue), (&text[..], None));
    }

    #[test]
    fn a_file_may_have_any_members(text in text(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let file: Vec<u8> = cuts.windows(2).flat_map(|cut| gzip(&text[cut[0]..cut[1]])).collect();
        let decoded = codings("gzip").decode(&file, MAX_BYTES);
        prop_assert_eq!((&decoded.bytes[..], decoded.issue), (&text[..], None));
    }

    #[test]
    fn a_cut_is_an_issue_and_what_stands_before_it_is_read(text in text(), coding in coding(), at in any::<prop::sample::Index>(), more in 1usize..20) {
        let file = pack(coding, &text);
        prop_assume!(begins_like_json(&file) != Some(true));
        let decoded = codings(header(coding)).decode(&file[..at.index(file.len())], MAX_BYTES);
        prop_assert_eq!(decoded.issue, Some(IssueKind::Compression));
        prop_assert!(text.starts_with(&decoded.bytes));
        let longer = [file, vec![0; more]].concat();
        let decoded = codings(header(coding)).decode(&longer, MAX_BYTES);
        prop_assert_eq!((&decoded.bytes[..], decoded.issue), (&text[..], Some(IssueKind::Compression)));
    }

    /// With a check in the file no other text comes out of it unnoticed.
    #[test]
    fn a_changed_byte_gives_the_same_text_or_an_issue(text in text(), zlib in any::<bool>(), at in any::<prop::sample::Index>(), bits in 1u8..) {
        let coding = if zlib { "zlib" } else { "gzip" };
        let mut file = pack(coding, &text);
        let at = at.index(file.len());
        file[at] ^= bits;
        let decoded = codings(header(coding)).decode(&file, MAX_BYTES);
        // A zlib frame that is none any more may be a stream without a frame: there is no check then.
        prop_assume!(!zlib || at > 1);
        prop_assert!(decoded.issue.is_some() || decoded.bytes == text);
    }

    #[test]
    fn any_bytes_are_read_within_the_caps(
        bytes in proptest::collection::vec(any::<u8>(), 0..300), start in 0usize..4, value in "(gzip|deflate)(, (gzip|deflate)){0,2}", max_bytes in 0usize..500,
    ) {
        let starts: [&[u8]; 4] = [&[], &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &[0x1f, 0x8b, 8, 30, 0, 0, 0, 0, 0, 3, 1, 0], &[0x78, 0x9c]];
        let body = [starts[start], &bytes].concat();
        let decoded = codings(&value).decode(&body, max_bytes);
        prop_assert!(decoded.bytes.len() <= max_bytes || decoded.bytes == body);
    }

    /// Every size around the cap: at it the body is read, above it nothing more than the cap is.
    #[test]
    fn the_cap_is_exact(max_bytes in 1usize..3000, coding in coding()) {
        for (bytes, issue) in [(max_bytes - 1, None), (max_bytes, None), (max_bytes + 1, Some(IssueKind::Oversize))] {
            let text = vec![b'x'; bytes];
            let body = pack(coding, &text);
            let decoded = codings(header(coding)).decode(&body, max_bytes);
            prop_assert_eq!((&decoded.bytes[..], decoded.issue), (&text[..bytes.min(max_bytes)], issue));
        }
    }
}

#[test]
fn a_bomb_is_left_at_the_cap_without_taking_more_memory() {
    let bomb = gzip(&vec![b' '; 20_000_000]);
    assert!(bomb.len() < 30_000, "{} bytes", bomb.len());
    let decoded = codings("gzip").decode(&bomb, 1_000_000);
    assert_eq!(decoded.issue, Some(IssueKind::Oversize));
    let Cow::Owned(bytes) = decoded.bytes else { panic!("unpacked bytes are owned") };
    assert_eq!(bytes.len(), 1_000_000);
    assert!(bytes.capacity() <= 1_000_001, "{} bytes were taken", bytes.capacity());
    // The ratio comes first when the body is short.
    let small = gzip(&vec![b' '; 900_000]);
    let decoded = codings("gzip").decode(&small, 1_000_000);
    assert_eq!((decoded.bytes.len(), decoded.issue), (small.len() * MAX_UNPACKED_RATIO, Some(IssueKind::Compression)));
    // A short text that repeats itself is none.
    assert_eq!(codings("gzip").decode(&gzip(&[b' '; MIN_UNPACKED_BYTES]), 1_000_000).issue, None);
    // A bomb in a bomb is left at the first one's cap.
    let twice = gzip(&gzip(&vec![b' '; 20_000_000]));
    let decoded = codings("gzip, gzip").decode(&twice, 1_000_000);
    assert!(decoded.issue.is_some() && decoded.bytes.len() <= 1_000_000, "{:?}", decoded.issue);
}

/// Work that no output pays for: blocks and members without a byte in them.
#[test]
fn empty_blocks_and_members_have_an_end() {
    let stored = |blocks: usize| [[0, 0, 0, 0xff, 0xff].repeat(blocks), compress_to_vec(b"x", 6)].concat();
    let allowed = |bytes: usize| crate::limits::DEFLATE_FREE_BLOCKS + bytes / crate::limits::DEFLATE_BLOCK_BYTES;
    // So many blocks of five bytes, and the last one of three.
    let fits = allowed(64 * 5 + 3);
    assert_eq!(fits, 65);
    assert_eq!(codings("deflate").decode(&stored(fits - 1), MAX_BYTES), Decoded { bytes: Cow::Owned(b"x".to_vec()), issue: None });
    assert_eq!(codings("deflate").decode(&stored(10_000), MAX_BYTES).issue, Some(IssueKind::Compression));
    let members = gzip(b"").repeat(60);
    assert_eq!(codings("gzip").decode(&members, MAX_BYTES), Decoded { bytes: Cow::Owned(Vec::new()), issue: None });
    assert_eq!(codings("gzip").decode(&gzip(b"").repeat(10_000), MAX_BYTES).issue, Some(IssueKind::Compression));
}

/// A stream may copy what it wrote itself, nothing that a member before it wrote.
#[test]
fn members_do_not_reach_into_each_other() {
    // Fixed codes, written by hand from RFC 1951, 3.2.6: a match of length 3 (code 257: 0000001) at distance 1 (00000), then the end (0000000).
    let reach_back = [0b0000_0011, 0b0000_0010, 0b0000_0000];
    let member = |stream: &[u8], text: &[u8]| {
        let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
        file.extend_from_slice(stream);
        file.extend(crc32(text).to_le_bytes());
        file.extend((text.len() as u32).to_le_bytes());
        file
    };
    let file = [gzip(b"aaaa"), member(&reach_back, b"aaa")].concat();
    let decoded = codings("gzip").decode(&file, MAX_BYTES);
    assert_eq!((&decoded.bytes[..], decoded.issue), (&b"aaaa"[..], Some(IssueKind::Compression)));
}

/// Servers that do not heed the header read JSON as it stands.
#[test]
fn json_with_a_coding_is_read_as_json_and_is_an_issue() {
    for body in [&b" {\"messages\":[]}"[..], b"[1]", b"\xef\xbb\xbf{}"] {
        for value in ["gzip", "deflate", "gzip, deflate"] {
            assert_eq!(codings(value).decode(body, 3), Decoded { bytes: Cow::Borrowed(body), issue: Some(IssueKind::Compression) });
        }
    }
    assert_eq!(codings("identity").decode(b"{}", 0), Decoded { bytes: Cow::Borrowed(b"{}"), issue: None });
}

#[test]
fn codings_that_are_not_read_are_told_apart() {
    assert!(codings("").is_identity() && codings("identity, ").is_identity());
    assert!(!codings("x-gzip, identity, deflate").is_identity());
    for value in ["br", "zstd", "gzip, br", "compress", "gzip;q=1", "gzip,gzip,gzip,gzip"] {
        assert_eq!(Codings::parse(value.split(',').map(str::trim)), None, "{value}");
    }
}
