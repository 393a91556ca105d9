//! The fuzz targets: each turns libFuzzer's data into a text and compares an entry point with its slow twin.
//!
//! A difference is a panic, which libFuzzer records as a finding.

pub mod encode;
pub mod parts;
pub mod split;
pub mod table;
pub mod text;
pub mod tokenizer;
