//! The core of toksmith, without Python. In reading order:
//!
//! 1. [`error`]: the one error type.
//! 2. [`vocab`]: the immutable vocabulary: tokens, ids, and which pairs merge; tables [`by_id`].
//! 3. text → ids: [`special`] cuts, [`pattern`] and [`split`] make pieces, [`merge`] turns a piece into ids, and
//!    [`encode`] conducts, one text or many ([`parallel`], [`ordered`]). Long texts are cut ([`cuts`]) and spread over
//!    threads ([`spread`]), and files are read a part at a time ([`stream`]).
//!    [`chars`] does all of it where a text is one piece of characters: [`normalize`] (with [`charsmap`]), then
//!    [`char_merge`] (on [`char_index`]) or [`unigram`] (on [`trie`]). Kinds that do not merge cover a piece with tokens:
//!    [`cover`], [`unigram`], [`wordpiece`]. [`offsets`] says where ids come from, [`settled`] which of
//!    them no later text changes.
//!    Where more is done to a text than cutting and merging, [`staged`] conducts: [`steps`] normalize and cut it, and
//!    [`symbols`] are what pieces of characters are made of.
//! 4. ids → bytes: [`decode`], and [`shown`] where a token shows something else than its bytes.
//! 5. corpus → merges: [`counter`] ([`rows`] of JSON, [`tallying`] into a
//!    [`tally`], and [`runs`] on disk) makes [`count`]s in an [`arena`]
//!    (lines: [`tsv`]), then [`train`]; or, in the characters of an [`alphabet`], from what words share
//!    ([`unigram_seeds`]), scores: [`unigram_train`].
//! 6. [`table`]: the token tables of files.
//! 7. looking inside: [`facts`] of tokens by their bytes, and the [`sums`] of an encoding.
//!
//! The rest makes it fast and decides nothing: [`scan`] splits known patterns, [`pieces`] is [`merge`] with a memory
//! ([`cache`]), safe cuts ([`crossing`]) and short merges ([`stretch`]), on keys of a few words ([`key`], [`index`], [`slots`]) and
//! the instructions of [`simd`]. [`widths`] is a table of the tokens' lengths.
//!
//! Long stretches are merged by [`period`] where they repeat themselves, else by [`forward`], with [`joint`] and [`prefix`].
//!
//! The same steps, under the same names, stand in `toksmith.reference` and `docs/spec.md`; tests hold the two equal.

pub mod bounds;
pub mod count;
pub mod decode;
#[cfg(test)]
mod drawn;
pub mod encode;
pub mod error;
pub mod fault;
pub mod kinds;
pub mod measure;
pub mod merge;
pub mod regex;
pub mod simd;
pub mod slow;
pub mod split;
pub mod steps;
pub mod table;
pub mod threads;
pub mod train;
pub mod vocab;

pub use error::{Error, Result};
