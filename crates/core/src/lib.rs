//! The core of toksmith, without Python. In reading order:
//!
//! 1. [`error`]: the one error type.
//! 2. [`vocab`]: the immutable vocabulary: tokens, ids, and which pairs merge.
//! 3. text → ids: [`special`] cuts, [`pattern`] and [`split`] make pieces, [`merge`] turns a piece into ids, and
//!    [`encode`] conducts, one text or many ([`parallel`], [`ordered`]).
//! 4. ids → bytes: [`decode`].
//! 5. corpus → merges: [`count`], then [`train`].
//! 6. [`table`]: the token tables of files.
//!
//! The rest makes it fast and decides nothing: [`scan`] splits known patterns, [`pieces`] is [`merge`] with a memory
//! ([`cache`]), safe cuts ([`crossing`]) and short merges ([`stretch`]), on keys of a few words ([`key`], [`index`], [`slots`]) and
//! the instructions of [`simd`].
//!
//! The same steps, under the same names, stand in `reference.py` and `docs/spec.md`; tests hold the two equal.

pub mod cache;
pub mod count;
pub mod crossing;
pub mod decode;
pub mod encode;
pub mod error;
pub mod index;
pub mod key;
pub mod merge;
pub mod ordered;
pub mod parallel;
pub mod pattern;
pub mod pieces;
pub mod scan;
pub mod simd;
pub mod slots;
pub mod special;
pub mod split;
pub mod stretch;
pub mod table;
pub mod train;
pub mod vocab;

pub use error::{Error, Result};
