//! Merges a long piece in n log n: a heap of pairs by (rank, position), and symbols linked to their neighbours.
//!
//! A table has the merge of each symbol with the next one. A heap entry with another rank is outdated and skipped.
//! BPE-dropout is the same loop, in which a pair can be skipped until another pair has merged. Source of dropout:
//! Provilkov et al., ACL 2020.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::error::Result;
use crate::merge::draws::Draws;
use crate::merge::rule::Symbols;
use crate::threads::parallel::Stop;
use crate::vocab::Merge;

/// The merges between two checks of the stop flag.
const MERGES_PER_LOOK: usize = 1 << 16;

/// The link of a symbol that was merged into the one before it.
const MERGED: u32 = u32::MAX;

/// A waiting pair: the rank of its merge in the upper half, and the place of its left symbol.
type WaitingPair = Reverse<u64>;

/// No merge. Ranks are lower.
const NONE: Merge = Merge { rank: u32::MAX, id: 0 };

/// Buffers that are reused from piece to piece.
#[derive(Debug, Default)]
pub struct Heap {
    links: Vec<Link>,
    /// The merge of each symbol with the next one, or [`NONE`].
    merges: Vec<Merge>,
    waiting: BinaryHeap<WaitingPair>,
}

/// A symbol's neighbours, by place.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    /// [`MERGED`] for a symbol that was merged.
    after: u32,
}

/// The probability that a merge is skipped, and the source of the draws.
#[derive(Debug)]
pub struct Dropout<'d> {
    /// From 0 to 1.
    pub share: f64,
    /// The random numbers.
    pub draws: &'d mut Draws,
}

/// The conditions that end merging early.
#[derive(Debug, Clone, Copy)]
pub struct MergeLimits<'s> {
    /// The number of symbols at which it ends.
    pub least: usize,
    /// The flag of the caller.
    pub stop: &'s Stop,
}

impl Heap {
    /// The memory of the buffers in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let symbols = self.links.capacity() * size_of::<Link>() + self.merges.capacity() * size_of::<Merge>();
        symbols + self.waiting.capacity() * size_of::<WaitingPair>()
    }

    /// Merges symbols in place. `look` returns the merge of two ids at this range of the piece.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub fn merge(
        &mut self,
        symbols: &mut Symbols,
        look: impl Fn([u32; 2], Range<usize>) -> Option<Merge>,
        until: MergeLimits<'_>,
        mut dropout: Option<Dropout<'_>>,
    ) -> Result<()> {
        let Symbols { ids, starts } = symbols;
        let Self { links, merges, waiting } = self;
        let count = ids.len() as u32;
        links.clear();
        links.extend((0..count).map(|at| Link { before: at.wrapping_sub(1), after: at + 1 }));
        merges.clear();
        merges.resize(ids.len(), NONE);
        let pairs = PairFinder { look, starts, count };
        let mut entries = std::mem::take(waiting).into_vec();
        entries.clear();
        for left in 0..count {
            if (left as usize).is_multiple_of(MERGES_PER_LOOK) {
                until.stop.check()?;
            }
            entries.extend(pairs.entry(ids, links, merges, left));
        }
        *waiting = BinaryHeap::from(entries);
        let (mut left_over, mut passed_over) = (ids.len(), Vec::new());
        while left_over > until.least
            && let Some(next) = waiting.pop()
        {
            let (rank, at) = ((next.0 >> 32) as u32, next.0 as u32);
            let merge = merges[at as usize];
            if merge.rank != rank {
                continue;
            }
            if dropout.as_mut().is_some_and(|dropout| dropout.draws.next_fraction() < dropout.share) {
                passed_over.push(next);
                continue;
            }
            waiting.extend(passed_over.drain(..));
            left_over -= 1;
            ids[at as usize] = merge.id;
            merges[links[at as usize].after as usize] = NONE;
            let before = unlink(links, at);
            for left in [before, at] {
                if left < count {
                    waiting.extend(pairs.entry(ids, links, merges, left));
                }
            }
            if left_over.is_multiple_of(MERGES_PER_LOOK) {
                until.stop.check()?;
            }
        }
        remove_merged(symbols, links);
        Ok(())
    }
}

