//! Pairs of bytes: the merge of each, and whether it surely precedes every other merge of its bytes.
//!
//! Most merges of a new word join two bytes, and most of these need no search for the lowest rank. Take four bytes
//! `a b c d` of a text where `b` and `c` merge with rank `r`. The pair (`b`, `c`) is *certain* if all of this holds:
//!
//! 1. No symbol that ends with the byte `a` merges with `b` alone at a rank up to `r`.
//! 2. No symbol that starts with the byte `d` merges with `c` alone at a rank up to `r`.
//! 3. No symbol at all merges with `bc`, on either side, at a rank below `r`.
//!
//! Then merging can begin with `bc` in place of `b` and `c`, and so for all certain pairs of a text at once, and gives
//! the same symbols. Proof: as long as neither `b` nor `c` has merged, their pair waits with rank `r`, so every merge
//! that happens has a rank up to `r`, and the first one that takes `b` or `c` is theirs, by 1 and 2. Two certain pairs
//! do not share a byte for the same reason. If they are joined in advance, the pairs that can merge are the
//! rule's pairs, and pairs of a joined symbol whose own merge has yet to come. By 3, the latter rank above that merge,
//! which the rule has waiting. So the lowest of all is the one that the rule takes, until it takes the merge of the
//! joined pair itself, which is already done.
//!
//! Conditions 1 and 2 are two limits for each pair of bytes, by the byte that stays alone and its neighbour; pairs that
//! violate 3 are never certain.

use crate::vocab::{Merge, MergeRule, Vocab};

/// No rank.
pub const NEVER: u32 = u32::MAX;

/// Added to the rank of a pair that is never certain. Ranks are below.
const UNCERTAIN: u32 = 1 << 31;

/// The limit if no symbol merges so: above all ranks, and below the ranks of pairs that are never certain.
const NO_LIMIT: u32 = UNCERTAIN - 1;

/// The facts about two bytes, `x` before `y`.
#[derive(Debug, Clone, Copy)]
#[repr(align(16))]
pub struct BytePair {
    /// The rank of their merge, with [`UNCERTAIN`] added if it is never certain; [`NEVER`] if they do not merge.
    rank: u32,
    /// The id of the merge.
    pub id: u32,
    /// The lowest rank at which `y` alone merges with a symbol before it that ends with `x`.
    before: u32,
    /// The lowest rank at which `x` alone merges with a symbol after it that starts with `y`.
    after: u32,
}

impl BytePair {
    /// The facts about two bytes that do not merge.
    pub const NONE: Self = Self { rank: NEVER, id: NEVER, before: NO_LIMIT, after: NO_LIMIT };

    /// The merge, if the bytes merge.
    #[inline(always)]
    #[must_use]
    pub fn merge(&self) -> Option<Merge> {
        (self.rank != NEVER).then_some(Merge { rank: self.rank & !UNCERTAIN, id: self.id })
    }

    /// Whether it merges at a rank above this one, and can still be certain.
    fn can_be_certain_after(&self, rank: u32) -> bool {
        self.rank != NEVER && self.rank & UNCERTAIN == 0 && self.rank > rank
    }

    /// Whether it merges before its bytes merge with others, given the facts about the first byte and the byte before
    /// it, and about the second byte and the byte after it.
    #[inline(always)]
    #[must_use]
    pub fn is_certain(&self, before: &Self, after: &Self) -> bool {
        (self.rank < before.before) & (self.rank < after.after)
    }
}

/// The ids of single bytes, and the facts about each two.
#[derive(Debug)]
pub struct BytePairs {
    ids: Box<[u32; 256]>,
    /// By first and second byte.
    pairs: Box<[BytePair]>,
}

impl BytePairs {
    /// Builds the tables of a vocabulary whose unit is the byte.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Self {
        let mut ids = Box::new([NEVER; 256]);
        for byte in 0..=u8::MAX {
            ids[usize::from(byte)] = vocab.id(&[byte]).unwrap_or(NEVER);
        }
        let mut tables = Self { ids, pairs: vec![BytePair::NONE; 1 << 16].into() };
        match vocab.merge_rule() {
            MergeRule::Bytes => tables.fill_by_tokens(vocab),
            MergeRule::Pair => tables.fill_by_merges(vocab),
        }
        tables
    }

    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.ids) + size_of_val(&*self.pairs)
    }

    /// The id of a single byte.
    #[inline]
    #[must_use]
    pub fn id(&self, byte: u8) -> u32 {
        self.ids[usize::from(byte)]
    }

    /// The facts about two bytes.
    #[inline(always)]
    #[must_use]
    pub fn pair(&self, first: u8, second: u8) -> &BytePair {
        &self.pairs[usize::from(first) << 8 | usize::from(second)]
    }

    fn pair_mut(&mut self, first: u8, second: u8) -> &mut BytePair {
        &mut self.pairs[usize::from(first) << 8 | usize::from(second)]
    }

    /// Fills the pairs if two neighbours merge when their joined bytes are a token, whose place is the rank.
    fn fill_by_tokens(&mut self, vocab: &Vocab) {
        for (rank, (token, id)) in (0..).zip(vocab.tokens()) {
            if let [first, second] = *token {
                let pair = self.pair_mut(first, second);
                (pair.rank, pair.id) = (rank, id);
            }
        }
        let is_token = |bytes: &[u8]| vocab.id(bytes).is_some();
        // Tokens come by rising rank, so the first one decides, and most need no look at their parts.
        for (rank, (token, _)) in (0..).zip(vocab.tokens()) {
            let (&[first, second, ..], &[.., before, last]) = (token, token) else { continue };
            let end = token.len();
            let pair = self.pair_mut(before, last);
            if pair.before == NO_LIMIT && is_token(&token[..end - 1]) {
                pair.before = rank;
            }
            if pair.can_be_certain_after(rank) && is_token(&token[..end - 2]) {
                pair.rank |= UNCERTAIN;
            }
            let pair = self.pair_mut(first, second);
            if pair.after == NO_LIMIT && is_token(&token[1..]) {
                pair.after = rank;
            }
            if pair.can_be_certain_after(rank) && is_token(&token[2..]) {
                pair.rank |= UNCERTAIN;
            }
        }
    }

    /// The same if the merges are listed.
    fn fill_by_merges(&mut self, vocab: &Vocab) {
        let bytes = |id| vocab.token(id).unwrap_or_default();
        for (rank, &[left, right, id]) in (0..).zip(vocab.merges()) {
            if let (&[first], &[second]) = (bytes(left), bytes(right)) {
                let pair = self.pair_mut(first, second);
                (pair.rank, pair.id) = (rank, id);
            }
        }
        for (rank, &[left, right, _]) in (0..).zip(vocab.merges()) {
            let [left, right] = [left, right].map(bytes);
            let (Some(&last), Some(&first)) = (left.last(), right.first()) else { continue };
            if let [alone] = *right {
                let pair = self.pair_mut(last, alone);
                pair.before = pair.before.min(rank);
            }
            if let [alone] = *left {
                let pair = self.pair_mut(alone, first);
                pair.after = pair.after.min(rank);
            }
            for joined in [left, right] {
                if let [x, y] = *joined
                    && self.pair(x, y).can_be_certain_after(rank)
                {
                    self.pair_mut(x, y).rank |= UNCERTAIN;
                }
            }
        }
    }
}
