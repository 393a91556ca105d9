//! Segments of a text and their ids, remembered.
//!
//! A segment of up to 31 bytes is its own key, and its ids lie beside the key. There is a table for keys of 16 bytes and
//! one for keys of 32; the few longer segments have a map of their own. A table that has its largest size and is full forgets everything and begins anew. Nothing here
//! decides an id: without the tables every segment would be merged, with equal results.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashMap;

use crate::simd::prefetch;

/// The most bytes of a table.
const MOST_BYTES: usize = 32 << 20;
const FEWEST_SLOTS: usize = 1 << 12;

/// In the highest byte of a slot's first id stands how many ids there are.
const COUNT_SHIFT: u32 = 24;
const ID: u32 = (1 << COUNT_SHIFT) - 1;

/// The bytes of a segment, zeros after them, and the length in the last byte.
pub type SegmentKey<const K: usize> = [u64; K];

/// The key of a segment of fewer than `K * 8` bytes.
#[inline]
#[must_use]
pub fn key<const K: usize>(text: &[u8], start: usize, len: usize) -> SegmentKey<K> {
    let mut key = [0; K];
    for (at, word) in key.iter_mut().enumerate() {
        let kept = len.saturating_sub(at * 8).min(8);
        let bytes = match text[start..].get(at * 8..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => *bytes,
            None => last_bytes(&text[start..], at * 8),
        };
        let mask = if kept == 8 { u64::MAX } else { (1 << (kept * 8)) - 1 };
        *word = u64::from_le_bytes(bytes) & mask;
    }
    key[K - 1] |= (len as u64) << 56;
    key
}

/// Up to eight bytes from `at` on, zeros after them.
#[cold]
fn last_bytes(text: &[u8], at: usize) -> [u8; 8] {
    let rest = text.get(at..).unwrap_or_default();
    let mut bytes = [0; 8];
    let len = rest.len().min(8);
    bytes[..len].copy_from_slice(&rest[..len]);
    bytes
}

#[derive(Debug, Clone, Copy)]
struct SegmentSlot<const K: usize, const N: usize> {
    key: SegmentKey<K>,
    words: [u32; N],
}

/// Segments with keys of `K` words and up to `N` ids.
#[derive(Debug)]
pub struct SegmentSlots<const K: usize, const N: usize> {
    table: Box<[SegmentSlot<K, N>]>,
    used: usize,
    /// Random, so that nobody can write a text whose keys all collide.
    seeds: [u64; K],
}

impl<const K: usize, const N: usize> Default for SegmentSlots<K, N> {
    fn default() -> Self {
        let random = RandomState::new();
        Self { table: Self::empty(FEWEST_SLOTS), used: 0, seeds: std::array::from_fn(|at| random.hash_one(at)) }
    }
}

impl<const K: usize, const N: usize> SegmentSlots<K, N> {
    const MOST: usize = MOST_BYTES / size_of::<SegmentSlot<K, N>>();

    /// The memory of the table.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.table)
    }

    fn empty(slots: usize) -> Box<[SegmentSlot<K, N>]> {
        vec![SegmentSlot { key: [0; K], words: [0; N] }; slots].into()
    }

    #[inline]
    fn hash(&self, key: &SegmentKey<K>) -> usize {
        let mut hash = 0;
        for at in 0..K / 2 {
            let left = u128::from(key[at * 2] ^ self.seeds[at * 2]);
            let product = left * u128::from(key[at * 2 + 1] ^ self.seeds[at * 2 + 1]);
            hash ^= product as u64 ^ (product >> 64) as u64;
        }
        hash as usize
    }

    /// Asks for the slot of a key, which will be looked at soon, and says where it should be.
    #[inline]
    #[must_use]
    pub fn expect(&self, key: &SegmentKey<K>) -> usize {
        let at = self.hash(key) & (self.table.len() - 1);
        prefetch(&self.table[at]);
        at
    }

    /// Writes the ids of the key to the start of `room` and says how many they are, if the key is known; the search
    /// starts at the slot that was expected.
    #[inline]
    #[must_use]
    pub fn recall(&self, mut at: usize, key: &SegmentKey<K>, room: &mut [u32]) -> Option<usize> {
        let mask = self.table.len() - 1;
        loop {
            let slot = &self.table[at & mask];
            if slot.key == *key {
                if let Some(room) = room.first_chunk_mut() {
                    *room = slot.words.map(|word| word & ID);
                }
                return Some((slot.words[0] >> COUNT_SHIFT) as usize);
            }
            if slot.key[K - 1] == 0 {
                return None;
            }
            at += 1;
        }
    }

    /// Remembers a segment, if its ids are few enough. Slots that are expected may have moved then, and be searched for in
    /// vain, which costs another merge and no exactness.
    pub fn learn(&mut self, key: &SegmentKey<K>, ids: &[u32]) {
        if ids.is_empty() || ids.len() > N {
            return;
        }
        if self.used * 2 >= self.table.len() {
            self.grow();
        }
        let mut words = [0; N];
        words[..ids.len()].copy_from_slice(ids);
        words[0] |= (ids.len() as u32) << COUNT_SHIFT;
        self.insert(SegmentSlot { key: *key, words });
    }

    fn insert(&mut self, slot: SegmentSlot<K, N>) {
        let mask = self.table.len() - 1;
        let mut at = self.hash(&slot.key) & mask;
        while self.table[at].key[K - 1] != 0 && self.table[at].key != slot.key {
            at = (at + 1) & mask;
        }
        self.used += usize::from(self.table[at].key[K - 1] == 0);
        self.table[at] = slot;
    }

    /// Makes the table larger; one that has its largest size forgets everything and begins anew.
    fn grow(&mut self) {
        self.used = 0;
        if self.table.len() >= Self::MOST {
            self.table.fill(SegmentSlot { key: [0; K], words: [0; N] });
            return;
        }
        let larger = Self::empty(self.table.len() * 4);
        for slot in std::mem::replace(&mut self.table, larger) {
            if slot.key[K - 1] != 0 {
                self.insert(slot);
            }
        }
    }
}

/// The longest segment that is remembered at all, in bytes.
const LONGEST: usize = 1 << 10;
/// The most bytes that long segments take, keys and ids together; then all of them are forgotten.
const MOST_LONG: usize = 16 << 20;
/// What an entry takes beside its contents, about.
const ENTRY: usize = 64;

/// Segments without a key of a few words.
#[derive(Debug, Default)]
pub struct LongSegments {
    ids: HashMap<Box<[u8]>, Box<[u32]>>,
    bytes: usize,
}

impl LongSegments {
    /// The memory of the segments, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.ids.allocation_size()
    }

    /// The ids of a segment.
    #[must_use]
    pub fn recall(&self, segment: &[u8]) -> Option<&[u32]> {
        self.ids.get(segment).map(|ids| &ids[..])
    }

    /// Remembers a segment.
    pub fn learn(&mut self, segment: &[u8], ids: &[u32]) {
        if segment.len() > LONGEST {
            return;
        }
        let more = segment.len() + size_of_val(ids) + ENTRY;
        if self.bytes + more > MOST_LONG {
            self.ids.clear();
            self.bytes = 0;
        }
        self.bytes += more;
        self.ids.insert(segment.into(), ids.into());
    }
}
