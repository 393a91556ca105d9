//! Regexes of HF tokenizers, which are written for Oniguruma.
//!
//! Reading order: [`published`] lists the regexes with the same matches in the engine of all other regexes, and their
//! spelling there. `search` runs Oniguruma itself for the rest, with the feature `onig`.
//!
//! Left out: the choice between both ([`crate::steps::find`]).

pub mod published;
#[cfg(feature = "onig")]
pub mod search;
#[cfg(all(test, feature = "fast", feature = "onig"))]
mod tests;
