//! Encodes and decodes with published vocabularies.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::encode::check_published(data));