struct PairFinder<'s, L> {
    look: L,
    starts: &'s [u32],
    /// The number of symbols at the start.
    count: u32,
}

impl<L: Fn([u32; 2], Range<usize>) -> Option<Merge>> PairFinder<'_, L> {
    /// The heap entry of the symbol at `left` and the next one, whose merge is also stored in `merges`.
    fn entry(&self, ids: &[u32], links: &[Link], merges: &mut [Merge], left: u32) -> Option<WaitingPair> {
        let right = links[left as usize].after;
        merges[left as usize] = NONE;
        if right >= self.count {
            return None;
        }
        let [start, end] = [left, links[right as usize].after].map(|at| self.starts[at as usize] as usize);
        let merge = (self.look)([ids[left as usize], ids[right as usize]], start..end)?;
        merges[left as usize] = merge;
        Some(Reverse(u64::from(merge.rank) << 32 | u64::from(left)))
    }
}

/// Removes the right neighbour of the symbol at `at` and links `at` to the one after it. Returns the symbol before.
fn unlink(links: &mut [Link], at: u32) -> u32 {
    let Link { before, after: right } = links[at as usize];
    let after = std::mem::replace(&mut links[right as usize].after, MERGED);
    links[at as usize].after = after;
    if let Some(next) = links.get_mut(after as usize) {
        next.before = at;
    }
    before
}

fn remove_merged(symbols: &mut Symbols, links: &[Link]) {
    let mut left = links.iter();
    symbols.starts.retain(|_| left.next().is_none_or(|link| link.after != MERGED));
    let mut left = links.iter();
    symbols.ids.retain(|_| left.next().is_none_or(|link| link.after != MERGED));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::merge::rule::rescan;

    #[test]
    fn the_heap_equals_the_rule() {
        let vocab = bytes_vocab(&["aa", "ab", "ba", "aab", "aaaa", "abba", "baab", "bb", "aaaaaaaa"]);
        let mut draw = Draw(1);
        let (mut heap, stop) = (Heap::default(), Stop::default());
        for length in 0..400 {
            let piece: Vec<u8> = (0..length).map(|_| b"aab"[draw.below(3)]).collect();
            for least in [1, 2] {
                let (mut slow, mut fast) = (Symbols::default(), Symbols::default());
                slow.start(&vocab, None, &piece).unwrap();
                fast.start(&vocab, None, &piece).unwrap();
                let look = |[left, right]: [u32; 2], range: Range<usize>| vocab.merge(left, right, &piece[range]);
                heap.merge(&mut fast, look, MergeLimits { least, stop: &stop }, None).unwrap();
                rescan(&vocab, &piece, &mut slow, &mut Vec::new(), least);
                assert_eq!((fast.ids, fast.starts), (slow.ids, slow.starts));
            }
        }
    }

    fn merge_with_dropout(share: f64, seed: u64) -> Vec<u32> {
        let vocab = bytes_vocab(&["ab", "abab", "ba", "cab"]);
        let (piece, mut symbols, stop) = (b"abababcab", Symbols::default(), Stop::default());
        symbols.start(&vocab, None, piece).unwrap();
        let look = |[left, right]: [u32; 2], range: Range<usize>| vocab.merge(left, right, &piece[range]);
        let draws = &mut Draws::new(seed);
        let until = MergeLimits { least: 1, stop: &stop };
        Heap::default().merge(&mut symbols, look, until, Some(Dropout { share, draws })).unwrap();
        symbols.starts
    }

    #[test]
    fn dropout_skips_no_merge_all_or_some() {
        assert_eq!(merge_with_dropout(0.0, 1), [0, 4, 6, 9]);
        assert_eq!(merge_with_dropout(1.0, 1), (0..=9).collect::<Vec<_>>());
        let drawn: std::collections::HashSet<_> = (0..100).map(|seed| merge_with_dropout(0.5, seed)).collect();
        assert!(drawn.len() > 10 && drawn.contains(&merge_with_dropout(0.5, 7)));
    }
}
