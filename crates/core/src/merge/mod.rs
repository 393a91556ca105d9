//! Merges pieces into ids: byte-pair encoding.
//!
//! Reading order: [`rule`] is the whole algorithm. [`heap`] gives the same ids in n log n, which bounds the time of any
//! text. [`safe_cuts`] finds places where a piece can be cut. [`draws`] are the random numbers of dropout, and
//! [`recover`] lists the merges of a table of tokens. `crate::fast` gives the same ids sooner.
//!
//! Left out: kinds that do not merge ([`crate::kinds`]), and learning merges ([`mod@crate::train`]).

pub mod draws;
pub mod heap;
pub mod recover;
pub mod rule;
pub mod safe_cuts;
