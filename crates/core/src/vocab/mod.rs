//! The vocabulary: an immutable table of tokens with ids and ranks, and the merging pairs.
//!
//! Inside the core a token is identified by its **id**; the **rank** of a merge is its place in the merge order and is
//! never assumed equal to an id. [`Vocab::new`] checks every invariant once, so that encoding and decoding can rely on
//! them: ids and token bytes are unique, and every merge joins two tokens into the token of their joined bytes.
//!
//! Reading order: this file; [`by_id`], tables by id; [`index`], tokens by their bytes, in a table of [`crate::slots`];
//! [`trie`], tokens by their beginnings; [`widths`], the lengths of tokens.
//!
//! Left out: merging ([`crate::merge`]) and its acceleration, which belong to the engine and not to the value.

pub mod by_id;
pub mod index;
pub mod trie;
pub mod widths;

use hashbrown::HashMap;

use crate::error::{Error, Result};
use crate::slots::key::{SHORT, Window};
use crate::vocab::by_id::ById;
use crate::vocab::index::{Index, IndexView, LookupKey, PLACE_BITS};

/// The limit of ids, so that an id fits into one word with other values.
pub const ID_LIMIT: u32 = 1 << PLACE_BITS;

/// The limit of merges, so that a rank and a position fit one word.
pub const MERGE_LIMIT: usize = 1 << 26;

/// The symbols of a piece before the first merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Single bytes; all 256 must be tokens.
    Byte,
    /// Unicode scalar values; one without a token is an error when encoding.
    Char,
    /// Whole pieces: nothing merges, and a piece without a token is an error when encoding.
    Piece,
}

/// The neighbours that can merge.
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
    /// The end of each token in `blob`.
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

/// An immutable, checked vocabulary.
#[derive(Debug)]
pub struct Vocab {
    unit: Unit,
    merge_rule: MergeRule,
    whole_piece: bool,
    blob: Box<[u8]>,
    /// By place: the end of the token in `blob`.
    ends: Box<[u32]>,
    /// By place: the token's id.
    ids: Box<[u32]>,
    /// Whether every id equals its place.
    ids_are_places: bool,
    /// By id: the token's place; [`HOLE`] for none.
    places: ById<u32>,
    /// The places by bytes.
    index: Index,
    pairs: HashMap<(u32, u32), Merge>,
    merges: Box<[[u32; 3]]>,
}

const HOLE: u32 = u32::MAX;

impl Vocab {
    /// Checks `tables` and builds the vocabulary.
    ///
    /// # Errors
    /// [`Error::Model`] names the first invariant that does not hold.
    pub fn new(unit: Unit, merge_rule: MergeRule, whole_piece: bool, tables: Tables<'_>) -> Result<Self> {
        Self::with_prefix(unit, merge_rule, whole_piece, tables, b"")
    }

