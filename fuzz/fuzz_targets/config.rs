//! The target `config`: see `floodmark_fuzz::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::config(data));
