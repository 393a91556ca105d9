//! The table of the split patterns' Unicode classes by code point.
//!
//! The build script makes the table from the class tables of the regex engine itself, so that scanners and regexes
//! cannot disagree about a character. A process only loads the parts that it uses, and shares them with others.

pub use super::class_bits::{CASELESS, END, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};

/// Class bits of every code point.
pub struct Classes([u8; char::MAX as usize + 1]);

static CLASSES: Classes = Classes(*include_bytes!(concat!(env!("OUT_DIR"), "/classes")));

impl Classes {
    #[inline]
    pub fn bits_of(&self, code_point: u32) -> u8 {
        self.0[code_point as usize]
    }
}

pub fn classes() -> &'static Classes {
    &CLASSES
}

#[cfg(test)]
mod tests {
    use fancy_regex::Regex;

    use super::*;
    use crate::split::scan::class_bits;

    #[test]
    fn every_character_has_the_bits_of_the_regexes_that_match_it() {
        let all: String = ('\0'..=char::MAX).collect();
        let mut expected = vec![0; char::MAX as usize + 1];
        for (regex, bit) in class_bits::CLASSES {
            for found in Regex::new(regex).unwrap().find_iter(&all) {
                let char = found.unwrap().as_str().chars().next().unwrap();
                expected[char as usize] |= bit;
            }
        }
        assert!((0..).zip(&expected).all(|(code_point, &bits)| classes().bits_of(code_point) == bits));
    }
}
