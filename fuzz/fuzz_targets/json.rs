//! The target `json`: see `floodmark_fuzz::json`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::json(data));