    /// The same where tokens that continue a piece start with `prefix`, and lose it in a merge.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_prefix(
        unit: Unit,
        merge_rule: MergeRule,
        whole_piece: bool,
        tables: Tables<'_>,
        prefix: &[u8],
    ) -> Result<Self> {
        if unit == Unit::Piece && !tables.merges.is_empty() {
            return Err(Error::model("whole pieces do not merge; list no merges", None));
        }
        if merge_rule == MergeRule::Bytes && !tables.merges.is_empty() {
            return Err(Error::model("merge_rule 'bytes' takes its merges from the tokens; list none", None));
        }
        if tables.merges.len() > MERGE_LIMIT {
            return Err(Error::model(format!("a vocabulary has at most {MERGE_LIMIT} merges"), None));
        }
        let mut vocab = Self {
            unit,
            merge_rule,
            whole_piece,
            blob: tables.blob.into(),
            ends: tables.ends.into(),
            ids: tables.ids.into(),
            ids_are_places: tables.ids.iter().zip(0..).all(|(&id, place)| id == place),
            // Checks the tables, so that the other fields can rely on them.
            places: places_by_id(tables)?,
            index: build_index(tables)?,
            pairs: HashMap::default(),
            merges: tables.merges.into(),
        };
        if unit == Unit::Byte {
            vocab.check_bytes()?;
        }
        vocab.fill_pairs(prefix)?;
        Ok(vocab)
    }

    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let by_place = size_of_val(&*self.ends) + size_of_val(&*self.ids) + size_of_val(&*self.merges);
        self.blob.len() + by_place + self.places.bytes() + self.index.bytes() + self.pairs.allocation_size()
    }

    fn check_bytes(&self) -> Result<()> {
        let missing = (0..=u8::MAX).find(|&byte| self.id(&[byte]).is_none());
        missing.map_or(Ok(()), |byte| {
            Err(Error::model(format!("the byte 0x{byte:02X} is not a token; all 256 must be"), None))
        })
    }

    fn fill_pairs(&mut self, prefix: &[u8]) -> Result<()> {
        self.pairs.reserve(self.merges.len());
        let mut joined = Vec::new();
        for rank in 0..self.merges.len() {
            let [left, right, id] = self.merges[rank];
            joined.clear();
            for part in [left, right] {
                let Some(bytes) = self.token(part) else {
                    return Err(Error::model(
                        format!("merge {rank} joins the id {part}, which no token has"),
                        Some(part),
                    ));
                };
                let continues = !joined.is_empty();
                joined.extend_from_slice(bytes.strip_prefix(prefix).filter(|_| continues).unwrap_or(bytes));
            }
            if self.token(id) != Some(&joined) {
                let joined = joined.escape_ascii();
                return Err(Error::model(format!("merge {rank} must make the token {joined}, but does not"), Some(id)));
            }
            if self.pairs.insert((left, right), Merge { rank: rank as u32, id }).is_some() {
                return Err(Error::model(format!("merge {rank} joins the pair ({left}, {right}) a second time"), None));
            }
        }
        Ok(())
    }

    /// The symbols of a piece before the first merge.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Whether a piece that is a token becomes that token, without merging.
    #[must_use]
    pub fn whole_piece(&self) -> bool {
        self.whole_piece
    }

    /// The neighbours that can merge.
    #[must_use]
    pub fn merge_rule(&self) -> MergeRule {
        self.merge_rule
    }

    /// The number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The largest id + 1.
    #[must_use]
    pub fn size(&self) -> usize {
        self.places.size()
    }

    /// The bytes of the token with this id.
    #[inline]
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        let &place = self.places.get(id)?;
        (place != HOLE).then(|| token_at(&self.blob, &self.ends, place))
    }

    /// The length of a token in bytes; 0 for an id without one.
    #[inline]
    #[must_use]
    pub fn width(&self, id: u32) -> usize {
        self.token(id).map_or(0, <[u8]>::len)
    }

    /// The bytes and ids of all tokens by place, which is their rank under [`MergeRule::Bytes`].
    #[must_use]
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = (&[u8], u32)> {
        (0..self.ids.len() as u32).map(|place| (token_at(&self.blob, &self.ends, place), self.ids[place as usize]))
    }

    /// The ids of all tokens by place.
    #[must_use]
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        self.ids.iter().copied()
    }

    /// The id of the token with these bytes.
    #[inline]
    #[must_use]
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.place(token).map(|place| self.id_at(place))
    }

    /// The place of the token with these bytes.
    #[inline]
    fn place(&self, token: &[u8]) -> Option<u32> {
        let sought = self.index.lookup_key(token);
        let index = self.index.view();
        let find = || index.find(sought, token, |place| token_at(&self.blob, &self.ends, place));
        if index.can_contain(sought) { find() } else { None }
    }

    /// The tables for many lookups in a row.
    #[inline(always)]
    #[must_use]
    pub fn lookup(&self) -> Lookup<'_> {
        let ids = if self.ids_are_places { &[] } else { &*self.ids };
        Lookup { index: self.index.view(), blob: &self.blob, ends: &self.ends, ids }
    }

    #[inline]
    fn id_at(&self, place: u32) -> u32 {
        if self.ids_are_places { place } else { self.ids[place as usize] }
    }

    /// The merge of two neighbours by their ids. None under [`MergeRule::Bytes`].
    #[inline]
    #[must_use]
    pub fn pair(&self, left: u32, right: u32) -> Option<Merge> {
        self.pairs.get(&(left, right)).copied()
    }

    /// The merge of two neighbours, if they can merge. `joined` are the bytes of both.
    #[inline]
    #[must_use]
    pub fn merge(&self, left: u32, right: u32, joined: &[u8]) -> Option<Merge> {
        match self.merge_rule {
            MergeRule::Pair => self.pair(left, right),
            MergeRule::Bytes => self.place(joined).map(|place| Merge { rank: place, id: self.id_at(place) }),
        }
    }

    /// The listed merges: left id, right id and result id, in rank order. None under [`MergeRule::Bytes`].
    #[must_use]
    pub fn merges(&self) -> &[[u32; 3]] {
        &self.merges
    }
}

