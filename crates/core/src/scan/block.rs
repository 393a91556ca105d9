//! Piece starts in a block of ASCII, by bit algebra instead of a walk.
//!
//! A block starts where a piece starts. As no pattern looks behind, where the pieces of the block start depends on its
//! own bytes only; what depends on bytes after it is left out, and the next block starts at the last start found. A
//! start bit is set for every byte whose piece does not hold the byte before.

use super::Scanner;
use crate::simd::{BLOCK, Masks, masks};

/// The starts of pieces in the block, the first byte's left out; 0 if nothing is certain.
#[inline]
pub fn starts(scanner: Scanner, block: &[u8; BLOCK]) -> u64 {
    let masks = masks(block);
    let kinds = Kinds::new(masks);
    // Where an apostrophe is too near to the end to see whether it begins a contraction.
    let unseen = masks.apostrophe & 0b11 << 62;
    let (starts, odd) = match scanner {
        Scanner::Gpt2 => (kinds.gpt2(block), unseen),
        Scanner::Cl100k | Scanner::Llama3 => (kinds.cl100k(block) | kinds.threes(), kinds.odd_space()),
        Scanner::Qwen2 => (kinds.cl100k(block) | masks.digit, kinds.odd_space()),
        Scanner::O200k => {
            // The long s of a contraction is not ASCII, and slashes go on after the newlines of others.
            let unseen = unseen | masks.apostrophe & masks.not_ascii >> 1 | masks.slash & masks.newline << 1;
            (kinds.o200k(block) | kinds.threes(), kinds.odd_space() | unseen)
        }
    };
    starts & kinds.certain(odd) & !1
}

/// The masks of a block with those that are made of them.
struct Kinds {
    masks: Masks,
    letter: u64,
    /// White space but newlines.
    blank: u64,
    white: u64,
    other: u64,
    ascii: u64,
}

impl Kinds {
    #[inline]
    fn new(masks: Masks) -> Self {
        let letter = masks.upper | masks.lower;
        let blank = masks.space | masks.tab;
        let white = blank | masks.newline;
        // The bytes before the first that is not ASCII.
        let ascii = (masks.not_ascii & masks.not_ascii.wrapping_neg()).wrapping_sub(1);
        let other = !(letter | masks.digit | white) & ascii;
        Self { masks, letter, blank, white, other, ascii }
    }

    /// The bytes whose start bits do not depend on what comes after the ASCII bytes of the block, nor on anything from
    /// the white space before the first bit of `odd` on.
    #[inline]
    fn certain(&self, odd: u64) -> u64 {
        let before_odd = (odd & odd.wrapping_neg()).wrapping_sub(1);
        let solid = !self.white & self.ascii & before_odd;
        // From the last byte that is no white space downwards; it may itself be a start.
        u64::MAX.checked_shr(solid.leading_zeros()).unwrap_or(0)
    }

    /// Newlines after blanks: such a run of white space is cut elsewhere.
    #[inline]
    fn odd_space(&self) -> u64 {
        self.masks.newline & self.blank << 1
    }

    /// Every third digit of a run.
    #[inline]
    fn threes(&self) -> u64 {
        let digit = self.masks.digit;
        let fourth = digit & digit << 1 & digit << 2 & digit << 3;
        let mut starts = 0;
        if fourth != 0 {
            let mut next = (digit & !(digit << 1)) << 3 & fourth;
            while next != 0 {
                starts |= next;
                next = next << 3 & fourth;
            }
        }
        starts
    }

    /// Starts of others: runs of them, which take one space before.
    #[inline]
    fn other_starts(&self) -> u64 {
        self.other & !(self.other << 1) & !(self.masks.space << 1)
    }

    #[inline]
    fn gpt2(&self, block: &[u8; BLOCK]) -> u64 {
        let space = self.masks.space << 1;
        let digit = self.masks.digit;
        let other = self.other_starts();
        let words = self.letter & !(self.letter << 1) & !space;
        let numbers = digit & !(digit << 1) & !space;
        let white = self.white & !(self.white << 1 & self.white >> 1);
        let mut starts = words | numbers | other | white;
        let mut apostrophes = self.masks.apostrophe & other & self.letter >> 1;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if let Some(len) = contraction(block, at, false) {
                starts = starts & !(1 << (at + 1)) | (self.letter & 1u64.checked_shl((at + len) as u32).unwrap_or(0));
            }
        }
        starts
    }

    #[inline]
    fn cl100k(&self, block: &[u8; BLOCK]) -> u64 {
        let digit = self.masks.digit;
        let other = self.other_starts();
        let words = self.letter & !(self.letter << 1) & !(self.blank << 1) & !(other << 1);
        let mut starts = words | digit & !(digit << 1) | other | self.white_starts();
        let mut apostrophes = self.masks.apostrophe & other & self.letter >> 1;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if let Some(len) = contraction(block, at, true) {
                starts |= self.letter & 1u64.checked_shl((at + len) as u32).unwrap_or(0);
            }
        }
        starts
    }

    #[inline]
    fn o200k(&self, block: &[u8; BLOCK]) -> u64 {
        let digit = self.masks.digit;
        let other = self.other_starts();
        let words = self.letter & !(self.letter << 1) & !(self.blank << 1) & !(other << 1);
        let humps = self.masks.upper & self.masks.lower << 1;
        let mut starts = words | humps | digit & !(digit << 1) | other | self.white_starts();
        // A contraction belongs to the word before it; what follows one is no such word.
        let mut apostrophes = self.masks.apostrophe & self.letter << 1 & self.letter >> 1;
        let mut after_last = 0;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if at != after_last && let Some(len) = contraction(block, at, true) {
                after_last = at + len;
                let inside = 1u64 << at | 1u64 << (at + 1) | 1u64.checked_shl(at as u32 + 2).unwrap_or(0) * (len as u64 - 2);
                let after = self.letter & 1u64.checked_shl(after_last as u32).unwrap_or(0);
                starts = starts & !inside | after;
            }
        }
        starts
    }

    /// Starts in white space, where no newline comes after a blank: the run itself if it is not the newlines of others,
    /// what follows its newlines, and its last blank, which belongs to what comes after.
    #[inline]
    fn white_starts(&self) -> u64 {
        let newlines = self.masks.newline & !(self.masks.newline << 1) & !(self.other << 1);
        let blanks = self.blank & !(self.blank << 1 & self.white >> 1);
        newlines | blanks
    }
}

/// The length of the contraction at `at`, if there is one and all of it is in the block.
#[inline]
fn contraction(block: &[u8; BLOCK], at: usize, any_case: bool) -> Option<usize> {
    let fold = |byte: u8| if any_case { byte.to_ascii_lowercase() } else { byte };
    let first = fold(*block.get(at + 1)?);
    match (first, block.get(at + 2).map(|&byte| fold(byte))) {
        (b's' | b't' | b'd' | b'm', _) => Some(2),
        (b'l', Some(b'l')) | (b'v' | b'r', Some(b'e')) => Some(3),
        _ => None,
    }
}
