//! Which two tokens can be neighbours: the place between them is a *joint* if merging the bytes of both gives just these
//! two.
//!
//! Merging the bytes of `left` and `right` together does what merging each alone does, the merge of lower rank first,
//! until a merge crosses the place between them, if one ever does. Only the last symbol on the left and the first on the
//! right can cross. So the walk goes backwards through all pairs that ever face each other at the place. It starts with
//! (`left`, `right`) itself, and always undoes the later merge, which is that of higher rank, until two symbols are left
//! that no merge made. A pair crosses if it has a merge that ranks below the merge that ended the pair. Of equal ranks the
//! leftmost comes first: a merge on the left side comes before the crossing one, and a merge on the right side after it.
//!
//! "The merge of higher rank came later" holds for a token whose merges, in the order in which they happen, never fall
//! in rank. Any other token is [`Making::Unordered`], and a text with it has to be merged in another way.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::fast::last_merge::{LastMerge, last_merge};
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

/// How merging its bytes makes a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Making {
    /// It exists before the first merge, or merges of rising rank make it.
    Ordered,
    /// Merging does not give it: only the whole-piece lookup does.
    Never,
    /// It is made in another order, or is too long.
    Unordered,
}

/// A token on one side of a joint: its id and its length in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizedToken {
    /// The token.
    pub id: u32,
    /// Its bytes.
    pub len: u32,
}

/// One of the two symbols that the last merge of a token joins: id, length and, as time, the rank + 1 of the merge that
/// made the symbol. A symbol that exists before the first merge has time 0.
#[derive(Debug, Clone, Copy)]
struct Half(u64);

impl Half {
    const TIME: u32 = 24;
    const LEN: u32 = 51;
    const LONGEST: usize = 1 << 9;
    const NEVER: u64 = 1 << 61;
    const UNORDERED: u64 = 1 << 62;
    const BASE: u64 = 1 << 63;

    fn new(id: u32, len: usize, rank: u32) -> Self {
        Self(u64::from(id) | (u64::from(rank) + 1) << Self::TIME | (len as u64) << Self::LEN)
    }

    #[inline]
    fn symbol(self) -> SizedToken {
        SizedToken { id: self.0 as u32 & 0xFF_FFFF, len: (self.0 >> Self::LEN) as u32 & (Self::LONGEST as u32 - 1) }
    }

    #[inline]
    fn time(self) -> u32 {
        (self.0 >> Self::TIME) as u32 & 0x7FF_FFFF
    }

    #[inline]
    fn making(self) -> Making {
        match self.0 & (Self::NEVER | Self::UNORDERED) {
            0 => Making::Ordered,
            Self::NEVER => Making::Never,
            _ => Making::Unordered,
        }
    }
}

/// Answers that are kept, the last in each slot.
const ANSWERS: usize = 1 << 12;

/// See the module. It keeps what it found out about a token.
#[derive(Debug)]
pub struct ValidPairs {
    /// By id: the left and the right part of the token; 0 for not known yet.
    parts: ById<[AtomicU64; 2]>,
    /// Both ids, and whether that is a joint, in one word.
    answers: Box<[AtomicU64]>,
}

impl ValidPairs {
    /// The pairs of a vocabulary. Each is examined when it is needed first.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Self {
        let parts = ById::new(vocab.ids());
        let answers = std::iter::repeat_with(AtomicU64::default).take(ANSWERS).collect();
        Self { parts, answers }
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.bytes() + size_of_val(&*self.answers)
    }

    /// How merging makes the token `id`.
    #[inline]
    #[must_use]
    pub fn making(&self, vocab: &Vocab, id: u32) -> Making {
        self.part(vocab, id, 0).making()
    }

    #[inline]
    fn part(&self, vocab: &Vocab, id: u32, side: usize) -> Half {
        let part = self.parts.get(id).map_or(0, |parts| parts[side].load(Ordering::Relaxed));
        if part == 0 { self.find_parts(vocab, id)[side] } else { Half(part) }
    }

    #[cold]
    fn find_parts(&self, vocab: &Vocab, id: u32) -> [Half; 2] {
        let token = vocab.token(id).unwrap_or_default();
        let parts = match last_merge(vocab, token) {
            _ if token.len() >= Half::LONGEST => [Half(Half::UNORDERED); 2],
            (LastMerge::Base, _) => [Half(Half::BASE); 2],
            (LastMerge::Never, _) => [Half(Half::NEVER); 2],
            (LastMerge::Of { .. }, false) => [Half(Half::UNORDERED); 2],
            (LastMerge::Of { left, right, rank }, true) => {
                [left, right].map(|part| Half::new(part, vocab.token(part).unwrap_or_default().len(), rank))
            }
        };
        for (kept, part) in self.parts.get(id).into_iter().flatten().zip(parts) {
            kept.store(part.0, Ordering::Relaxed);
        }
        parts
    }

    /// Whether `left` and `right`, both ordered, have a joint. `rank` gets the ids and lengths of two neighbours, and gives
    /// the rank of their merge.
    #[inline]
    #[must_use]
    pub fn holds(&self, vocab: &Vocab, pair: [SizedToken; 2], rank: impl Fn([SizedToken; 2]) -> Option<u32>) -> bool {
        let both = u64::from(pair[0].id) << 32 | u64::from(pair[1].id) << 8;
        let answer = &self.answers[(both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52) as usize];
        let kept = answer.load(Ordering::Relaxed);
        if kept >> 8 == both >> 8 && kept & 2 != 0 {
            return kept & 1 != 0;
        }
        let holds = self.walk(vocab, pair, rank);
        answer.store(both | 2 | u64::from(holds), Ordering::Relaxed);
        holds
    }

    fn walk(&self, vocab: &Vocab, mut pair: [SizedToken; 2], rank: impl Fn([SizedToken; 2]) -> Option<u32>) -> bool {
        let (mut left, mut right) = (self.part(vocab, pair[0].id, 1), self.part(vocab, pair[1].id, 0));
        let mut end = u32::MAX;
        loop {
            if rank(pair).is_some_and(|rank| rank + 1 < end) {
                return false;
            }
            if left.time() > right.time() {
                end = left.time();
                pair[0] = left.symbol();
                left = self.part(vocab, pair[0].id, 1);
            } else if right.time() > 0 {
                end = right.time() + 1;
                pair[1] = right.symbol();
                right = self.part(vocab, pair[1].id, 0);
            } else {
                return true;
            }
        }
    }
}
