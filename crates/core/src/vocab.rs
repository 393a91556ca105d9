//! The vocabulary: an immutable table of tokens with their ids and ranks, and the pairs that merge.
//!
//! Inside the core a token is known by its **id**; the **rank** of a merge is its place in the merge order and is never
//! assumed equal to an id. [`Vocab::new`] checks every invariant once, so that encoding and decoding may rely on them:
//! ids and token bytes are unique, and every merge joins two tokens into the token of their joined bytes.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::error::{Error, Result};

/// The largest id + 1 that a vocabulary may hold: tables by id stay small whatever a file claims.
pub const ID_LIMIT: u32 = 1 << 24;

/// What a piece is made of before the first merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Single bytes; all 256 must be tokens.
    Byte,
    /// Unicode scalar values; one without a token is an error when encoding.
    Char,
    /// Whole pieces: nothing merges, and a piece without a token is an error when encoding.
    Piece,
}

/// Which neighbours may merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// The pairs of an explicit list, by their place in it.
    Pair,
    /// Any two whose joined bytes are a token, by that token's place in the table.
    Bytes,
}

/// The flat tables that a vocabulary is built from.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Token bytes, one after another.
    pub blob: &'a [u8],
    /// Where each token ends in `blob`.
    pub ends: &'a [u32],
    /// The id of each token.
    pub ids: &'a [u32],
    /// Left id, right id and result id of each merge, in rank order.
    pub merges: &'a [[u32; 3]],
}

/// A merge: its rank and the id that it makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Place in the merge order; lower merges first.
    pub rank: u32,
    /// The id of the joined token.
    pub id: u32,
}

type FxMap<K, V> = HashMap<K, V, FxBuildHasher>;

/// See the module.
#[derive(Debug)]
pub struct Vocab {
    unit: Unit,
    merge_rule: MergeRule,
    whole_piece: bool,
    blob: Box<[u8]>,
    /// By id: where the token starts and ends in `blob`; an empty span is a hole.
    spans: Box<[(u32, u32)]>,
    by_bytes: FxMap<Box<[u8]>, u32>,
    byte_ids: Box<[u32; 256]>,
    pairs: FxMap<(u32, u32), Merge>,
    merges: Box<[[u32; 3]]>,
    len: usize,
}

impl Vocab {
    /// The vocabulary of `tables`, checked.
    ///
    /// # Errors
    /// [`Error::Model`] names the first invariant that does not hold.
    pub fn new(unit: Unit, merge_rule: MergeRule, whole_piece: bool, tables: Tables<'_>) -> Result<Self> {
        if unit == Unit::Piece && !tables.merges.is_empty() {
            return Err(Error::model("whole pieces do not merge; list no merges", None));
        }
        let spans = spans_by_id(tables)?;
        let mut vocab = Self {
            unit,
            merge_rule,
            whole_piece,
            blob: tables.blob.into(),
            by_bytes: by_bytes(tables)?,
            spans,
            byte_ids: Box::new([0; 256]),
            pairs: FxMap::default(),
            merges: tables.merges.into(),
            len: tables.ids.len(),
        };
        if unit == Unit::Byte {
            vocab.fill_byte_ids()?;
        }
        vocab.pairs = match merge_rule {
            MergeRule::Pair => vocab.listed_pairs()?,
            MergeRule::Bytes if tables.merges.is_empty() => vocab.pairs_by_bytes(tables),
            MergeRule::Bytes => {
                return Err(Error::model("merge_rule 'bytes' takes its merges from the tokens; list none", None));
            }
        };
        Ok(vocab)
    }

    fn fill_byte_ids(&mut self) -> Result<()> {
        for byte in 0..=255u8 {
            let Some(&id) = self.by_bytes.get(&[byte][..]) else {
                return Err(Error::model(format!("the byte 0x{byte:02X} is no token; all 256 must be"), None));
            };
            self.byte_ids[usize::from(byte)] = id;
        }
        Ok(())
    }

    fn listed_pairs(&self) -> Result<FxMap<(u32, u32), Merge>> {
        let mut pairs = FxMap::with_capacity_and_hasher(self.merges.len(), FxBuildHasher);
        let mut joined = Vec::new();
        for (rank, &[left, right, id]) in self.merges.iter().enumerate() {
            joined.clear();
            for part in [left, right] {
                let Some(bytes) = self.token(part) else {
                    return Err(Error::model(format!("merge {rank} joins the id {part}, which no token has"), Some(part)));
                };
                joined.extend_from_slice(bytes);
            }
            if self.token(id) != Some(&joined) {
                let joined = joined.escape_ascii();
                return Err(Error::model(format!("merge {rank} must make the token {joined}, but does not"), Some(id)));
            }
            if pairs.insert((left, right), Merge { rank: rank as u32, id }).is_some() {
                return Err(Error::model(format!("merge {rank} joins the pair ({left}, {right}) a second time"), None));
            }
        }
        Ok(pairs)
    }

    /// Every way to cut a token into two tokens, by the token's place in the table.
    fn pairs_by_bytes(&self, tables: Tables<'_>) -> FxMap<(u32, u32), Merge> {
        let mut pairs = FxMap::with_capacity_and_hasher(tables.ids.len() * 2, FxBuildHasher);
        for (rank, &id) in tables.ids.iter().enumerate() {
            let token = self.token(id).unwrap_or_default();
            for at in 1..token.len() {
                if let (Some(left), Some(right)) = (self.id(&token[..at]), self.id(&token[at..])) {
                    pairs.insert((left, right), Merge { rank: rank as u32, id });
                }
            }
        }
        pairs
    }

