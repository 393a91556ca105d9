//! Decodes any ids.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::encode::decode(data));
