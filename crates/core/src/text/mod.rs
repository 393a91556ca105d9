//! What a text may cost ([`bounds`]), and its UTF-8, checked and written ([`utf8`]).

pub mod bounds;
pub mod utf8;
