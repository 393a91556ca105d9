#![doc = include_str!("../README.md")]
//!
//! # Where to read
//!
//! The module documentation of each folder gives its job and its reading order. In reading order:
//!
//! 1. [`vocab`]: the tokens, ids, ranks and merges: an immutable value.
//! 2. text → ids: [`split`] cuts special tokens out and makes pieces, by [`regex`] and the [`steps`] of a model; [`merge`]
//!    has the rule that turns a piece into ids, and `fast` gives them sooner; [`kinds`] picks the kernel of a tokenizer;
//!    [`encode`] walks whole texts.
//! 3. ids → text: [`decode`].
//! 4. corpus → merges: [`count`], then [`mod@train`].
//! 5. inspection: [`measure`]. Token tables of files: [`table`].
//!
//! Below all of them: [`error`], [`slots`] of hash tables, [`text`], [`threads`], [`simd`] and [`switches`].
//!
//! The same steps, under the same names, are in `toksmith.reference` and `docs/spec.md`; tests hold both equal.

pub mod count;
pub mod decode;
#[cfg(test)]
mod drawn;
pub mod encode;
pub mod error;
#[cfg(feature = "fast")]
pub mod fast;
pub mod kinds;
pub mod measure;
pub mod merge;
pub mod regex;
pub mod simd;
pub mod slots;
pub mod split;
pub mod steps;
pub mod switches;
pub mod table;
pub mod text;
pub mod threads;
pub mod train;
pub mod vocab;

pub use error::{Error, Result};
