//! Merging a long piece in n log n: pairs wait in a heap by (rank, position), and symbols are linked to their neighbours.
//!
//! Beside the heap is the merge that each symbol and the next one wait for. An entry with another rank is out of date, and
//! passed over.
//! BPE-dropout is the same loop, in which a pair whose turn it is may be passed over until something else has merged.
//! Source of dropout: Provilkov et al., ACL 2020.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::error::Result;
use crate::merge::draws::Draws;
use crate::merge::rule::Symbols;
use crate::threads::parallel::Stop;
use crate::vocab::Merge;

/// How many merges happen between two looks at the stop flag.
const MERGES_PER_LOOK: usize = 1 << 16;

/// Stands for a symbol that was merged into the one before it.
const GONE: u32 = u32::MAX;

/// A pair that waits: the rank of its merge in the upper half, and the place of its left symbol.
type WaitingPair = Reverse<u64>;

/// Stands for no merge. Ranks are lower.
const NONE: Merge = Merge { rank: u32::MAX, id: 0 };

/// Buffers that are kept from piece to piece.
#[derive(Debug, Default)]
pub struct Heap {
    links: Vec<Link>,
    /// What each symbol and the next one wait for, or [`NONE`].
    merges: Vec<Merge>,
    waiting: BinaryHeap<WaitingPair>,
}

/// A symbol's neighbours, by place.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    /// [`GONE`] for a symbol that is.
    after: u32,
}

/// How likely a merge is passed over each time, and what decides it.
#[derive(Debug)]
pub struct Dropout<'d> {
    /// From 0 to 1.
    pub share: f64,
    /// Where the numbers come from.
    pub draws: &'d mut Draws,
}

/// When merging ends, beside when no pair merges.
#[derive(Debug, Clone, Copy)]
pub struct Until<'s> {
    /// When so many symbols are left.
    pub least: usize,
    /// When the caller asks for it.
    pub stop: &'s Stop,
}

impl Heap {
    /// The memory of the buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let symbols = self.links.capacity() * size_of::<Link>() + self.merges.capacity() * size_of::<Merge>();
        symbols + self.waiting.capacity() * size_of::<WaitingPair>()
    }

    /// Merges symbols in place. `look` gives the merge of two ids that stand at this range of the piece.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub fn merge(
        &mut self,
        symbols: &mut Symbols,
        look: impl Fn([u32; 2], Range<usize>) -> Option<Merge>,
        until: Until<'_>,
        mut dropout: Option<Dropout<'_>>,
    ) -> Result<()> {
        let Symbols { ids, starts } = symbols;
        let Self { links, merges, waiting } = self;
        let count = ids.len() as u32;
        links.clear();
        links.extend((0..count).map(|at| Link { before: at.wrapping_sub(1), after: at + 1 }));
        merges.clear();
        merges.resize(ids.len(), NONE);
        let pairs = PairLooks { look, starts, count };
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
            if dropout.as_mut().is_some_and(|dropout| dropout.draws.share() < dropout.share) {
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
        retain(symbols, links);
        Ok(())
    }
}

/// The pairs of a piece.
struct PairLooks<'s, L> {
    look: L,
    starts: &'s [u32],
    /// How many symbols there were in the beginning.
    count: u32,
}

impl<L: Fn([u32; 2], Range<usize>) -> Option<Merge>> PairLooks<'_, L> {
    /// What the symbol at `left` and the next one wait for, which is noted among the merges.
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

/// Links the symbol at `at` to the one after its right neighbour, which is gone then. Gives the symbol before.
fn unlink(links: &mut [Link], at: u32) -> u32 {
    let Link { before, after: right } = links[at as usize];
    let after = std::mem::replace(&mut links[right as usize].after, GONE);
    links[at as usize].after = after;
    if let Some(next) = links.get_mut(after as usize) {
        next.before = at;
    }
    before
}

/// Takes out the symbols that are gone.
fn retain(symbols: &mut Symbols, links: &[Link]) {
    let mut left = links.iter();
    symbols.starts.retain(|_| left.next().is_none_or(|link| link.after != GONE));
    let mut left = links.iter();
    symbols.ids.retain(|_| left.next().is_none_or(|link| link.after != GONE));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::merge::rule::rescan;

    #[test]
    fn heap_equals_rescan() {
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
                heap.merge(&mut fast, look, Until { least, stop: &stop }, None).unwrap();
                rescan(&vocab, &piece, &mut slow, &mut Vec::new(), least);
                assert_eq!((fast.ids, fast.starts), (slow.ids, slow.starts));
            }
        }
    }

    fn dropped(share: f64, seed: u64) -> Vec<u32> {
        let vocab = bytes_vocab(&["ab", "abab", "ba", "cab"]);
        let (piece, mut symbols, stop) = (b"abababcab", Symbols::default(), Stop::default());
        symbols.start(&vocab, None, piece).unwrap();
        let look = |[left, right]: [u32; 2], range: Range<usize>| vocab.merge(left, right, &piece[range]);
        let draws = &mut Draws::new(seed);
        let until = Until { least: 1, stop: &stop };
        Heap::default().merge(&mut symbols, look, until, Some(Dropout { share, draws })).unwrap();
        symbols.starts
    }

    #[test]
    fn nothing_all_and_some_merges_are_passed_over() {
        assert_eq!(dropped(0.0, 1), [0, 4, 6, 9]);
        assert_eq!(dropped(1.0, 1), (0..=9).collect::<Vec<_>>());
        let drawn: std::collections::HashSet<_> = (0..100).map(|seed| dropped(0.5, seed)).collect();
        assert!(drawn.len() > 10 && drawn.contains(&dropped(0.5, 7)));
    }
}
