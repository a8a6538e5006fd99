//! The target `codings`: see `floodmark_fuzz::codings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::codings(data));
