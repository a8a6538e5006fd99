//! The target `lineage`: see `floodmark_fuzz::lineage`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| floodmark_fuzz::lineage(data));
