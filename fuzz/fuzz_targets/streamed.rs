//! The target `streamed`: see `floodmark_fuzz::streamed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::streamed(data));
