//! Finds the piece starts in a block of text by bit algebra.
//!
//! A block starts where a piece starts. No pattern has a look-behind, so only the bytes from there on decide the piece
//! starts of the block. Starts that depend on bytes after the block are left out, and so is everything from the first
//! place that bit algebra cannot decide. The next block starts at the last start found. Every byte has the kind of its
//! character, so that "the character before" is the byte before. A start bit is set for every byte whose piece does not
//! hold the byte before.

use super::class::{CASELESS, Classes, LETTER, LOWER, NUMBER, SPACE, UPPER};
use crate::simd::{BLOCK, Masks};

/// The bytes read for a block: its own, and the next ones, which its last character can extend into.
pub const READ: usize = BLOCK + 3;

/// The kinds of the bytes of a block. Every byte before `end` is exactly one of `letter`, `number`, `blank`, `newline`
/// and `other`.
pub struct Kinds {
    /// The characters of words, including marks if the row has them in words.
    pub letter: u64,
    pub upper: u64,
    pub lower: u64,
    /// Letters without case, and marks if they are in words.
    pub caseless: u64,
    /// Marks, if they are in words.
    pub mark: u64,
    pub number: u64,
    /// U+0020.
    pub space: u64,
    /// White space except newlines.
    pub blank: u64,
    pub newline: u64,
    pub white: u64,
    pub other: u64,
    pub apostrophe: u64,
    pub slash: u64,
    pub not_ascii: u64,
    pub inner: u64,
    /// The bytes of whole characters.
    pub whole: u64,
}

impl Kinds {
    #[inline(always)]
    pub fn new(text: &[u8; READ], ascii: Masks, classes: &Classes, marks: bool) -> Self {
        let mut kinds = Self {
            letter: ascii.upper | ascii.lower,
            upper: ascii.upper,
            lower: ascii.lower,
            caseless: 0,
            mark: 0,
            number: ascii.digit,
            space: ascii.space,
            blank: ascii.space | ascii.tab,
            newline: ascii.newline,
            white: 0,
            other: 0,
            apostrophe: ascii.apostrophe,
            slash: ascii.slash,
            not_ascii: ascii.not_ascii,
            inner: ascii.inner,
            whole: u64::MAX,
        };
        if ascii.not_ascii != 0 {
            kinds.add_letters(&ascii);
            let firsts = ascii.not_ascii & !(ascii.inner | ascii.han | ascii.wide_upper | ascii.wide_lower);
            kinds.add_others(text, firsts, classes, marks);
        }
        kinds.white = kinds.blank | kinds.newline;
        kinds.other = !(kinds.letter | kinds.number | kinds.white) & kinds.whole;
        kinds
    }

    /// Adds the letters that byte values alone decide.
    #[inline(always)]
    fn add_letters(&mut self, masks: &Masks) {
        let three = masks.han | masks.han << 1 | masks.han << 2;
        let (upper, lower) = (masks.wide_upper | masks.wide_upper << 1, masks.wide_lower | masks.wide_lower << 1);
        self.upper |= upper;
        self.lower |= lower;
        self.caseless |= three;
        self.letter |= three | upper | lower;
    }

    /// Adds the other characters that are not ASCII.
    #[inline(always)]
    fn add_others(&mut self, text: &[u8; READ], mut firsts: u64, classes: &Classes, marks: bool) {
        let (mut upper, mut lower, mut caseless, mut letter, mut blank) = (0, 0, 0, 0, 0);
        while firsts != 0 {
            let at = firsts.trailing_zeros() as usize;
            firsts &= firsts - 1;
            let (class, len) = wide_class(&text[at..], classes);
            if at + len > BLOCK {
                self.whole = (1 << at) - 1;
            }
            let span = ((1u64 << len) - 1) << at;
            let when = |bit: u8| if class & bit != 0 { span } else { 0 };
            letter |= when(LETTER);
            upper |= when(UPPER);
            lower |= when(LOWER);
            caseless |= when(CASELESS);
            self.number |= when(NUMBER);
            blank |= when(SPACE);
        }
        self.mark = caseless & !letter;
        self.letter |= if marks { letter | caseless } else { letter };
        self.upper |= upper;
        self.lower |= lower;
        self.caseless |= caseless;
        self.blank |= blank;
    }

