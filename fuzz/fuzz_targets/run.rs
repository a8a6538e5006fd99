//! The target `run`: see `floodmark_fuzz::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::run(data));
