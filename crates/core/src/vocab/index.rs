//! Tokens by their bytes.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use crate::slots::key::{Key, LONGEST, SHORT, Seeds, ShortKey, Window, short_key};
use crate::slots::{Slots, expect, find};

/// Places of tokens, found by their bytes. Short tokens stand in the table themselves; of others, a tag that tells most
/// apart, so that the tokens have to be compared only where it is equal.
#[derive(Debug)]
pub struct Index {
    /// One word a short token: its key and, in the bits that the key leaves free, its place.
    short: Slots<u128>,
    /// One word a longer token: bits of its hash and, in the lowest bits, its place + 1.
    long: Slots<u64>,
    /// A bit for every token's hash: most that is asked for while merging is no token, and this small table says so.
    filter: Box<[u64; FILTER]>,
    seeds: Seeds,
    hasher: DefaultHashBuilder,
}

/// The tables as they are, for many look-ups in a row.
#[derive(Debug, Clone, Copy)]
pub struct IndexView<'i> {
    short: &'i [u128],
    long: &'i [u64],
    filter: &'i [u64; FILTER],
    seeds: Seeds,
}

/// Bits of a place.
pub const PLACE_BITS: u32 = 24;

/// Words of the filter.
const FILTER: usize = 1 << 14;

/// Where a token that there may be is looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sought {
    hash: u64,
    /// The key of a short one, else 0.
    key: ShortKey,
}

impl Index {
    const SHORT_PLACE: u128 = ((1 << PLACE_BITS) - 1) << 96;
    const LONG_PLACE: u64 = (1 << PLACE_BITS) - 1;

    /// Room for so many short tokens and others.
    #[must_use]
    pub fn new(short: usize, long: usize) -> Self {
        let filter: Box<[u64]> = vec![0; FILTER].into();
        Self {
            short: Slots::new(short * 5 / 4 + 2),
            long: Slots::new(long * 2 + 2),
            filter: filter.try_into().unwrap_or_else(|_| unreachable!("as many words as asked for")),
            seeds: Seeds::default(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.short.bytes() + self.long.bytes() + size_of_val(&*self.filter)
    }

    /// Where to look for these bytes.
    #[must_use]
    pub fn sought(&self, token: &[u8]) -> Sought {
        if token.len() <= SHORT {
            let key = short_key(token);
            return Sought { hash: self.seeds.hash_short(key), key };
        }
        self.sought_at(&Window::new(token), 0, token)
    }

    /// Where the token, which is at `start` of the window's text, will be put; asks for the memory.
    #[inline(always)]
    #[must_use]
    pub fn expect_room(&self, window: &Window<'_>, start: usize, token: &[u8]) -> Sought {
        let sought = self.sought_at(window, start, token);
        let _ = if sought.key == 0 { expect(&self.long, sought.hash) } else { expect(&self.short, sought.hash) };
        sought
    }

    /// Where to look for the token, which stands at `start` of the window's text.
    #[inline(always)]
    fn sought_at(&self, window: &Window<'_>, start: usize, token: &[u8]) -> Sought {
        if token.len() > LONGEST { self.sought_long(token) } else { self.view().sought_in(window, start, token.len()) }
    }

    fn sought_long(&self, token: &[u8]) -> Sought {
        Sought { hash: self.hasher.hash_one(token), key: 0 }
    }

    /// The tables.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> IndexView<'_> {
        IndexView { short: &self.short, long: &self.long, filter: &self.filter, seeds: self.seeds }
    }

    /// Puts a token in; gives the place of an equal one, if there is one.
    #[inline(always)]
    pub fn insert<'v>(
        &mut self,
        sought: Sought,
        place: u32,
        bytes: &[u8],
        token: impl Fn(u32) -> &'v [u8],
    ) -> Option<u32> {
        let other = if sought.key == 0 {
            let at = self.view().at_long(sought.hash, |place| token(place) == bytes);
            let other = Self::long_place(self.long[at]);
            if other.is_none() {
                self.long.put(at, sought.hash & !Self::LONG_PLACE | u64::from(place + 1));
            }
            other
        } else {
            let at = self.view().at_short(sought);
            let other = Self::short_place(self.short[at]);
            if other.is_none() {
                self.short.put(at, sought.key | u128::from(place) << 96);
            }
            other
        };
        let (word, bit) = IndexView::bit(sought.hash);
        self.filter[word] |= 1 << bit;
        other
    }

    /// The place that a slot holds, if it is not free.
    #[inline(always)]
    fn short_place(slot: u128) -> Option<u32> {
        (slot != 0).then_some(((slot & Self::SHORT_PLACE) >> 96) as u32)
    }

    #[inline(always)]
    fn long_place(slot: u64) -> Option<u32> {
        (slot != 0).then(|| (slot & Self::LONG_PLACE) as u32 - 1)
    }
}

impl IndexView<'_> {
    #[inline(always)]
    fn sought_in(&self, window: &Window<'_>, start: usize, len: usize) -> Sought {
        if len <= SHORT {
            let key = window.short_key(start, len);
            Sought { hash: self.seeds.hash_short(key), key }
        } else {
            let key: Key<4> = window.key(start, len);
            Sought { hash: self.seeds.hash(&key), key: 0 }
        }
    }

    /// Where to look for the token of `len` bytes, at most [`LONGEST`], from `start` on, which is asked for at once; and
    /// whether there may be one. Nothing here branches on that, because nobody can guess it.
    #[inline(always)]
    #[must_use]
    pub fn seek(&self, window: &Window<'_>, start: usize, len: usize) -> (Sought, bool) {
        let sought = self.sought_in(window, start, len);
        let may_be = self.may_have(sought) & (len > 0);
        let hash = if may_be { sought.hash } else { 0 };
        let _ = if sought.key == 0 { expect(self.long, hash) } else { expect(self.short, hash) };
        (sought, may_be)
    }

    /// Whether there may be a token there.
    #[inline(always)]
    #[must_use]
    pub fn may_have(&self, sought: Sought) -> bool {
        let (place, bit) = Self::bit(sought.hash);
        self.filter[place] >> bit & 1 != 0
    }

    /// The place of the token with these bytes; `token` gives those of a place.
    #[inline(always)]
    #[must_use]
    pub fn find<'v>(&self, sought: Sought, bytes: &[u8], token: impl Fn(u32) -> &'v [u8]) -> Option<u32> {
        if sought.key == 0 {
            Index::long_place(self.long[self.at_long(sought.hash, |place| token(place) == bytes)])
        } else {
            Index::short_place(self.short[self.at_short(sought)])
        }
    }

    /// The word and bit of the filter for a hash.
    #[inline(always)]
    fn bit(hash: u64) -> (usize, u32) {
        ((hash >> 34) as usize % FILTER, (hash >> 58) as u32)
    }

    /// Where the key is, or the free word where it belongs.
    #[inline(always)]
    fn at_short(&self, sought: Sought) -> usize {
        find(self.short, sought.hash as usize, |word| word & !Index::SHORT_PLACE == sought.key)
    }

    /// Where the token is, or the free word where it belongs.
    #[inline(always)]
    fn at_long(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> usize {
        find(self.long, hash as usize, |&word| {
            let tag_is_equal = (word ^ hash) & !Index::LONG_PLACE == 0;
            tag_is_equal && word & Index::LONG_PLACE != 0 && is_it((word & Index::LONG_PLACE) as u32 - 1)
        })
    }
}
