//! The scanner of `cl100k` and its regex.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::scanner(toksmith_core::split::scan::Scanner::Cl100k, data));
