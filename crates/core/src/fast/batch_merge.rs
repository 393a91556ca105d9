//! Merges a batch of short stretches of bytes, one step of each in turn.
//!
//! A merge waits for a lookup, and a lookup for the merge before it, so one stretch alone leaves the processor idle
//! most of the time. Here the lookups of all stretches are prefetched before the first result is needed, and results
//! are collected without a branch on whether a token exists, which would be mispredicted.
//!
//! The stretches begin with their certain pairs joined ([`crate::fast::byte_pairs`]); from then on each is
//! [`ShortSymbols`].

use std::ops::Range;

use crate::fast::byte_pairs::{BytePair, BytePairs};
use crate::fast::short_symbols::ShortSymbols;
use crate::simd::{BLOCK, MaskWork, Masks, with_masks};
use crate::slots::key::{LONGEST, Window};
use crate::slots::piece_walk::PiecePart;
use crate::vocab::index::LookupKey;
use crate::vocab::{Lookup, MergeRule, Vocab};

/// The stretches of a batch.
pub const LANES: usize = 16;

/// The most pending lookups.
const MAX_LOOKUPS: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
struct PendingLookup {
    sought: LookupKey,
    lane: u8,
    /// The place of its bytes in the stretch.
    at: u8,
    end: u8,
}

/// The batch of stretches, and buffers.
#[derive(Debug)]
pub struct MergeBatch {
    lanes: [ShortSymbols; LANES],
    starts: [usize; LANES],
    lookups: [PendingLookup; MAX_LOOKUPS],
    byte_pairs: [BytePair; LONGEST + 2],
    /// The stretches that are not finished.
    active: [u8; LANES],
}

impl Default for MergeBatch {
    fn default() -> Self {
        Self {
            lanes: [ShortSymbols::default(); LANES],
            starts: [0; LANES],
            lookups: [PendingLookup::default(); MAX_LOOKUPS],
            byte_pairs: [BytePair::NONE; LONGEST + 2],
            active: [0; LANES],
        }
    }
}

/// The tables that stretches of bytes are merged by.
#[derive(Clone, Copy)]
pub struct ByteMerges<'m> {
    vocab: &'m Vocab,
    lookup: Lookup<'m>,
    pairs: &'m BytePairs,
    window: &'m Window<'m>,
}

impl<'m> ByteMerges<'m> {
    /// The merges in a text.
    #[must_use]
    pub fn new(vocab: &'m Vocab, pairs: &'m BytePairs, window: &'m Window<'m>) -> Self {
        Self { vocab, lookup: vocab.lookup(), pairs, window }
    }

    /// The text.
    #[must_use]
    pub fn window(&self) -> &'m Window<'m> {
        self.window
    }

    /// The tokens.
    #[must_use]
    pub fn lookup(&self) -> Lookup<'m> {
        self.lookup
    }
}

impl MergeBatch {
    /// Merges at most [`LANES`] stretches of the window's text, of 1 to [`LONGEST`] bytes each. [`Self::ids`] returns
    /// their ids.
    pub fn merge(&mut self, merges: ByteMerges<'_>, stretches: &[PiecePart]) {
        with_masks(BatchWork { batch: self, merges, stretches });
    }

    /// The ids of a stretch, by its place in the batch.
    #[inline]
    pub fn ids(&self, place: usize) -> impl Iterator<Item = u32> {
        self.symbols(place).map(|(_, id)| id)
    }

    /// The same with the range of each in the stretch.
    #[inline]
    pub fn symbols(&self, place: usize) -> impl Iterator<Item = (Range<usize>, u32)> {
        self.lanes[place].symbols()
    }

    #[inline(always)]
    fn run(&mut self, merges: ByteMerges<'_>, stretches: &[PiecePart]) {
        let mut waiting = 0;
        for (lane, stretch) in stretches.iter().enumerate() {
            waiting = self.begin_stretch(merges, lane, stretch, waiting);
        }
        self.apply_lookups(merges, waiting);
        let mut active = stretches.len();
        for (lane, place) in (0..).zip(&mut self.active) {
            *place = lane;
        }
        while active > 0 {
            let (mut left, mut waiting) = (0, 0);
            for at in 0..active {
                let lane = self.active[at];
                if let Some(pairs) = self.lanes[usize::from(lane)].join_lowest() {
                    self.active[left] = lane;
                    left += 1;
                    for pair in pairs {
                        waiting = self.add_lookup(merges, usize::from(lane), pair, waiting);
                    }
                }
            }
            self.apply_lookups(merges, waiting);
            active = left;
        }
    }

