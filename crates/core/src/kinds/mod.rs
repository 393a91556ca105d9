//! The kinds of tokenizers beside byte-pair encoding of bytes.

pub mod cover;
pub mod hf_characters;
pub mod sentencepiece;
pub mod unigram;
pub mod wordpiece;
