//! Hand-written scanners: for a known pattern, where the piece that starts here ends.
//!
//! Each gives exactly the matches of its regex, on every text and in linear time; tests hold the two equal. They can be
//! left out (`TOKSMITH_SLOW=1`) without changing one piece. Read `row.rs`, a file of `rows/`, `text.rs` and `scanner.rs`;
//! `block.rs` is the bit algebra on 64 bytes at a time.

mod block;
pub(crate) mod class;
mod row;
mod rows;
mod scanner;
mod text;

pub use row::{HardText, Pattern};
pub use rows::PATTERNS;
pub use scanner::{Ends, Scanner};

#[cfg(test)]
mod tests;
