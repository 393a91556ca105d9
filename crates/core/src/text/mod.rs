//! The cost limits of a text ([`bounds`]), and UTF-8 validation and encoding ([`utf8`]).

pub mod bounds;
pub mod utf8;