    /// What a piece is made of before the first merge.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether a piece that is a token is that token, without merging.
    #[must_use]
    pub fn whole_piece(&self) -> bool {
        self.whole_piece
    }

    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no token at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The largest id + 1.
    #[must_use]
    pub fn size(&self) -> usize {
        self.spans.len()
    }

    /// The bytes of the token with this id.
    #[inline]
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        let &(start, end) = self.spans.get(id as usize)?;
        (start < end).then(|| &self.blob[start as usize..end as usize])
    }

    /// The id of the token with these bytes.
    #[inline]
    #[must_use]
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.by_bytes.get(token).copied()
    }

    /// The id of a single byte. Only for [`Unit::Byte`].
    #[inline]
    #[must_use]
    pub fn byte_id(&self, byte: u8) -> u32 {
        self.byte_ids[usize::from(byte)]
    }

    /// The merge of two neighbours, if they may merge.
    #[inline]
    #[must_use]
    pub fn merge(&self, left: u32, right: u32) -> Option<Merge> {
        self.pairs.get(&(left, right)).copied()
    }

    /// The merges as a list of left, right and result id, in rank order.
    ///
    /// For [`MergeRule::Bytes`] a token's merge is the last one that happens when its own bytes are encoded without
    /// the whole-piece lookup; tokens that merging alone does not reach have none. Replacing the rule by this list
    /// changes no id: inside the bytes of a token that was merged from two neighbours no merge crossed an edge, so
    /// that the neighbours are those of the token alone.
    #[must_use]
    pub fn recover_merges(&self) -> Vec<[u32; 3]> {
        if self.merge_rule == MergeRule::Pair {
            return self.merges.to_vec();
        }
        let mut found: Vec<(u32, [u32; 3])> = Vec::with_capacity(self.len);
        for id in 0..self.size() as u32 {
            if let Some(last) = self.token(id).and_then(|token| crate::merge::last_pair(self, token))
                && let Some(merge) = self.merge(last.0, last.1)
                && merge.id == id
            {
                found.push((merge.rank, [last.0, last.1, id]));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, merge)| merge).collect()
    }
}

fn spans_by_id(tables: Tables<'_>) -> Result<Box<[(u32, u32)]>> {
    let Tables { blob, ends, ids, .. } = tables;
    if ends.len() != ids.len() || ends.last().map_or(0, |&end| end as usize) != blob.len() {
        return Err(Error::model("tokens, ends and ids differ in length", None));
    }
    let size = ids.iter().max().map_or(0, |&id| id.saturating_add(1));
    if size > ID_LIMIT {
        return Err(Error::model(format!("ids must lie below {ID_LIMIT}"), Some(size - 1)));
    }
    let mut spans = vec![(0, 0); size as usize].into_boxed_slice();
    let mut start = 0;
    for (&end, &id) in ends.iter().zip(ids) {
        if start >= end {
            return Err(Error::model("a token has no bytes", Some(id)));
        }
        let span = &mut spans[id as usize];
        if *span != (0, 0) {
            return Err(Error::model("two tokens have this id", Some(id)));
        }
        *span = (start, end);
        start = end;
    }
    Ok(spans)
}

fn by_bytes(tables: Tables<'_>) -> Result<FxMap<Box<[u8]>, u32>> {
    let mut map = FxMap::with_capacity_and_hasher(tables.ids.len(), FxBuildHasher);
    let mut start = 0;
    for (&end, &id) in tables.ends.iter().zip(tables.ids) {
        let token = &tables.blob[start as usize..end as usize];
        if let Some(other) = map.insert(token.into(), id) {
            let token = token.escape_ascii();
            return Err(Error::model(format!("the token {token} has the id {other} as well"), Some(id)));
        }
        start = end;
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::tests::bytes_vocab;

    #[test]
    fn a_bytes_vocabulary_recovers_its_merges() {
        let vocab = bytes_vocab(&["ab", "abc", "bc"]);
        let merges = vocab.recover_merges();
        assert_eq!(merges, [[97, 98, 256], [256, 99, 257], [98, 99, 258]]);
    }

    #[test]
    fn a_token_that_merging_does_not_reach_has_no_merge() {
        let vocab = bytes_vocab(&["abc"]);
        assert!(vocab.recover_merges().is_empty());
    }

    #[test]
    fn broken_tables_are_refused() {
        let make = |ends: &[u32], ids: &[u32], merges: &[[u32; 3]]| {
            let tables = Tables { blob: b"abab", ends, ids, merges };
            Vocab::new(Unit::Char, MergeRule::Pair, false, tables).map(|_| ())
        };
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[0, 1, 2]]).is_ok());
        assert!(make(&[1, 2, 4], &[0, 1, 1], &[]).is_err(), "an id twice");
        assert!(make(&[2, 4], &[0, 1], &[]).is_err(), "a token twice");
        assert!(make(&[1, 1, 4], &[0, 1, 2], &[]).is_err(), "an empty token");
        assert!(make(&[1, 2, 3], &[0, 1, 2], &[]).is_err(), "bytes left over");
        assert!(make(&[1, 2, 4], &[0, 1, u32::MAX], &[]).is_err(), "a huge id");
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[1, 0, 2]]).is_err(), "a merge that makes something else");
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[0, 7, 2]]).is_err(), "a merge of nothing");
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[0, 1, 2], [0, 1, 2]]).is_err(), "a merge twice");
    }
}
