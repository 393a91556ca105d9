//! The ids of [`crate::merge`], sooner. Nothing here decides an id: `TOKSMITH_SLOW=1` runs without it, and a build
//! without the feature `fast` leaves it out.
//!
//! Reading order: [`memory`] remembers the ids of pieces. [`byte_pairs`] finds the pairs of bytes that merge before all
//! others, and [`batch_merge`] merges several stretches of new pieces side by side, each an array of [`short_symbols`].
//! [`windows`] merges long pieces window by window.

pub mod batch_merge;
pub mod byte_pairs;
pub mod memory;
pub mod short_symbols;
pub mod windows;
