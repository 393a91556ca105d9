//! Short tokens by their bytes.

use crate::key::{Seeds, ShortKey};
use crate::simd::prefetch;
use crate::slots::Slots;

/// Places by short key: one word a token, which holds the key and, in the bits that the key leaves free, the place.
#[derive(Debug)]
pub struct ShortIndex {
    words: Slots<u128>,
    /// A bit for every key's hash: most keys that are asked for while merging are none, and this small table says so.
    filter: Box<[u64]>,
    seeds: Seeds,
}

/// Bits of a place.
pub const PLACE_BITS: u32 = 24;

/// Words of the filter.
const FILTER: usize = 1 << 14;

impl ShortIndex {
    const PLACE: u128 = ((1 << PLACE_BITS) - 1) << 96;

    /// Room for so many tokens.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        let words = Slots::new((tokens * 2 + 2).next_power_of_two());
        Self { words, filter: vec![0; FILTER].into(), seeds: Seeds::default() }
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
        loop {
            let word = self.words[at];
            if word & !Self::PLACE == key || word == 0 {
                return at;
            }
            at = (at + 1) & (self.words.len() - 1);
        }
    }

    /// The place of the token with this key.
    #[inline]
    #[must_use]
    pub fn find(&self, key: ShortKey) -> Option<u32> {
        self.find_expected(key, self.expect(key)?)
    }

    /// The hash of a key that may be there, its word asked for; None if it is not there.
    #[inline]
    #[must_use]
    pub fn expect(&self, key: ShortKey) -> Option<u64> {
        let hash = self.seeds.hash_short(key);
        let (place, bit) = Self::bit(hash);
        if self.filter[place] >> bit & 1 == 0 {
            return None;
        }
        prefetch(&self.words[hash as usize & (self.words.len() - 1)]);
        Some(hash)
    }

    /// The place of the token with this key and hash.
    #[inline]
    #[must_use]
    pub fn find_expected(&self, key: ShortKey, hash: u64) -> Option<u32> {
        let word = self.words[self.at(key, hash)];
        (word != 0).then_some(((word & Self::PLACE) >> 96) as u32)
    }

    /// Puts a token in; gives the place that its key has already, if it has one.
    pub fn insert(&mut self, key: ShortKey, place: u32) -> Option<u32> {
        let hash = self.seeds.hash_short(key);
        let (word, bit) = Self::bit(hash);
        self.filter[word] |= 1 << bit;
        let at = self.at(key, hash);
        let found = self.words[at];
        if found == 0 {
            self.words[at] = key | u128::from(place) << 96;
            return None;
        }
        Some(((found & Self::PLACE) >> 96) as u32)
    }
}
