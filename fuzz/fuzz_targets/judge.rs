//! The target `judge`: see `floodmark_fuzz::judge`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::judge(data));