    /// Begins a stretch: joins its certain pairs, and adds lookups of its other pairs.
    #[inline(always)]
    fn begin_stretch(&mut self, merges: ByteMerges<'_>, lane: usize, stretch: &PiecePart, mut waiting: usize) -> usize {
        let ByteMerges { pairs, window, .. } = merges;
        let (start, bytes) = (stretch.start, &window.text[stretch.start..][..stretch.len as usize]);
        let len = bytes.len().min(LONGEST);
        self.starts[lane] = start;
        // The pair at `at` is that of the bytes before and at it.
        let pairs_of_bytes = &mut self.byte_pairs;
        for (pair, bytes) in pairs_of_bytes[1..].iter_mut().zip(bytes.windows(2)) {
            *pair = *pairs.pair(bytes[0], bytes[1]);
        }
        pairs_of_bytes[len] = BytePair::NONE;
        let mut certain = 0u64;
        for (at, three) in pairs_of_bytes.windows(3).enumerate().take(len) {
            certain |= u64::from(three[1].is_certain(&three[0], &three[2])) << at << 1;
        }
        let symbols = &mut self.lanes[lane];
        symbols.begin(len, ((1 << len) - 1) & !certain);
        for at in 0..len {
            let id = pairs.id(bytes[at]);
            symbols.set_id(at, if certain >> at >> 1 & 1 != 0 { pairs_of_bytes[at + 1].id } else { id });
        }
        for pair in self.lanes[lane].pairs() {
            if pair.len() == 2 {
                if let Some(merge) = self.byte_pairs[pair.start + 1].merge() {
                    self.lanes[lane].set_merge(pair.start, merge);
                }
            } else {
                waiting = self.add_lookup(merges, lane, pair, waiting);
            }
        }
        waiting
    }

    /// Adds a lookup of the merge of two symbols of a stretch, unless they cannot merge.
    #[inline(always)]
    fn add_lookup(&mut self, merges: ByteMerges<'_>, lane: usize, pair: Range<usize>, waiting: usize) -> usize {
        let ByteMerges { vocab, lookup, window, .. } = merges;
        if vocab.merge_rule() == MergeRule::Pair {
            let [left, right] = self.lanes[lane].ids_at(pair.start);
            if let Some(merge) = vocab.pair(left, right).filter(|_| !pair.is_empty()) {
                self.lanes[lane].set_merge(pair.start, merge);
            }
            return waiting;
        }
        let (sought, may_be) = lookup.prefetch(window, self.starts[lane] + pair.start, pair.len());
        self.lookups[waiting % MAX_LOOKUPS] =
            PendingLookup { sought, lane: lane as u8, at: pair.start as u8, end: pair.end as u8 };
        let waiting = waiting + usize::from(may_be);
        if waiting == MAX_LOOKUPS {
            self.apply_lookups(merges, waiting);
            return 0;
        }
        waiting
    }

    #[inline(always)]
    fn apply_lookups(&mut self, merges: ByteMerges<'_>, waiting: usize) {
        let ByteMerges { lookup, window, .. } = merges;
        for pending in &self.lookups[..waiting] {
            let lane = usize::from(pending.lane);
            let start = self.starts[lane];
            let bytes = &window.text[start + usize::from(pending.at)..start + usize::from(pending.end)];
            if let Some(merge) = lookup.find_prefetched(pending.sought, bytes) {
                self.lanes[lane].set_merge(usize::from(pending.at), merge);
            }
        }
    }
}

struct BatchWork<'m> {
    batch: &'m mut MergeBatch,
    merges: ByteMerges<'m>,
    stretches: &'m [PiecePart],
}

impl MaskWork for BatchWork<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self, _: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) {
        self.batch.run(self.merges, self.stretches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::fast::windows::tests::{draw_encoder, merge_slowly};
    use crate::kinds::PieceEncoder;

    /// Compares the ids of stretches merged side by side with the ids of each merged alone by the rule.
    fn check_stretches(encoder: &PieceEncoder, stretches: &[Vec<u8>]) {
        let text = stretches.concat();
        let window = Window::new(&text);
        let mut at = 0;
        let parts: Vec<PiecePart> = stretches
            .iter()
            .map(|stretch| {
                at += stretch.len();
                window.stretch(at - stretch.len(), at)
            })
            .collect();
        let mut batch = MergeBatch::default();
        for (some, stretches) in parts.chunks(LANES).zip(stretches.chunks(LANES)) {
            batch.merge(ByteMerges::new(encoder.vocab(), encoder.merger().byte_pairs.as_ref().unwrap(), &window), some);
            for (place, stretch) in stretches.iter().enumerate() {
                let ids: Vec<u32> = batch.ids(place).collect();
                assert_eq!(ids, merge_slowly(encoder, stretch), "{}", stretch.escape_ascii());
            }
        }
    }

    #[test]
    fn merging_side_by_side_equals_merging_alone() {
        let mut draw = Draw(23);
        for round in 0..400 {
            let letters: &[&str] = if round % 3 == 0 { &["a", "b"] } else { &["a", "b", "c", "d", "e"] };
            let rule = if round % 2 == 0 { MergeRule::Bytes } else { MergeRule::Pair };
            let (count, in_order) = (1 + draw.below(60), round % 4 < 2);
            let encoder = draw_encoder(&mut draw, letters, count, rule, in_order);
            let stretches: Vec<Vec<u8>> = (0..=draw.below(3 * LANES))
                .map(|_| (0..=draw.below(LONGEST)).map(|_| letters[draw.below(letters.len())].as_bytes()[0]).collect())
                .collect();
            check_stretches(&encoder, &stretches);
        }
    }

    #[test]
    fn a_pair_is_not_certain_if_its_token_merges_at_a_lower_rank() {
        // `yx` merges before `bc` does, and only then there would be `bc` for `x` to merge with.
        let encoder = PieceEncoder::plain(std::sync::Arc::new(bytes_vocab(&["xbc", "yx", "bc"])));
        assert_eq!(merge_slowly(&encoder, b"yxbc"), [257, 258]);
        check_stretches(&encoder, &[b"yxbc".to_vec()]);
    }
}