    /// The first bytes of characters whose start bits depend neither on bytes after the whole characters of the block,
    /// nor on anything from the white space before the first bit of `odd` on. The block's first byte is left out.
    #[inline(always)]
    pub fn certain_starts(&self, odd: u64) -> u64 {
        // An apostrophe too near the end to decide whether it begins a contraction, or one that the long s can follow.
        let odd = odd | self.apostrophe & (0b11 << 62 | self.not_ascii >> 1);
        let before_odd = (odd & odd.wrapping_neg()).wrapping_sub(1);
        let solid = !self.white & self.whole & before_odd;
        // The last byte that is not white space, which can be a start, and all bytes before it.
        u64::MAX.checked_shr(solid.leading_zeros()).unwrap_or(0) & !(self.inner | 1)
    }

    /// Starts of numbers: every third digit of a run.
    #[inline(always)]
    pub fn number_starts(&self) -> u64 {
        let digit = self.number;
        // A fourth digit starts a piece if the digit three before it does.
        let mut passed_on = digit & digit << 1 & digit << 2 & digit << 3;
        let mut starts = digit & !(digit << 1);
        if passed_on != 0 {
            for steps in [3, 6, 12, 24, 48] {
                starts |= starts << steps & passed_on;
                passed_on &= passed_on << steps;
            }
        }
        starts
    }

    /// Starts of others: runs of them, which take one space before them.
    #[inline(always)]
    pub fn other_starts(&self) -> u64 {
        self.other & !(self.other << 1) & !(self.space << 1)
    }

    /// All bytes of the characters whose first byte is in `firsts`.
    #[inline(always)]
    fn characters(&self, firsts: u64) -> u64 {
        let second = firsts | firsts << 1 & self.inner;
        let third = second | second << 1 & self.inner;
        third | third << 1 & self.inner
    }

    /// Starts of words: letters after neither a letter, nor a blank, nor an other that starts a piece.
    #[inline(always)]
    pub fn word_starts(&self, other_starts: u64) -> u64 {
        self.letter & !((self.letter | self.blank | self.characters(other_starts)) << 1)
    }

    /// The first bytes of the last characters of runs of `kind`, of characters of up to three bytes.
    #[inline(always)]
    pub fn last_of_runs(&self, kind: u64) -> u64 {
        let back = |last: u64| last & !self.inner | (last & self.inner) >> 1;
        back(back(kind & !(kind >> 1)))
    }

    /// Starts in white space. Newlines right after others belong to these. In the rest of a run, everything up to the
    /// last newline is a piece. So are the blanks after it, except the last one, which belongs to the next piece.
    #[inline(always)]
    pub fn white_starts(&self) -> u64 {
        let newlines = self.newline & !(self.newline << 1) & !(self.other << 1);
        let blanks = self.blank & !(self.blank << 1) | self.last_of_runs(self.white) & self.blank;
        let mut starts = newlines | blanks;
        let mut ends = self.newline & self.blank << 1;
        if ends != 0 {
            let of_others = self.newline & self.other << 1;
            let free = self.white & !(self.newline & !self.newline.wrapping_add(of_others));
            while ends != 0 {
                let before = (ends & ends.wrapping_neg()) - 1;
                ends &= ends - 1;
                // From the second byte of the run to the newline.
                let first = 64 - (!free & before).leading_zeros();
                starts &= !((before << 1 | 1) & u64::MAX.checked_shl(first + 1).unwrap_or(0));
            }
        }
        starts
    }
}

/// The class and length of a character that is not ASCII.
#[inline(always)]
fn wide_class(bytes: &[u8], classes: &Classes) -> (u8, usize) {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match *bytes {
        [first @ 0xE0..0xF0, second, third, ..] => {
            (classes.bits_of(u32::from(first & 0x0F) << 12 | low(second) << 6 | low(third)), 3)
        }
        [first @ ..0xE0, second, ..] => (classes.bits_of(u32::from(first & 0x1F) << 6 | low(second)), 2),
        [first, second, third, fourth, ..] => {
            (classes.bits_of(u32::from(first & 0x07) << 18 | low(second) << 12 | low(third) << 6 | low(fourth)), 4)
        }
        // A block is read with the bytes that its last character extends into.
        _ => (0, 1),
    }
}

#[inline(always)]
pub fn bit(at: usize) -> u64 {
    if at < BLOCK { 1 << at } else { 0 }
}

/// The length of the contraction at `at`, if there is one.
#[inline(always)]
pub fn contraction(text: &[u8; READ], at: usize, any_case: bool) -> Option<usize> {
    let fold = |byte: u8| if any_case { byte.to_ascii_lowercase() } else { byte };
    match (fold(text[at + 1]), fold(text[at + 2])) {
        (b's' | b't' | b'd' | b'm', _) => Some(2),
        (b'l', b'l') | (b'v' | b'r', b'e') => Some(3),
        _ => None,
    }
}