/// Looks tokens up by their bytes in two steps: prefetch, then compare.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'v> {
    index: IndexView<'v>,
    blob: &'v [u8],
    ends: &'v [u32],
    /// By place; empty if every id equals its place.
    ids: &'v [u32],
}

impl Lookup<'_> {
    /// Prefetches the token of at most [`crate::slots::key::LONGEST`] bytes at `start` of the window's text, which is
    /// looked up soon, and returns whether it can exist.
    #[inline(always)]
    #[must_use]
    pub fn prefetch(&self, window: &Window<'_>, start: usize, len: usize) -> (LookupKey, bool) {
        self.index.prefetch(window, start, len)
    }

    /// The token with these bytes, which was prefetched: its place, and its id. Under [`MergeRule::Bytes`], this is the
    /// merge that makes it.
    #[inline(always)]
    #[must_use]
    pub fn find_prefetched(&self, sought: LookupKey, bytes: &[u8]) -> Option<Merge> {
        let place = self.index.find(sought, bytes, |place| token_at(self.blob, self.ends, place))?;
        Some(Merge { rank: place, id: self.ids.get(place as usize).copied().unwrap_or(place) })
    }
}

#[inline]
fn token_at<'a>(blob: &'a [u8], ends: &[u32], place: u32) -> &'a [u8] {
    let start = if place == 0 { 0 } else { ends[place as usize - 1] };
    &blob[start as usize..ends[place as usize] as usize]
}

/// The tokens that are prefetched before the first of them is inserted.
const AHEAD: usize = 64;

/// The places of all tokens by their bytes.
fn build_index(tables: Tables<'_>) -> Result<Index> {
    let token = |place| token_at(tables.blob, tables.ends, place);
    let places = 0..tables.ids.len() as u32;
    let short = places.clone().filter(|&place| token(place).len() <= SHORT).count();
    let mut index = Index::new(short, tables.ids.len() - short);
    let window = Window::new(tables.blob);
    let (mut start, mut sought) = (0, [LookupKey::default(); AHEAD]);
    for first in places.step_by(AHEAD) {
        let group = first..(first + AHEAD as u32).min(tables.ids.len() as u32);
        for (place, sought) in group.clone().zip(&mut sought) {
            *sought = index.expect_room(&window, start, token(place));
            start += token(place).len();
        }
        for (place, sought) in group.zip(sought) {
            if let Some(other) = index.insert(sought, place, token(place), token) {
                let other = tables.ids[other as usize];
                let invariant = format!("the token {} has the id {other} as well", token(place).escape_ascii());
                return Err(Error::model(invariant, Some(tables.ids[place as usize])));
            }
        }
    }
    Ok(index)
}

fn places_by_id(tables: Tables<'_>) -> Result<ById<u32>> {
    let Tables { blob, ends, ids, .. } = tables;
    if ends.len() != ids.len() || ends.last().map_or(0, |&end| end as usize) != blob.len() {
        return Err(Error::model("tokens, ends and ids differ in length", None));
    }
    let size = ids.iter().max().map_or(0, |&id| id.saturating_add(1));
    if size > ID_LIMIT {
        return Err(Error::model(format!("ids must be below {ID_LIMIT}"), Some(size - 1)));
    }
    let mut places = ById::with_value(ids.iter().copied(), || HOLE);
    let mut start = 0;
    for (place, (&end, &id)) in ends.iter().zip(ids).enumerate() {
        if start >= end {
            return Err(Error::model("a token has no bytes", Some(id)));
        }
        match places.get_mut(id) {
            Some(first) if *first == HOLE => *first = place as u32,
            _ => return Err(Error::model("two tokens have this id", Some(id))),
        }
        start = end;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[1, 0, 2]]).is_err(), "a merge that makes another token");
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[0, 7, 2]]).is_err(), "a merge of nothing");
        assert!(make(&[1, 2, 4], &[0, 1, 2], &[[0, 1, 2], [0, 1, 2]]).is_err(), "a merge twice");
    }
}
