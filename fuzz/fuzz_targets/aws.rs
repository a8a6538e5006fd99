//! The target `aws`: see `floodmark_fuzz::aws`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::aws(data));
