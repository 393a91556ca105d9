//! The bits of the split patterns' Unicode classes, from which the build script makes the table of [`super::class`].

/// `\p{L}`
pub const LETTER: u8 = 1;
/// `\p{N}`
pub const NUMBER: u8 = 2;
/// `\s`
pub const SPACE: u8 = 4;
/// `[\r\n]`
pub const NEWLINE: u8 = 8;
/// `[\p{Lu}\p{Lt}]`
pub const UPPER: u8 = 16;
/// `\p{Ll}`
pub const LOWER: u8 = 32;
/// `[\p{Lm}\p{Lo}\p{M}]`
pub const CASELESS: u8 = 64;
/// Not a character: the end of the text.
pub const END: u8 = 128;

/// The classes as regexes.
#[allow(dead_code, reason = "the build script and the tests read it")]
pub const CLASSES: [(&str, u8); 7] = [
    (r"\p{L}", LETTER),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\r\n]", NEWLINE),
    (r"[\p{Lu}\p{Lt}]", UPPER),
    (r"\p{Ll}", LOWER),
    (r"[\p{Lm}\p{Lo}\p{M}]", CASELESS),
];
