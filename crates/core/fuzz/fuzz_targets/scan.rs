//! The scanner of each row of the pattern table and its regex.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::scanners(data));
