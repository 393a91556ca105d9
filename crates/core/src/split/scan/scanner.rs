//! Runs a row's scanner over a text: in blocks, and from piece to piece where a block is uncertain.

use std::fmt;
use std::marker::PhantomData;

use super::block::{Kinds, READ};
use super::class;
use super::text::ScanText;
use crate::simd::{BLOCK, Instructions, MaskWork, Masks, prefetch};

/// The two ways of a row to find its pieces; they agree.
pub trait Scan {
    /// Whether marks belong to words.
    const MARKS_IN_WORDS: bool = false;

    /// The end of the piece that starts at `at`, which is not the end of the text.
    fn piece_end(text: ScanText<'_>, at: usize) -> usize;

    /// The bytes of a block where a piece starts, and the bytes from which on only [`Self::piece_end`] can decide.
    fn piece_starts(kinds: &Kinds, text: &[u8; READ]) -> (u64, u64);
}

/// The scanner of a row of the pattern table.
#[derive(Clone, Copy)]
pub struct Scanner(fn(Instructions, &str, usize, &mut Ends));

impl fmt::Debug for Scanner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Scanner")
    }
}

impl Scanner {
    pub(super) const fn for_row<S: Scan>() -> Self {
        Self(|instructions, text, at, ends| {
            instructions.run(FillWork::<S> { text, at, ends, scan: PhantomData });
        })
    }

    /// Appends the ends of the pieces of `text` from `at` on, until `ends` is full or the text ends.
    #[inline]
    pub fn fill(self, text: &str, at: usize, ends: &mut Ends) {
        self.fill_with(Instructions::best(), text, at, ends);
    }

    /// As [`Self::fill`], with these instructions.
    #[inline]
    pub fn fill_with(self, instructions: Instructions, text: &str, at: usize, ends: &mut Ends) {
        (self.0)(instructions, text, at, ends);
    }
}

/// A buffer of the ends of pieces.
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
    /// Enough room for the ends in one block.
    const ROOM: usize = 256;
    const FULL: usize = Self::ROOM - BLOCK;

    /// Returns the ends and empties the buffer.
    pub fn take(&mut self) -> &[usize] {
        &self.ends[..std::mem::take(&mut self.len)]
    }

    /// Removes the ends.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether the ends must be taken before the next block.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len >= Self::FULL
    }

    /// Appends an end; only while [`Self::is_full`] is false.
    #[inline(always)]
    pub fn push(&mut self, end: usize) {
        self.ends[self.len % Self::ROOM] = end;
        self.len += 1;
    }

    /// Appends an end for every bit; only while [`Self::is_full`] is false.
    #[inline(always)]
    fn push_bits(&mut self, base: usize, bits: u64, places: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        let room = self.ends[self.len..].first_chunk_mut();
        places(base, bits, room.unwrap_or_else(|| unreachable!("there is room for the ends in one block")));
        self.len += bits.count_ones() as usize;
    }
}

/// The bytes that the text is prefetched ahead of a block. The processor itself prefetches sequential reads, but not
/// across pages, and not the beginning of a text.
const AHEAD: usize = 1024;

struct FillWork<'t, 'e, S> {
    text: &'t str,
    at: usize,
    ends: &'e mut Ends,
    scan: PhantomData<S>,
}

impl<S: Scan> MaskWork for FillWork<'_, '_, S> {
    type Result = ();

    #[inline(always)]
    fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks, places: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        let view = ScanText { text: self.text, classes: class::classes() };
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        if at == 0 {
            for line in bytes.chunks(BLOCK).take(AHEAD / BLOCK) {
                prefetch(&line[0]);
            }
        }
        // The last bytes of the text and spaces: a certain start is so whatever comes after. That leaves few pieces.
        let (mut tail, mut is_tail) = ([b' '; READ], false);
        while at < bytes.len() && !self.ends.is_full() {
            if let Some(later) = bytes.get(at + AHEAD) {
                prefetch(later);
            }
            let block = match bytes[at..].first_chunk() {
                None if !is_tail => {
                    is_tail = true;
                    tail[..bytes.len() - at].copy_from_slice(&bytes[at..]);
                    Some(&tail)
                }
                block => block,
            };
            let starts = block.map_or(0, |block| block_starts::<S>(block, view.classes, &masks));
            if starts == 0 {
                at = S::piece_end(view, at);
                self.ends.push(at);
                continue;
            }
            self.ends.push_bits(at, starts, &places);
            at += 63 - starts.leading_zeros() as usize;
        }
    }
}

/// The starts of pieces in the block, without the first byte; 0 if none is certain.
#[inline(always)]
fn block_starts<S: Scan>(text: &[u8; READ], classes: &class::Classes, masks: impl Fn(&[u8; BLOCK]) -> Masks) -> u64 {
    let ascii = masks(text.first_chunk().unwrap_or(&[0; BLOCK]));
    let kinds = Kinds::new(text, ascii, classes, S::MARKS_IN_WORDS);
    let (starts, odd) = S::piece_starts(&kinds, text);
    starts & kinds.certain_starts(odd)
}
