//! The ids of [`crate::merge`], sooner. Nothing here decides an id: `TOKSMITH_SLOW=1` runs without it, and a build without the
//! feature `fast` does not have it.
//!
//! Reading order: [`memory`] remembers the ids of pieces. [`byte_pairs`] are the pairs of bytes that merge before all others,
//! and [`together`] merges several stretches of new pieces side by side, each an array of [`short`]. [`windows`] merges long
//! pieces part by part.

pub mod byte_pairs;
pub mod memory;
pub mod short;
pub mod together;
pub mod windows;
