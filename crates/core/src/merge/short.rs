//! Merging a short stretch of bytes without touching the heap: the twin of [`crate::merge::rule::rescan`].
//!
//! Pairs wait beside their positions in one word each, the rank in the higher bits, so that the smallest word is the
//! lowest rank and the leftmost of equals.

use std::ops::Range;

use crate::vocab::index::Sought;
use crate::vocab::key::{LONGEST, Window};
use crate::vocab::{Merge, MergeRule, Vocab};

const ROOM: usize = LONGEST + 1;
const NEVER: u32 = u32::MAX;

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

/// Symbols by the position of their first byte.
struct Stretch {
    start: usize,
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

/// Appends the ids that merging gives for 1 to [`LONGEST`] bytes of the window's text.
pub fn merge_stretch(vocab: &Vocab, pairs: &BytePairs, window: &Window<'_>, stretch: Range<usize>, out: &mut Vec<u32>) {
    let len = stretch.len();
    let mut symbols = Stretch::new(pairs, window, stretch);
    while let Some(at) = symbols.lowest() {
        symbols.merge(at);
        // Both look-ups are on their way before the first is waited for.
        let right = (symbols.end(at) < len).then(|| (at, symbols.ask(vocab, window, at)));
        let left = (at > 0).then(|| usize::from(symbols.before[at]));
        let left = left.map(|before| (before, symbols.ask(vocab, window, before)));
        for (at, sought) in [right, left].into_iter().flatten() {
            symbols.look(vocab, window, at, sought);
        }
    }
    let mut at = 0;
    while at < len {
        out.push(symbols.ids[at]);
        at = symbols.end(at);
    }
}

impl Stretch {
    fn new(pairs: &BytePairs, window: &Window<'_>, stretch: Range<usize>) -> Self {
        let (start, len) = (stretch.start, stretch.len());
        let (ids, ends, before) = ([0; ROOM], [0; ROOM], [0; ROOM]);
        let mut symbols = Self { start, len, ids, ends, before, waiting: [NEVER; ROOM], made: [0; ROOM] };
        let bytes = &window.text[stretch];
        for (at, &byte) in bytes.iter().enumerate() {
            symbols.ids[at] = pairs.id(byte);
            symbols.ends[at] = at as u8 + 1;
            symbols.before[at] = (at as u8).wrapping_sub(1);
        }
        for (at, pair) in bytes.windows(2).enumerate() {
            let merge = pairs.merge(pair[0], pair[1]);
            if merge.rank != NEVER {
                symbols.wait(at, merge);
            }
        }
        symbols
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
    fn merge(&mut self, at: usize) {
        let right = usize::from(self.ends[at]);
        let after = usize::from(self.ends[right]);
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

    /// Asks for the token that the symbol at `at` and the next one would make.
    #[inline(always)]
    fn ask(&self, vocab: &Vocab, window: &Window<'_>, at: usize) -> Option<Sought> {
        match vocab.merge_rule() {
            MergeRule::Bytes => vocab.expect(window, self.start + at, self.end(self.end(at)) - at),
            MergeRule::Pair => None,
        }
    }

    /// Looks up the merge of the symbol at `at` and the next one.
    #[inline(always)]
    fn look(&mut self, vocab: &Vocab, window: &Window<'_>, at: usize, sought: Option<Sought>) {
        let next = self.end(at);
        let bytes = &window.text[self.start + at..self.start + self.end(next)];
        let merge = match vocab.merge_rule() {
            MergeRule::Bytes => sought.and_then(|sought| vocab.found(sought, bytes)),
            MergeRule::Pair => vocab.pair(self.ids[at], self.ids[next]),
        };
        self.waiting[at] = NEVER;
        if let Some(merge) = merge {
            self.wait(at, merge);
        }
    }

    #[inline(always)]
    fn wait(&mut self, at: usize, merge: Merge) {
        self.waiting[at] = merge.rank << 5 | at as u32;
        self.made[at] = merge.id;
    }
}
