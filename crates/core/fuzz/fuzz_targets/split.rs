//! Splits any bytes by any sequence of regexes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::any(data));
