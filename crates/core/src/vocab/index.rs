//! A hash index of tokens by their bytes.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use crate::slots::key::{Key, LONGEST, SHORT, Seeds, ShortKey, Window, short_key};
use crate::slots::{Slots, find, prefetch_slot};

/// The places of tokens by their bytes. Short tokens are stored in the table itself; a longer token has a tag that
/// differs for most tokens, so that only tokens with equal tags are compared.
#[derive(Debug)]
pub struct Index {
    /// One word per short token: its key and, in the bits that the key leaves free, its place.
    short: Slots<u128>,
    /// One word per longer token: bits of its hash and, in the lowest bits, its place + 1.
    long: Slots<u64>,
    /// A bit for every token's hash: most lookups of merging find no token, and this small table decides that.
    filter: Box<[u64; FILTER]>,
    seeds: Seeds,
    hasher: DefaultHashBuilder,
}

/// A view of the tables, for many lookups in a row.
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

/// The key or hash of a token to look up.
#[derive(Debug, Clone, Copy, Default)]
pub struct LookupKey {
    hash: u64,
    /// The key of a short token, else 0.
    key: ShortKey,
}

impl Index {
    const SHORT_PLACE: u128 = ((1 << PLACE_BITS) - 1) << 96;
    const LONG_PLACE: u64 = (1 << PLACE_BITS) - 1;

    /// An empty index with room for `short` short tokens and `long` others.
    #[must_use]
    pub fn new(short: usize, long: usize) -> Self {
        let filter: Box<[u64]> = vec![0; FILTER].into();
        Self {
            short: Slots::new(short * 5 / 4 + 2),
            long: Slots::new(long * 2 + 2),
            filter: filter.try_into().unwrap_or_else(|_| unreachable!("the vector has FILTER words")),
            seeds: Seeds::default(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.short.bytes() + self.long.bytes() + size_of_val(&*self.filter)
    }

    /// The key or hash of these bytes.
    #[must_use]
    pub fn lookup_key(&self, token: &[u8]) -> LookupKey {
        if token.len() <= SHORT {
            let key = short_key(token);
            return LookupKey { hash: self.seeds.hash_short(key), key };
        }
        self.lookup_key_at(&Window::new(token), 0, token)
    }

    /// The key or hash of the token, which is at `start` of the window's text, to be inserted; prefetches its slot.
    #[inline(always)]
    #[must_use]
    pub fn expect_room(&self, window: &Window<'_>, start: usize, token: &[u8]) -> LookupKey {
        let sought = self.lookup_key_at(window, start, token);
        let _ = if sought.key == 0 {
            prefetch_slot(&self.long, sought.hash)
        } else {
            prefetch_slot(&self.short, sought.hash)
        };
        sought
    }

    /// The key or hash of the token, which is at `start` of the window's text.
    #[inline(always)]
    fn lookup_key_at(&self, window: &Window<'_>, start: usize, token: &[u8]) -> LookupKey {
        if token.len() > LONGEST {
            self.long_lookup_key(token)
        } else {
            self.view().window_lookup_key(window, start, token.len())
        }
    }

    fn long_lookup_key(&self, token: &[u8]) -> LookupKey {
        LookupKey { hash: self.hasher.hash_one(token), key: 0 }
    }

    /// The tables.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> IndexView<'_> {
        IndexView { short: &self.short, long: &self.long, filter: &self.filter, seeds: self.seeds }
    }

    /// Inserts a token; returns the place of an equal one, if there is one.
    #[inline(always)]
    pub fn insert<'v>(
        &mut self,
        sought: LookupKey,
        place: u32,
        bytes: &[u8],
        token: impl Fn(u32) -> &'v [u8],
    ) -> Option<u32> {
        let other = if sought.key == 0 {
            let at = self.view().long_slot(sought.hash, |place| token(place) == bytes);
            let other = Self::long_place(self.long[at]);
            if other.is_none() {
                self.long.set_slot(at, sought.hash & !Self::LONG_PLACE | u64::from(place + 1));
            }
            other
        } else {
            let at = self.view().short_slot(sought);
            let other = Self::short_place(self.short[at]);
            if other.is_none() {
                self.short.set_slot(at, sought.key | u128::from(place) << 96);
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
    fn window_lookup_key(&self, window: &Window<'_>, start: usize, len: usize) -> LookupKey {
        if len <= SHORT {
            let key = window.short_key(start, len);
            LookupKey { hash: self.seeds.hash_short(key), key }
        } else {
            let key: Key<4> = window.key(start, len);
            LookupKey { hash: self.seeds.hash(&key), key: 0 }
        }
    }

    /// The key or hash of the token of `len` bytes, at most [`LONGEST`], from `start` on, with its slot prefetched; and
    /// whether it can exist. Nothing here branches on that, because the branch would be mispredicted.
    #[inline(always)]
    #[must_use]
    pub fn prefetch(&self, window: &Window<'_>, start: usize, len: usize) -> (LookupKey, bool) {
        let sought = self.window_lookup_key(window, start, len);
        let may_be = self.can_contain(sought) & (len > 0);
        let hash = if may_be { sought.hash } else { 0 };
        let _ = if sought.key == 0 { prefetch_slot(self.long, hash) } else { prefetch_slot(self.short, hash) };
        (sought, may_be)
    }

    /// Whether a token can have this key or hash.
    #[inline(always)]
    #[must_use]
    pub fn can_contain(&self, sought: LookupKey) -> bool {
        let (place, bit) = Self::bit(sought.hash);
        self.filter[place] >> bit & 1 != 0
    }

    /// The place of the token with these bytes; `token` returns the bytes of a place.
    #[inline(always)]
    #[must_use]
    pub fn find<'v>(&self, sought: LookupKey, bytes: &[u8], token: impl Fn(u32) -> &'v [u8]) -> Option<u32> {
        if sought.key == 0 {
            Index::long_place(self.long[self.long_slot(sought.hash, |place| token(place) == bytes)])
        } else {
            Index::short_place(self.short[self.short_slot(sought)])
        }
    }

    /// The word and bit of the filter for a hash.
    #[inline(always)]
    fn bit(hash: u64) -> (usize, u32) {
        ((hash >> 34) as usize % FILTER, (hash >> 58) as u32)
    }

    /// The place of the key, or of the free word for it.
    #[inline(always)]
    fn short_slot(&self, sought: LookupKey) -> usize {
        find(self.short, sought.hash as usize, |word| word & !Index::SHORT_PLACE == sought.key)
    }

    /// The place of the token, or of the free word for it.
    #[inline(always)]
    fn long_slot(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> usize {
        find(self.long, hash as usize, |&word| {
            let tag_is_equal = (word ^ hash) & !Index::LONG_PLACE == 0;
            tag_is_equal && word & Index::LONG_PLACE != 0 && is_it((word & Index::LONG_PLACE) as u32 - 1)
        })
    }
}
