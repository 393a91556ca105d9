//! Reads a text character by character with their classes.

use super::class::{Classes, END, NEWLINE, NUMBER, SPACE};

/// A text with the class table. Positions are bytes, always between two characters.
#[derive(Clone, Copy)]
pub struct ScanText<'t> {
    pub text: &'t str,
    pub classes: &'static Classes,
}

impl ScanText<'_> {
    /// The class bits and length of the character at `at`; no bits and length 0 at the end of the text.
    #[inline(always)]
    pub fn char_at(self, at: usize) -> (u8, usize) {
        let low = |byte: u8| u32::from(byte & 0x3F);
        match self.text.as_bytes()[at..] {
            [byte @ ..0x80, ..] => (self.classes.bits_of(u32::from(byte)), 1),
            [first @ ..0xE0, second, ..] => (self.classes.bits_of(u32::from(first & 0x1F) << 6 | low(second)), 2),
            [first @ ..0xF0, second, third, ..] => {
                (self.classes.bits_of(u32::from(first & 0x0F) << 12 | low(second) << 6 | low(third)), 3)
            }
            [first, second, third, fourth, ..] => {
                let low = low(second) << 12 | low(third) << 6 | low(fourth);
                (self.classes.bits_of(u32::from(first & 0x07) << 18 | low), 4)
            }
            // The end of the text; none ends inside a character.
            _ => (END, 0),
        }
    }

    #[inline]
    pub fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The end of the run of characters from `at` on whose class has one of `bits`.
    #[inline(always)]
    pub fn run_end(self, mut at: usize, bits: u8) -> usize {
        loop {
            let (class, len) = self.char_at(at);
            if class & bits == 0 {
                return at;
            }
            at += len;
        }
    }

    /// The end of the run of letters, digits, or anything else that is not white space.
    #[inline(always)]
    pub fn other_run_end(self, mut at: usize, bits: u8) -> usize {
        loop {
            let (class, len) = self.char_at(at);
            if class & (bits | END) != 0 {
                return at;
            }
            at += len;
        }
    }

    /// The end of at most `most` numbers from `at` on.
    #[inline]
    pub fn numbers_end(self, mut at: usize, most: usize) -> usize {
        for _ in 0..most {
            let (class, len) = self.char_at(at);
            if class & NUMBER == 0 {
                return at;
            }
            at += len;
        }
        at
    }

    /// The end of an apostrophe with s, t, d, m, ll, ve or re at `at`, in any case and with ſ for s; else `at`.
    #[inline]
    pub fn contraction_end(self, at: usize) -> usize {
        if self.byte(at) != Some(b'\'') {
            return at;
        }
        match (self.byte(at + 1).map(|byte| byte | 0x20), self.byte(at + 2).map(|byte| byte | 0x20)) {
            (Some(b's' | b't' | b'd' | b'm'), _) if self.letter(at + 1) => at + 2,
            (Some(b'l'), Some(b'l')) | (Some(b'v' | b'r'), Some(b'e'))
                if self.letter(at + 1) && self.letter(at + 2) =>
            {
                at + 3
            }
            _ if self.text.as_bytes()[at + 1..].starts_with("ſ".as_bytes()) => at + 1 + "ſ".len(),
            _ => at,
        }
    }

    #[inline]
    fn letter(self, at: usize) -> bool {
        self.byte(at).is_some_and(|byte| byte.is_ascii_alphabetic())
    }

    /// The end of a piece of white space at `at`, where no other branch matched. The piece extends to the last newline
    /// of the run. Without a newline it is the run without its last character, which belongs to the next piece. With
    /// `whole_at_end`, a run that ends the text stays whole even if it has a newline.
    #[inline]
    pub fn white_space_end(self, at: usize, newlines: bool, whole_at_end: bool) -> usize {
        let (mut end, mut last, mut after_newline) = (at, at, at);
        loop {
            let (class, len) = self.char_at(end);
            if class & SPACE == 0 {
                break;
            }
            last = end;
            end += len;
            if class & NEWLINE != 0 {
                after_newline = end;
            }
        }
        let ends_text = end == self.text.len();
        if newlines && after_newline > at && !(ends_text && whole_at_end) {
            return after_newline;
        }
        if ends_text || last == at { end } else { last }
    }
}
