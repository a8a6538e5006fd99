//! The target `json_lines`: see `floodmark_fuzz::json_lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::json_lines(data));
