//! The scanner of `llama3` and its regex.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::split::scanner(toksmith_core::split::scan::Scanner::Llama3, data));
