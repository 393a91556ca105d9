//! Merging a short stretch without touching the heap: the twin of [`crate::merge::rule::rescan`].
//!
//! Pairs wait with their positions in one word each, the rank in the higher bits, so that the smallest word is the
//! lowest rank and the leftmost of equals. [`ShortSymbols`] joins the lowest pair and returns the two new pairs. The
//! caller provides the merges: [`crate::fast::batch_merge`] for bytes, [`crate::kinds::sentencepiece::merge`] for
//! characters.

use std::ops::Range;

use crate::fast::byte_pairs::NEVER;
use crate::slots::key::LONGEST;
use crate::vocab::Merge;

const ROOM: usize = LONGEST + 1;

/// The symbols of a stretch of at most [`LONGEST`] bytes, by the position of their first byte.
#[derive(Debug, Clone, Copy)]
pub struct ShortSymbols {
    len: usize,
    /// A bit for every byte that a symbol starts with, and for the end.
    starts: u64,
    ids: [u32; ROOM],
    /// The merge of the symbol and the next one, as rank and position; `NEVER` for none.
    waiting: [u32; ROOM],
    /// The id of that merge.
    merge_ids: [u32; ROOM],
}

impl Default for ShortSymbols {
    fn default() -> Self {
        Self { len: 0, starts: 1, ids: [0; ROOM], waiting: [NEVER; ROOM], merge_ids: [0; ROOM] }
    }
}

impl ShortSymbols {
    /// Begins a stretch of `len` bytes, at most [`LONGEST`]. `starts` has a bit for each byte that a symbol starts
    /// with.
    #[inline(always)]
    pub fn begin(&mut self, len: usize, starts: u64) {
        self.len = len;
        self.starts = starts | 1 << len;
        self.waiting[..16].fill(NEVER);
        if len > 16 {
            self.waiting[16..].fill(NEVER);
        }
    }

    /// Sets the id of the symbol at `at`.
    #[inline(always)]
    pub fn set_id(&mut self, at: usize, id: u32) {
        self.ids[at % ROOM] = id;
    }

    /// Sets the merge of the symbol at `at` and the next one.
    #[inline(always)]
    pub fn set_merge(&mut self, at: usize, merge: Merge) {
        self.waiting[at % ROOM] = merge.rank << 5 | at as u32;
        self.merge_ids[at % ROOM] = merge.id;
    }

    /// Joins the two symbols that merge next, and returns the two new pairs: the joined symbol and the one after it,
    /// and the one before it and the joined symbol. Each is the range of both symbols, empty if there is no such
    /// symbol. None if no merge waits.
    #[inline(always)]
    pub fn join_lowest(&mut self) -> Option<[Range<usize>; 2]> {
        let at = self.lowest_pair()?;
        let right = self.symbol_end(at);
        self.starts &= !(1 << right);
        self.ids[at % ROOM] = self.merge_ids[at % ROOM];
        let (end, before) = (self.symbol_end(at), self.symbol_before(at));
        self.waiting[right % ROOM] = NEVER;
        self.waiting[at % ROOM] = NEVER;
        self.waiting[before % ROOM] = NEVER;
        let after = if end < self.len { self.symbol_end(end) } else { at };
        let before_end = if at > 0 { end } else { before };
        Some([at..after, before..before_end])
    }

    /// All pairs of neighbours, as the range of both symbols.
    #[inline(always)]
    pub fn pairs(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (len, mut starts, mut at) = (self.len, self.starts & (self.starts - 1), 0);
        std::iter::from_fn(move || {
            let right = starts.trailing_zeros() as usize;
            if right >= len {
                return None;
            }
            starts &= starts - 1;
            let pair = at..starts.trailing_zeros() as usize;
            at = right;
            Some(pair)
        })
    }

    /// The ids of the symbol at `at` and of the next one.
    #[inline(always)]
    #[must_use]
    pub fn ids_at(&self, at: usize) -> [u32; 2] {
        [self.ids[at % ROOM], self.ids[self.symbol_end(at) % ROOM]]
    }

    /// The symbols: the range and the id of each.
    #[inline(always)]
    pub fn symbols(&self) -> impl Iterator<Item = (Range<usize>, u32)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            (start < self.len).then(|| {
                at = self.symbol_end(start);
                (start..at, self.ids[start % ROOM])
            })
        })
    }

    /// The position of the pair that merges next.
    #[inline(always)]
    fn lowest_pair(&self) -> Option<usize> {
        let mut lowest = [NEVER; 8];
        let waiting = if self.len > 16 { &self.waiting[..] } else { &self.waiting[..16] };
        for lane in waiting.chunks_exact(8) {
            for (low, &word) in lowest.iter_mut().zip(lane) {
                *low = (*low).min(word);
            }
        }
        let low = lowest.into_iter().fold(NEVER, u32::min);
        (low != NEVER).then_some((low & 31) as usize)
    }

    /// The end of the symbol at `at`, where the next one starts.
    #[inline(always)]
    fn symbol_end(&self, at: usize) -> usize {
        (self.starts & u64::MAX << at << 1).trailing_zeros() as usize
    }

    /// The start of the symbol before; `at` if there is none.
    #[inline(always)]
    fn symbol_before(&self, at: usize) -> usize {
        let before = self.starts & ((1 << at) - 1);
        if before == 0 { at } else { 63 - before.leading_zeros() as usize }
    }
}
