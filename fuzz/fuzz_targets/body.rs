//! The target `body`: see `floodmark_fuzz::body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::body(data));
