//! Drawn vocabularies: to ids and back.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::encode::drawn(data));
