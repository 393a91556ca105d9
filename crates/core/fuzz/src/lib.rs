//! What the fuzz targets do: make a text of what libFuzzer gives, and hold each entry point to its slow twin on it.
//!
//! A difference is a panic, which libFuzzer keeps as a finding.

pub mod encode;
pub mod parts;
pub mod split;
pub mod table;
pub mod text;
pub mod tokenizer;
