//! Merging a short stretch without touching the heap: the twin of [`crate::merge::rule::rescan`].
//!
//! Pairs wait beside their positions in one word each, the rank in the higher bits, so that the smallest word is the
//! lowest rank and the leftmost of equals. [`ShortSymbols`] is the loop; what merges, [`Neighbours`] says: [`merge_stretch`]
//! merges bytes, [`crate::kinds::sentencepiece::merge`] characters.

use std::ops::Range;

use crate::vocab::index::Sought;
use crate::vocab::key::{LONGEST, Window};
use crate::vocab::{Merge, MergeRule, Vocab};

const ROOM: usize = LONGEST + 1;
const NEVER: u32 = u32::MAX;

/// Which neighbours merge. They are named by the bytes of both, as a range of the stretch.
pub trait Neighbours {
    /// Asks for what [`Self::merge`] will look at soon; None if they do not merge.
    fn expect(&self, joined: Range<usize>) -> Option<Sought>;

    /// The merge of two ids, given what was expected.
    fn merge(&self, ids: [u32; 2], joined: Range<usize>, expected: Option<Sought>) -> Option<Merge>;
}

/// The symbols of a stretch of at most [`LONGEST`] bytes, by the position of their first byte.
pub struct ShortSymbols {
    len: usize,
    ids: [u32; ROOM],
    /// Where the symbol ends and the next one starts.
    ends: [u8; ROOM],
    /// Where the symbol before starts.
    before: [u8; ROOM],
    /// The merge of the symbol and the next one, as rank and position; `NEVER` for none.
    waiting: [u32; ROOM],
    /// The id which that merge makes.
    made: [u32; ROOM],
}

impl ShortSymbols {
    /// The symbols of a stretch of so many bytes, each with where it ends; the first starts at 0.
    #[inline(always)]
    #[must_use]
    pub fn new(len: usize, symbols: impl Iterator<Item = (usize, u32)>) -> Self {
        let (ids, ends, before) = ([0; ROOM], [0; ROOM], [0; ROOM]);
        let mut made = Self { len, ids, ends, before, waiting: [NEVER; ROOM], made: [0; ROOM] };
        let (mut start, mut last) = (0, 0);
        for (end, id) in symbols {
            made.ids[start] = id;
            made.ends[start] = end as u8;
            made.before[start] = last as u8;
            (last, start) = (start, end);
        }
        made
    }

    /// Lets the symbol at `at` and the next one wait for their merge.
    #[inline(always)]
    pub fn wait(&mut self, at: usize, merge: Merge) {
        self.waiting[at] = merge.rank << 5 | at as u32;
        self.made[at] = merge.id;
    }

    /// Merges until no pair waits.
    #[inline(always)]
    pub fn merge(&mut self, neighbours: &impl Neighbours) {
        while let Some(at) = self.lowest() {
            self.join(at);
            // Both look-ups are on their way before the first is waited for.
            let right = (self.end(at) < self.len).then(|| (at, neighbours.expect(self.joined(at))));
            let left = (at > 0).then(|| usize::from(self.before[at]));
            let left = left.map(|before| (before, neighbours.expect(self.joined(before))));
            for (at, expected) in [right, left].into_iter().flatten() {
                let ids = [self.ids[at], self.ids[self.end(at)]];
                self.waiting[at] = NEVER;
                if let Some(merge) = neighbours.merge(ids, self.joined(at), expected) {
                    self.wait(at, merge);
                }
            }
        }
    }

