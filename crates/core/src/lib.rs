#![doc = include_str!("../README.md")]

// Where to read: ARCHITECTURE.md has the table of the folders, and the module documentation of each folder gives its job
// and its reading order. The same steps, under the same names, are in `toksmith.reference` and `docs/spec.md`; tests hold
// both equal. The hidden modules are public for the Python package only.

#[doc(hidden)]
pub mod count;
#[doc(hidden)]
pub mod decode;
#[cfg(test)]
mod drawn;
#[doc(hidden)]
pub mod encode;
#[doc(hidden)]
pub mod error;
#[cfg(feature = "fast")]
#[doc(hidden)]
pub mod fast;
#[doc(hidden)]
pub mod kinds;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod merge;
#[doc(hidden)]
pub mod regex;
#[doc(hidden)]
pub mod simd;
#[doc(hidden)]
pub mod slots;
#[doc(hidden)]
pub mod split;
#[doc(hidden)]
pub mod steps;
#[doc(hidden)]
pub mod switches;
#[doc(hidden)]
pub mod table;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod threads;
#[doc(hidden)]
pub mod tokenizer;
#[doc(hidden)]
pub mod train;
#[doc(hidden)]
pub mod vocab;

pub use error::{Error, Result};
pub use tokenizer::{Special, StreamDecoder, Tokenizer};
