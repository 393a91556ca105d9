//! Compares the scanner of each pattern row with its regex.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::scanners(data));
