//! Runs drawn tokenizers of every kind, with steps and added tokens.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| toksmith_fuzz::tokenizer::any(data));
