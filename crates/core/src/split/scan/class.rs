//! The Unicode classes of the split patterns, as bits by code point.
//!
//! The table is made from the class tables of the regex engine itself, at first use, so that scanners and regexes
//! cannot disagree about a character.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

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

const CLASSES: [(&str, u8); 7] = [
    (r"\p{L}", LETTER),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\r\n]", NEWLINE),
    (r"[\p{Lu}\p{Lt}]", UPPER),
    (r"\p{Ll}", LOWER),
    (r"[\p{Lm}\p{Lo}\p{M}]", CASELESS),
];

/// Class bits of every code point.
pub struct Classes(Box<[u8]>);

impl Classes {
    /// The bits of a code point.
    #[inline]
    pub fn of(&self, code_point: u32) -> u8 {
        self.0[code_point as usize]
    }
}

/// The table.
pub fn classes() -> &'static Classes {
    static TABLE: LazyLock<Classes> = LazyLock::new(|| {
        let mut bits = vec![0; char::MAX as usize + 1].into_boxed_slice();
        for (class, bit) in CLASSES {
            for (first, last) in ranges(class) {
                for bits in &mut bits[first as usize..=last as usize] {
                    *bits |= bit;
                }
            }
        }
        Classes(bits)
    });
    &TABLE
}

fn ranges(class: &str) -> Vec<(char, char)> {
    let parsed = regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind);
    match parsed {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => unreachable!("each of CLASSES is a class"),
    }
}
