//! Any regexes, in order, on any bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::any(data));