    /// The symbols: where each stands, and its id.
    #[inline(always)]
    pub fn each(&self) -> impl Iterator<Item = (Range<usize>, u32)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            (start < self.len).then(|| {
                at = self.end(start);
                (start..at, self.ids[start])
            })
        })
    }

    /// The position of the pair that merges next.
    #[inline]
    fn lowest(&self) -> Option<usize> {
        let mut lowest = [NEVER; 8];
        for lane in self.waiting[..self.len.next_multiple_of(8)].chunks_exact(8) {
            for (low, &word) in lowest.iter_mut().zip(lane) {
                *low = (*low).min(word);
            }
        }
        let low = lowest.into_iter().fold(NEVER, u32::min);
        (low != NEVER).then_some((low & 31) as usize)
    }

    #[inline]
    fn join(&mut self, at: usize) {
        let right = self.end(at);
        let after = self.end(right);
        self.ids[at] = self.made[at];
        self.ends[at] = after as u8;
        self.waiting[right] = NEVER;
        self.waiting[at] = NEVER;
        if after < self.len {
            self.before[after] = at as u8;
        }
    }

    #[inline(always)]
    fn end(&self, at: usize) -> usize {
        usize::from(self.ends[at])
    }

    /// Where the symbol at `at` and the next one stand.
    #[inline(always)]
    fn joined(&self, at: usize) -> Range<usize> {
        at..self.end(self.end(at))
    }
}

/// The ids of single bytes, and the merges of two.
#[derive(Debug)]
pub struct BytePairs {
    ids: Box<[u32; 256]>,
    /// By first and second byte.
    merges: Box<[Merge]>,
}

impl BytePairs {
    /// Those of a vocabulary whose unit is bytes.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Self {
        let mut ids = Box::new([NEVER; 256]);
        for byte in 0..=u8::MAX {
            ids[usize::from(byte)] = vocab.id(&[byte]).unwrap_or(NEVER);
        }
        let mut merges: Box<[Merge]> = vec![Merge { rank: NEVER, id: NEVER }; 1 << 16].into();
        for (pair, merge) in (0u16..=u16::MAX).zip(&mut merges) {
            let [first, second] = pair.to_be_bytes();
            let (left, right) = (ids[usize::from(first)], ids[usize::from(second)]);
            *merge = vocab.merge(left, right, &[first, second]).unwrap_or(*merge);
        }
        Self { ids, merges }
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.ids) + size_of_val(&*self.merges)
    }

    /// The id of a single byte.
    #[inline]
    #[must_use]
    pub fn id(&self, byte: u8) -> u32 {
        self.ids[usize::from(byte)]
    }

    /// The merge of two bytes; its rank is `u32::MAX` if they do not merge.
    #[inline]
    #[must_use]
    pub fn merge(&self, first: u8, second: u8) -> Merge {
        self.merges[usize::from(first) << 8 | usize::from(second)]
    }
}

/// Neighbours that start as bytes: a stretch of a text.
struct ByteNeighbours<'s> {
    vocab: &'s Vocab,
    window: &'s Window<'s>,
    start: usize,
}

impl Neighbours for ByteNeighbours<'_> {
    #[inline(always)]
    fn expect(&self, joined: Range<usize>) -> Option<Sought> {
        match self.vocab.merge_rule() {
            MergeRule::Bytes => self.vocab.expect(self.window, self.start + joined.start, joined.len()),
            MergeRule::Pair => None,
        }
    }

    #[inline(always)]
    fn merge(&self, [left, right]: [u32; 2], joined: Range<usize>, expected: Option<Sought>) -> Option<Merge> {
        match self.vocab.merge_rule() {
            MergeRule::Bytes => {
                let bytes = &self.window.text[self.start + joined.start..self.start + joined.end];
                expected.and_then(|sought| self.vocab.found(sought, bytes))
            }
            MergeRule::Pair => self.vocab.pair(left, right),
        }
    }
}

/// Appends the ids that merging gives for 1 to [`LONGEST`] bytes of the window's text.
pub fn merge_stretch(vocab: &Vocab, pairs: &BytePairs, window: &Window<'_>, stretch: Range<usize>, out: &mut Vec<u32>) {
    let (start, bytes) = (stretch.start, &window.text[stretch]);
    let mut symbols = ShortSymbols::new(bytes.len(), (1..).zip(bytes.iter().map(|&byte| pairs.id(byte))));
    for (at, pair) in bytes.windows(2).enumerate() {
        let merge = pairs.merge(pair[0], pair[1]);
        if merge.rank != NEVER {
            symbols.wait(at, merge);
        }
    }
    symbols.merge(&ByteNeighbours { vocab, window, start });
    out.extend(symbols.each().map(|(_, id)| id));
}
