//! Hand-written scanners: for a known pattern, where the piece that starts here ends.
//!
//! Each gives exactly the matches of its regex, on every text and in linear time; tests hold the two equal. They can be
//! left out (`TOKSMITH_SLOW=1`) without changing one piece.

mod block;
mod cl100k;
pub(crate) mod class;
mod gpt2;
mod o200k;

use class::{Classes, NEWLINE};

use crate::simd::{AsksMasks, BLOCK, Masks, with_masks};

/// One scanner of the pattern table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scanner {
    /// `gpt2` and `gpt2_original`, which have equal matches.
    Gpt2,
    /// `cl100k`: a run of white space at the end of the text stays whole.
    Cl100k,
    /// `cl100k_minbpe` and `llama3`, which have equal matches.
    Llama3,
    /// `qwen2`: digits stand alone.
    Qwen2,
    /// `o200k`: words may be cut where lower case turns to upper case.
    O200k,
}

impl Scanner {
    /// Appends the ends of the next pieces of `text`, which go on at `at`, until `ends` is full or the text ends.
    pub fn fill(self, text: &str, at: usize, ends: &mut Ends) {
        with_masks(Fill { scanner: self, text, at, ends });
    }
}

/// How many ends are written at a time.
const STRIDE: usize = 8;

/// The ends of some pieces, one after another.
#[derive(Debug)]
pub struct Ends {
    ends: [usize; Self::ROOM],
    len: usize,
}

impl Default for Ends {
    fn default() -> Self {
        Self { ends: [0; Self::ROOM], len: 0 }
    }
}

impl Ends {
    /// There is always room for the ends in one block.
    const ROOM: usize = 256;
    const FULL: usize = Self::ROOM - BLOCK - STRIDE;

    /// Leaves none, and gives what there were.
    pub fn take(&mut self) -> &[usize] {
        &self.ends[..std::mem::take(&mut self.len)]
    }

    /// Leaves none.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether it is time to take them.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len >= Self::FULL
    }

    /// Appends one; only while they are not full.
    #[inline(always)]
    pub fn push(&mut self, end: usize) {
        self.ends[self.len % Self::ROOM] = end;
        self.len += 1;
    }

    /// Appends an end for every bit; only while they are not full. Eight are written at a time, so that the processor
    /// need not guess how many there are.
    #[inline(always)]
    fn push_bits(&mut self, base: usize, mut bits: u64) {
        let room = &mut self.ends[self.len..];
        self.len += bits.count_ones() as usize;
        for eight in room.chunks_exact_mut(STRIDE) {
            for end in eight {
                *end = base + bits.trailing_zeros() as usize;
                bits &= bits.wrapping_sub(1);
            }
            if bits == 0 {
                return;
            }
        }
    }
}

struct Fill<'t, 'e> {
    scanner: Scanner,
    text: &'t str,
    at: usize,
    ends: &'e mut Ends,
}

impl AsksMasks for Fill<'_, '_> {
    type Result = ();

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks) {
        match self.scanner {
            Scanner::Gpt2 => self.fill(Scanner::Gpt2, gpt2::end, masks),
            Scanner::Cl100k => self.fill(Scanner::Cl100k, cl100k::end::<3, true>, masks),
            Scanner::Llama3 => self.fill(Scanner::Llama3, cl100k::end::<3, false>, masks),
            Scanner::Qwen2 => self.fill(Scanner::Qwen2, cl100k::end::<1, false>, masks),
            Scanner::O200k => self.fill(Scanner::O200k, o200k::end, masks),
        }
    }
}

impl Fill<'_, '_> {
    #[inline(always)]
    fn fill(self, scanner: Scanner, end: impl Fn(Text<'_>, usize) -> usize, masks: impl Fn(&[u8; BLOCK]) -> Masks) {
        let view = Text { text: self.text, classes: class::classes() };
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while at < bytes.len() && !self.ends.is_full() {
            let block = bytes[at..].first_chunk();
            let starts = block.map_or(0, |block| block::starts(scanner, block, view.classes, &masks));
            if starts == 0 {
                at = end(view, at);
                self.ends.push(at);
                continue;
            }
            self.ends.push_bits(at, starts);
            at += 63 - starts.leading_zeros() as usize;
        }
    }
}

/// A text with the class table at hand. Positions are bytes and always stand between characters.
#[derive(Clone, Copy)]
struct Text<'t> {
    text: &'t str,
    classes: &'static Classes,
}

impl Text<'_> {
    /// The class bits and length of the character at `at`; no bits and length 0 at the end of the text.
    #[inline(always)]
    fn look(self, at: usize) -> (u8, usize) {
        let low = |byte: u8| u32::from(byte & 0x3F);
        match self.text.as_bytes()[at..] {
            [byte @ ..0x80, ..] => (self.classes.of(u32::from(byte)), 1),
            [first @ ..0xE0, second, ..] => (self.classes.of(u32::from(first & 0x1F) << 6 | low(second)), 2),
            [first @ ..0xF0, second, third, ..] => {
                (self.classes.of(u32::from(first & 0x0F) << 12 | low(second) << 6 | low(third)), 3)
            }
            [first, second, third, fourth, ..] => {
                let low = low(second) << 12 | low(third) << 6 | low(fourth);
                (self.classes.of(u32::from(first & 0x07) << 18 | low), 4)
            }
            // The end of the text; none ends inside a character.
            _ => (class::END, 0),
        }
    }

    #[inline]
    fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The end of the run of characters from `at` on whose class has one of `bits`.
    #[inline(always)]
    fn run(self, mut at: usize, bits: u8) -> usize {
        loop {
            let (class, len) = self.look(at);
            if class & bits == 0 {
                return at;
            }
            at += len;
        }
    }

    /// The end of the run of letters, digits, or anything else that is no white space.
    #[inline(always)]
    fn run_without(self, mut at: usize, bits: u8) -> usize {
        loop {
            let (class, len) = self.look(at);
            if class & (bits | class::END) != 0 {
                return at;
            }
            at += len;
        }
    }

    /// The end of at most `most` numbers from `at` on.
    #[inline]
    fn numbers(self, mut at: usize, most: usize) -> usize {
        for _ in 0..most {
            let (class, len) = self.look(at);
            if class & class::NUMBER == 0 {
                return at;
            }
            at += len;
        }
        at
    }

    /// The end of an apostrophe with s, t, d, m, ll, ve or re at `at`, in any case and with ſ for s; else `at`.
    #[inline]
    fn contraction(self, at: usize) -> usize {
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

    /// The end of a piece of white space at `at`, where no other branch matched: up to the last newline of the run;
    /// without one, the run less its last character, which belongs to what follows. `whole_at_end`: a run that ends
    /// the text stays whole even if it has a newline.
    #[inline]
    fn white_space(self, at: usize, newlines: bool, whole_at_end: bool) -> usize {
        let (mut end, mut last, mut after_newline) = (at, at, at);
        loop {
            let (class, len) = self.look(end);
            if class & class::SPACE == 0 {
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

#[cfg(test)]
mod tests;
