//! Encodes and decodes with drawn vocabularies.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::encode::check_drawn(data));
