//! Stretches of text and what is known of them.
//!
//! A stretch of up to [`crate::vocab::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and a few
//! words lie beside the key: [`Keyed`]. What is longer lies in one arena, with a value for each: [`Stretches`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::vocab::key::{Key, Seeds};
use crate::vocab::slots::{Slot, Slots, find};

/// A key, and as many words of what is known of it.
pub type KeyedSlot<const K: usize> = [[u64; K]; 2];

impl<const K: usize> Slot for KeyedSlot<K> {
    /// The last word of a key holds a length, which is not 0.
    #[inline(always)]
    fn is_free(&self) -> bool {
        self[0][K - 1] == 0
    }
}

/// Stretches with keys of `K` words.
#[derive(Debug)]
pub struct Keyed<const K: usize> {
    /// The table.
    pub slots: Slots<KeyedSlot<K>>,
    /// What hashes are mixed with.
    pub seeds: Seeds,
}

impl<const K: usize> Keyed<K> {
    /// No stretches, and so many slots.
    #[must_use]
    pub fn new(slots: usize, seeds: Seeds) -> Self {
        Self { slots: Slots::new(slots), seeds }
    }

    /// What is known of a key.
    #[must_use]
    pub fn get(&self, key: &Key<K>) -> Option<&[u64; K]> {
        let slot = &self.slots[find(&self.slots, self.seeds.hash(key) as usize, |slot| slot[0] == *key)];
        (!slot.is_free()).then_some(&slot[1])
    }

    /// What is known of a key, to change it, and whether it was there before. There must be room for one more.
    #[inline]
    pub fn entry(&mut self, expected: usize, key: &Key<K>) -> (&mut [u64; K], bool) {
        let at = find(&self.slots, expected, |slot| slot[0] == *key);
        let known = !self.slots[at].is_free();
        if !known {
            self.slots.put(at, [*key, [0; K]]);
        }
        (&mut self.slots[at][1], known)
    }

    /// Makes the table so many times as large.
    pub fn grow(&mut self, times: usize) {
        let seeds = self.seeds;
        self.slots.grow(times, |slot| seeds.hash(&slot[0]));
    }
}

/// The place of the key if it is where it is expected or beside that, in the same line of memory; else another one.
#[inline(always)]
#[must_use]
pub fn near<const K: usize>(slots: &[KeyedSlot<K>], expected: usize, key: &Key<K>) -> usize {
    if K == 2 { expected ^ usize::from(slots[expected][0] != *key) } else { expected }
}

/// Stretches of any length, with a value for each.
#[derive(Debug)]
pub struct Stretches<V> {
    table: HashTable<Stretch<V>>,
    hasher: DefaultHashBuilder,
    bytes: Vec<u8>,
}

/// Where the bytes of a stretch lie, and its value.
#[derive(Debug)]
struct Stretch<V> {
    hash: u64,
    start: usize,
    len: usize,
    value: V,
}

impl<V> Default for Stretches<V> {
    fn default() -> Self {
        Self { table: HashTable::new(), hasher: DefaultHashBuilder::default(), bytes: Vec::new() }
    }
}

impl<V> Stretches<V> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The bytes of all of them.
    #[must_use]
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// The memory of all of them.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.table.allocation_size() + self.bytes.capacity()
    }

    /// The memory that it would take, for a moment, to add one of `len` bytes.
    #[must_use]
    pub fn memory_with(&self, len: usize) -> usize {
        let full = self.bytes.len() + len > self.bytes.capacity() || self.table.len() == self.table.capacity();
        let more = len + self.bytes.capacity() * 2 + self.table.capacity() * 2 * size_of::<Stretch<V>>();
        self.memory() + if full { more } else { 0 }
    }

    /// The hash of a stretch.
    #[must_use]
    pub fn hash(&self, stretch: &[u8]) -> u64 {
        self.hasher.hash_one(stretch)
    }

    /// The value of a stretch.
    #[must_use]
    pub fn get(&self, stretch: &[u8]) -> Option<&V> {
        let same = |known: &Stretch<V>| self.bytes[known.start..][..known.len] == *stretch;
        self.table.find(self.hash(stretch), same).map(|found| &found.value)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, stretch: &[u8]) -> Option<&mut V> {
        let Self { table, hasher, bytes } = self;
        let same = |known: &Stretch<V>| bytes[known.start..][..known.len] == *stretch;
        table.find_mut(hasher.hash_one(stretch), same).map(|found| &mut found.value)
    }

    /// Adds a stretch. If it is there already, it has two values afterwards, and nobody knows which is found.
    pub fn add(&mut self, stretch: &[u8], value: V) {
        let (hash, start, len) = (self.hash(stretch), self.bytes.len(), stretch.len());
        self.bytes.extend_from_slice(stretch);
        self.table.insert_unique(hash, Stretch { hash, start, len, value }, |known| known.hash);
    }

    /// All of them, in no order.
    pub fn each(&self) -> impl Iterator<Item = (&[u8], &V)> {
        self.table.iter().map(|known| (&self.bytes[known.start..][..known.len], &known.value))
    }

    /// Removes all, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.table.clear();
    }
}
