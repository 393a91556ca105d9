//! Tokens of characters by their bytes.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::key::{SHORT, Seeds, ShortKey, short_key};
use crate::vocab::Merge;

/// Merges by the bytes of the token that they make. Short tokens are their own keys.
#[derive(Debug)]
pub struct CharIndex {
    /// One word a short token: its key and, in the bits that the key leaves free, its place.
    words: Box<[u128]>,
    /// A bit for every key's hash: most that is asked for while merging is no token, and this small table says so.
    filter: Box<[u64]>,
    seeds: Seeds,
    /// Places of the others.
    long: HashTable<u32>,
    hasher: DefaultHashBuilder,
    blob: Vec<u8>,
    ends: Vec<u32>,
    /// By place.
    merges: Vec<Merge>,
}

/// Words of the filter.
const FILTER: usize = 1 << 14;
const PLACE_SHIFT: u32 = 96;
const PLACE: u128 = 0xFF_FFFF << PLACE_SHIFT;

impl CharIndex {
    /// Room for so many tokens.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        Self {
            words: vec![0; (tokens * 2 + 2).next_power_of_two()].into(),
            filter: vec![0; FILTER].into(),
            seeds: Seeds::default(),
            long: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            blob: Vec::new(),
            ends: Vec::new(),
            merges: Vec::new(),
        }
    }

    /// Puts a token in, which must not be there yet.
    pub fn insert(&mut self, token: &[u8], merge: Merge) {
        let place = self.merges.len() as u32;
        self.blob.extend_from_slice(token);
        self.ends.push(self.blob.len() as u32);
        self.merges.push(merge);
        if token.len() <= SHORT {
            let key = short_key(token);
            let hash = self.seeds.hash_short(key);
            let (word, bit) = Self::bit(hash);
            self.filter[word] |= 1 << bit;
            let at = self.at(key, hash);
            self.words[at] = key | u128::from(place) << PLACE_SHIFT;
        } else {
            let hasher = &self.hasher;
            let rehash = |&place: &u32| hasher.hash_one(token_at(&self.blob, &self.ends, place));
            self.long.insert_unique(hasher.hash_one(token), place, rehash);
        }
    }

    /// The merge that makes the token of these bytes.
    #[inline]
    #[must_use]
    pub fn find(&self, token: &[u8]) -> Option<Merge> {
        let place = if token.len() <= SHORT { self.find_short(short_key(token)) } else { self.find_long(token) };
        place.map(|place| self.merges[place as usize])
    }

    #[inline]
    fn find_short(&self, key: ShortKey) -> Option<u32> {
        let hash = self.seeds.hash_short(key);
        let (place, bit) = Self::bit(hash);
        if self.filter[place] >> bit & 1 == 0 {
            return None;
        }
        let word = self.words[self.at(key, hash)];
        (word != 0).then_some(((word & PLACE) >> PLACE_SHIFT) as u32)
    }

    fn find_long(&self, token: &[u8]) -> Option<u32> {
        let same = |&place: &u32| token_at(&self.blob, &self.ends, place) == token;
        self.long.find(self.hasher.hash_one(token), same).copied()
    }

    /// The word and bit of the filter for a hash.
    #[inline]
    fn bit(hash: u64) -> (usize, u32) {
        ((hash >> 34) as usize % FILTER, (hash >> 58) as u32)
    }

    /// Where the key is, or the free word where it belongs.
    #[inline]
    fn at(&self, key: ShortKey, hash: u64) -> usize {
        let mut at = hash as usize & (self.words.len() - 1);
        while self.words[at] != 0 && self.words[at] & !PLACE != key {
            at = (at + 1) & (self.words.len() - 1);
        }
        at
    }
}

#[inline]
fn token_at<'a>(blob: &'a [u8], ends: &[u32], place: u32) -> &'a [u8] {
    let start = if place == 0 { 0 } else { ends[place as usize - 1] };
    &blob[start as usize..ends[place as usize] as usize]
}
