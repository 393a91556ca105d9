//! Where tokens end in a text, one bit a byte.
//!
//! A pass over ids gives the width of one token after another. It marks the byte after each token: a store that waits for
//! nothing and needs no bit shifted into its place. The marks of a window become bits, 64 with a few instructions, while
//! the window is near the processor.

use crate::simd::{AsksMasks, BLOCK, Masks, with_masks};

/// Bytes of the text in a window.
const WINDOW: usize = 1 << 12;
/// [`EndWriter::take`] ends so many tokens together, …
const TOGETHER: usize = 4;
/// … which may be so wide.
const WIDEST: usize = BLOCK - 1;
/// A window has room behind it for the ends of tokens that begin in it.
const ROOM: usize = WINDOW / BLOCK + TOGETHER;
/// Marks are the only bytes that are not ASCII.
const MARK: u8 = 0x80;

/// Bit `at % 64` of word `at / 64` is set if a token ends before the byte at `at`.
#[derive(Debug)]
pub struct TokenEnds {
    words: Vec<u64>,
    /// No mark is set between two texts.
    marks: Box<[[u8; BLOCK]; ROOM]>,
}

impl Default for TokenEnds {
    fn default() -> Self {
        Self { words: Vec::new(), marks: Box::new([[0; BLOCK]; ROOM]) }
    }
}

impl TokenEnds {
    /// No ends in a text of so many bytes.
    fn clear(&mut self, bytes: usize) {
        self.words.clear();
        self.words.resize(bytes / BLOCK + 2, 0);
    }

    /// Sets the ends in a text of so many bytes, one after another.
    pub fn writer(&mut self, bytes: usize) -> EndWriter<'_> {
        self.clear(bytes);
        EndWriter { words: &mut self.words, marks: &mut self.marks, base: 0, at: 0 }
    }

    /// Sets ends that are known, in a text of so many bytes.
    pub fn place(&mut self, ends: &[usize], bytes: usize) {
        self.clear(bytes);
        for &end in ends {
            self.words[end / BLOCK] |= 1 << (end % BLOCK);
        }
    }

    /// The words of so many blocks from that of the byte at `start` on.
    #[inline(always)]
    #[must_use]
    pub fn blocks(&self, start: usize, count: usize) -> &[u64] {
        &self.words[start / BLOCK..][..count]
    }

    /// The 64 bits from `at` on.
    #[inline(always)]
    #[must_use]
    pub fn bits(&self, at: usize) -> u64 {
        let (low, high) = (self.words[at / BLOCK], self.words.get(at / BLOCK + 1).copied().unwrap_or(0));
        ((u128::from(high) << BLOCK | u128::from(low)) >> (at % BLOCK)) as u64
    }

    /// How many tokens end behind `start` and not behind `end`.
    #[inline(always)]
    #[must_use]
    pub fn between(&self, start: usize, end: usize) -> u64 {
        let (mut at, mut count) = (start + 1, 0);
        while at <= end {
            let kept = (end - at + 1).min(BLOCK);
            count += u64::from((self.bits(at) & u64::MAX >> (BLOCK - kept)).count_ones());
            at += kept;
        }
        count
    }
}

/// Sets ends of tokens one after another.
#[derive(Debug)]
pub struct EndWriter<'e> {
    words: &'e mut [u64],
    marks: &'e mut [[u8; BLOCK]; ROOM],
    /// Where the window begins in the text.
    base: usize,
    /// Where the last token ends in the window.
    at: usize,
}

impl EndWriter<'_> {
    /// Where the last token ends.
    #[must_use]
    pub fn at(&self) -> usize {
        self.base + self.at
    }

    /// Ends a token of so many bytes.
    pub fn end(&mut self, width: usize) {
        self.at += width;
        self.turn();
        self.marks.as_flattened_mut()[self.at] = MARK;
    }

    /// Ends tokens, four at a time, until `width` does not know one, and says how many. No width may be above 63.
    #[inline(always)]
    pub fn take(&mut self, ids: &[u32], mut width: impl FnMut(u32) -> Option<usize>) -> usize {
        let (mut rest, mut taken) = (ids.as_chunks::<TOGETHER>().0, 0);
        while !rest.is_empty() {
            self.turn();
            let (marks, mut at) = (self.marks.as_flattened_mut(), self.at);
            'window: while let Some((ids, more)) = rest.split_first().filter(|_| at < WINDOW) {
                for &id in ids {
                    let Some(width) = width(id) else {
                        rest = &[];
                        break 'window;
                    };
                    at += width.min(WIDEST);
                    marks[at] = MARK;
                    taken += 1;
                }
                rest = more;
            }
            self.at = at;
        }
        taken
    }

    /// Ends the text. What is set behind it means nothing.
    pub fn done(mut self) {
        self.turn();
        self.set_bits(self.at / BLOCK + 1);
    }

    /// Goes on to the window of the last end.
    #[inline(always)]
    fn turn(&mut self) {
        while self.at >= WINDOW {
            self.set_bits(WINDOW / BLOCK);
            for place in 0..TOGETHER {
                self.marks.swap(place, WINDOW / BLOCK + place);
            }
            (self.base, self.at) = (self.base + WINDOW, self.at - WINDOW);
        }
    }

    /// Makes bits of the marks in the first blocks, and removes the marks.
    #[inline(never)]
    fn set_bits(&mut self, blocks: usize) {
        let words = self.words.get_mut(self.base / BLOCK..).unwrap_or_default();
        with_masks(SetBits { marks: &mut self.marks[..blocks], words });
    }
}

/// The walk over the marks of a window.
struct SetBits<'w> {
    marks: &'w mut [[u8; BLOCK]],
    words: &'w mut [u64],
}

impl AsksMasks for SetBits<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        for (block, word) in self.marks.iter().zip(self.words) {
            *word = masks(block).not_ascii;
        }
        self.marks.as_flattened_mut().fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    #[test]
    fn a_writer_sets_the_ends_that_are_known() {
        let (mut written, mut placed) = (TokenEnds::default(), TokenEnds::default());
        let mut draw = Draw(7);
        for round in 0..300 {
            let mut ids = Vec::new();
            let (mut ends, mut bytes) = (Vec::new(), 0);
            while bytes < round * 61 {
                // A few tokens are wider than the room behind a window, or than a window.
                let width = if draw.below(256) == 0 { draw.below(3 * WINDOW) } else { 1 + draw.below(WIDEST) };
                ids.push(width as u32);
                bytes += width;
                ends.push(bytes);
            }
            // The text ends before its tokens do in every other round.
            let size = bytes - if round % 2 == 0 { 0 } else { bytes.min(100) };
            let mut writer = written.writer(size);
            let mut rest = &ids[..];
            while let [_, ..] = rest {
                let taken = writer.take(rest, |id| Some(id as usize).filter(|&width| width <= WIDEST));
                rest = &rest[taken..];
                if let [wide, more @ ..] = rest {
                    writer.end(*wide as usize);
                    rest = more;
                }
            }
            assert_eq!(writer.at(), bytes);
            writer.done();
            placed.place(&ends.iter().copied().filter(|&end| end <= size).collect::<Vec<_>>(), size);
            assert_eq!(written.between(0, size), placed.between(0, size), "{ends:?}");
            assert!((0..=size).all(|at| written.bits(at) & 1 == placed.bits(at) & 1), "{ends:?}");
            assert!(written.marks.as_flattened().iter().all(|&mark| mark == 0));
        }
    }
}
