//! The target `sse`: see `floodmark_fuzz::sse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::sse(data));
