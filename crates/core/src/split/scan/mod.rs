//! Hand-written scanners: they find the end of a piece for a known pattern.
//!
//! Each gives exactly the matches of its regex, on every text and in linear time; tests compare both. `TOKSMITH_SLOW=1`
//! leaves them out and changes no piece.
//!
//! Reading order: `row`, a file of `rows`, `text` and `scanner`; then `block`, the bit algebra on 64 bytes at a time,
//! and `class`, the classes of characters, with `class_bits`.
//!
//! Left out: patterns without a row, which a regex engine searches ([`crate::regex`]).

mod block;
pub(crate) mod class;
mod class_bits;
mod row;
mod rows;
mod scanner;
mod text;

pub use row::Pattern;
pub use rows::PATTERNS;
pub use scanner::{Ends, Scanner};

#[cfg(test)]
mod tests;
