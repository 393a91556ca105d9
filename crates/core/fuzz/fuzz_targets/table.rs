//! Parses token tables of files.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::table::any(data));
