//! Hash tables of stretches of text with their values.
//!
//! A stretch of up to [`crate::slots::key::LONGEST`] bytes is its own key in [`Keyed`], so that finding it is one
//! comparison, and its value words are next to the key. Longer stretches are in one arena, with a value for each:
//! [`Stretches`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::slots::key::{Key, Seeds};
use crate::slots::{Slot, Slots, find, prefetch_slot};

/// A key, and as many value words.
pub type KeyedSlot<const K: usize> = [[u64; K]; 2];

impl<const K: usize> Slot for KeyedSlot<K> {
    /// The last word of a key holds a length, which is not 0.
    #[inline(always)]
    fn is_free(&self) -> bool {
        self[0][K - 1] == 0
    }
}

/// A table of stretches with keys of `K` words.
#[derive(Debug)]
pub struct Keyed<const K: usize> {
    /// The table.
    pub slots: Slots<KeyedSlot<K>>,
    seeds: Seeds,
}

/// The current slots with the seeds to find one: a view for lookups while stretches are added.
#[derive(Debug, Clone, Copy)]
pub struct KeyedView<'k, const K: usize> {
    /// The slots.
    pub slots: &'k [KeyedSlot<K>],
    seeds: Seeds,
}

impl<const K: usize> KeyedView<'_, K> {
    /// Prefetches the slot of a key and returns its expected place.
    #[inline(always)]
    #[must_use]
    pub fn prefetch_slot(&self, key: &Key<K>) -> usize {
        prefetch_slot(self.slots, self.seeds.hash(key))
    }
}

impl<const K: usize> Keyed<K> {
    /// An empty table of `slots` slots.
    #[must_use]
    pub fn new(slots: usize, seeds: Seeds) -> Self {
        Self { slots: Slots::new(slots), seeds }
    }

    /// A view of the current table.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> KeyedView<'_, K> {
        KeyedView { slots: &self.slots, seeds: self.seeds }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &Key<K>) -> Option<&[u64; K]> {
        let slot = &self.slots[find(&self.slots, self.seeds.hash(key) as usize, |slot| slot[0] == *key)];
        (!slot.is_free()).then_some(&slot[1])
    }

    /// The value of a key, to change it, and whether the key was present. There must be room for one more.
    #[inline]
    pub fn entry(&mut self, key: &Key<K>) -> (&mut [u64; K], bool) {
        self.entry_at(self.seeds.hash(key) as usize, key)
    }

    /// The same from the expected slot on.
    #[inline]
    pub fn entry_at(&mut self, expected: usize, key: &Key<K>) -> (&mut [u64; K], bool) {
        let at = find(&self.slots, expected, |slot| slot[0] == *key);
        let occupied = !self.slots[at].is_free();
        if !occupied {
            self.slots.set_slot(at, [*key, [0; K]]);
        }
        (&mut self.slots[at][1], occupied)
    }

    /// Makes the table `times` times as large.
    pub fn grow(&mut self, times: usize) {
        let seeds = self.seeds;
        self.slots.grow(times, |slot| seeds.hash(&slot[0]));
    }
}

/// The tables of short and of wide keys, which prefetch a slot before its lookup.
pub type SlotTables<'k> = (KeyedView<'k, 2>, KeyedView<'k, 4>);

/// The place of the key if it is at the expected place or next to it, in the same line of memory; else another place.
#[inline(always)]
#[must_use]
pub fn find_near<const K: usize>(slots: &[KeyedSlot<K>], expected: usize, key: &Key<K>) -> usize {
    if K == 2 { expected ^ usize::from(slots[expected][0] != *key) } else { expected }
}

/// A table of stretches of any length, with a value for each.
#[derive(Debug)]
pub struct Stretches<V> {
    table: HashTable<Stretch<V>>,
    hasher: DefaultHashBuilder,
    bytes: Vec<u8>,
}

/// The bytes of a stretch, as a range of the arena, and its value.
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
    /// The number of stretches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The bytes of all stretches.
    #[must_use]
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// The memory of the table in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.table.allocation_size() + self.bytes.capacity()
    }

    /// The peak memory in bytes while a stretch of `len` bytes is added.
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
        let same = |stored: &Stretch<V>| self.bytes[stored.start..][..stored.len] == *stretch;
        self.table.find(self.hash(stretch), same).map(|entry| &entry.value)
    }

    /// The value of a stretch, to change it.
    pub fn get_mut(&mut self, stretch: &[u8]) -> Option<&mut V> {
        let Self { table, hasher, bytes } = self;
        let same = |stored: &Stretch<V>| bytes[stored.start..][..stored.len] == *stretch;
        table.find_mut(hasher.hash_one(stretch), same).map(|entry| &mut entry.value)
    }

    /// Adds a stretch, which must be absent; a duplicate makes lookups unspecified.
    pub fn add(&mut self, stretch: &[u8], value: V) {
        let (hash, start, len) = (self.hash(stretch), self.bytes.len(), stretch.len());
        self.bytes.extend_from_slice(stretch);
        self.table.insert_unique(hash, Stretch { hash, start, len, value }, |stored| stored.hash);
    }

    /// All stretches with their values, in no order.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &V)> {
        self.table.iter().map(|stored| (&self.bytes[stored.start..][..stored.len], &stored.value))
    }

    /// Removes all stretches and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.table.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::drawn::Draw;
    use crate::slots::key::Window;

    #[test]
    fn tables_of_stretches_equal_a_map() {
        let mut draw = Draw(11);
        let mut keyed = Keyed::<2>::new(4, Seeds::default());
        let (mut stretches, mut map) = (Stretches::default(), HashMap::new());
        for round in 0..4000 {
            let stretch: Vec<u8> = (0..=draw.below(6)).map(|_| b"abcd"[draw.below(4)]).collect();
            let key = Window::new(&stretch).key(0, stretch.len());
            let known = map.get(&stretch).copied();
            assert_eq!(keyed.get(&key).map(|words| words[1]), known);
            assert_eq!(stretches.get(&stretch).copied(), known);
            if keyed.slots.used_count() * 2 >= keyed.slots.len() {
                keyed.grow(4);
            }
            let (words, was_known) = keyed.entry(&key);
            assert_eq!((was_known, words[1]), (known.is_some(), known.unwrap_or(0)));
            words[1] = round;
            match stretches.get_mut(&stretch) {
                Some(value) => *value = round,
                None => stretches.add(&stretch, round),
            }
            map.insert(stretch, round);
            let view = keyed.view();
            assert!(view.prefetch_slot(&key) < view.slots.len());
        }
        assert_eq!((keyed.slots.used_count(), stretches.len()), (map.len(), map.len()));
        assert_eq!(
            stretches.entries().map(|(stretch, &value)| (stretch.to_vec(), value)).collect::<HashMap<_, _>>(),
            map
        );
        assert_eq!(stretches.byte_count(), map.keys().map(Vec::len).sum::<usize>());
        stretches.clear();
        assert!(stretches.is_empty() && stretches.get(b"a").is_none());
    }

    #[test]
    fn find_near_looks_at_the_neighbour_of_a_slot() {
        let slot = |byte: u8| [Window::new(&[byte]).key::<2>(0, 1), [u64::from(byte); 2]];
        let slots = [slot(b'a'), slot(b'b'), slot(b'c'), slot(b'd')];
        assert_eq!([2, 3].map(|at| find_near(&slots, at, &slot(b'c')[0])), [2, 2]);
        assert_eq!([0, 1].map(|at| find_near(&slots, at, &slot(b'b')[0])), [1, 1]);
    }
}
