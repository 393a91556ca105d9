//! The regexes of HF tokenizers, which are written for Oniguruma.
//!
//! Reading order: [`published`] says which of them have the same matches in the engine of all other regexes, and how they
//! are spelled there. `search` runs Oniguruma itself for the rest; the feature `onig` holds it.
//!
//! Left out: who asks for which ([`crate::steps::find`]).

pub mod published;
#[cfg(feature = "onig")]
pub mod search;
#[cfg(all(test, feature = "fast", feature = "onig"))]
mod tests;
