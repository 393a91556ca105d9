//! The ids of [`crate::merge`], sooner. Nothing here decides an id; `TOKSMITH_SLOW=1` runs without it.
//!
//! Reading order: [`piece_walk`] looks the pieces of a text up in [`memory`], which remembers the ids of pieces. A piece that is
//! new is cut by [`safe_cuts`]; [`byte_pairs`] are the pairs of bytes that merge before all others, and [`together`] merges
//! several stretches side by side, each an array of [`short`]. [`windows`] merges long pieces part by part.

pub mod byte_pairs;
pub mod memory;
pub mod piece_walk;
pub mod safe_cuts;
pub mod short;
pub mod together;
pub mod windows;
