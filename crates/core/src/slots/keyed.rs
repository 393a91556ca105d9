//! Stretches of text and what is known of them.
//!
//! A stretch of up to [`crate::slots::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and a few
//! words lie beside the key: [`Keyed`]. What is longer lies in one arena, with a value for each: [`Stretches`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::slots::key::{Key, Seeds};
use crate::slots::{Slot, Slots, expect, find};

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
    seeds: Seeds,
}

/// The slots as they are now, and how to find one: what is looked at while stretches come and go.
#[derive(Debug, Clone, Copy)]
pub struct KeyedView<'k, const K: usize> {
    /// The slots.
    pub slots: &'k [KeyedSlot<K>],
    seeds: Seeds,
}

impl<const K: usize> KeyedView<'_, K> {
    /// Asks for the slot of a key, which will be looked at soon, and says where it should be.
    #[inline(always)]
    #[must_use]
    pub fn expect(&self, key: &Key<K>) -> usize {
        expect(self.slots, self.seeds.hash(key))
    }
}

impl<const K: usize> Keyed<K> {
    /// No stretches, and so many slots.
    #[must_use]
    pub fn new(slots: usize, seeds: Seeds) -> Self {
        Self { slots: Slots::new(slots), seeds }
    }

    /// The table as it is now.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> KeyedView<'_, K> {
        KeyedView { slots: &self.slots, seeds: self.seeds }
    }

    /// What is known of a key.
    #[must_use]
    pub fn get(&self, key: &Key<K>) -> Option<&[u64; K]> {
        let slot = &self.slots[find(&self.slots, self.seeds.hash(key) as usize, |slot| slot[0] == *key)];
        (!slot.is_free()).then_some(&slot[1])
    }

    /// What is known of a key, to change it, and whether it was there before. There must be room for one more.
    #[inline]
    pub fn entry(&mut self, key: &Key<K>) -> (&mut [u64; K], bool) {
        self.entry_at(self.seeds.hash(key) as usize, key)
    }

    /// The same where the slot is expected.
    #[inline]
    pub fn entry_at(&mut self, expected: usize, key: &Key<K>) -> (&mut [u64; K], bool) {
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

/// Two tables of slots, which prefetch a slot before it is looked at.
pub trait SlotTables: Copy {
    /// Where the slot of a key of two words should be.
    fn expect_short(self, key: &Key<2>) -> usize;
    /// Where the slot of a key of four words should be.
    fn expect_wide(self, key: &Key<4>) -> usize;
}

impl SlotTables for (KeyedView<'_, 2>, KeyedView<'_, 4>) {
    #[inline(always)]
    fn expect_short(self, key: &Key<2>) -> usize {
        self.0.expect(key)
    }

    #[inline(always)]
    fn expect_wide(self, key: &Key<4>) -> usize {
        self.1.expect(key)
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::drawn::Draw;
    use crate::slots::key::Window;

    #[test]
    fn what_is_known_of_stretches_is_what_a_map_holds() {
        let mut draw = Draw(11);
        let mut keyed = Keyed::<2>::new(4, Seeds::default());
        let (mut stretches, mut map) = (Stretches::default(), HashMap::new());
        for round in 0..4000 {
            let stretch: Vec<u8> = (0..=draw.below(6)).map(|_| b"abcd"[draw.below(4)]).collect();
            let key = Window::new(&stretch).key(0, stretch.len());
            let known = map.get(&stretch).copied();
            assert_eq!(keyed.get(&key).map(|words| words[1]), known);
            assert_eq!(stretches.get(&stretch).copied(), known);
            if keyed.slots.used() * 2 >= keyed.slots.len() {
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
            assert!(view.expect(&key) < view.slots.len());
        }
        assert_eq!((keyed.slots.used(), stretches.len()), (map.len(), map.len()));
        assert_eq!(stretches.each().map(|(stretch, &value)| (stretch.to_vec(), value)).collect::<HashMap<_, _>>(), map);
        assert_eq!(stretches.length(), map.keys().map(Vec::len).sum::<usize>());
        stretches.clear();
        assert!(stretches.is_empty() && stretches.get(b"a").is_none());
    }

    #[test]
    fn the_neighbour_of_a_slot_is_near() {
        let slot = |byte: u8| [Window::new(&[byte]).key::<2>(0, 1), [u64::from(byte); 2]];
        let slots = [slot(b'a'), slot(b'b'), slot(b'c'), slot(b'd')];
        assert_eq!([2, 3].map(|at| near(&slots, at, &slot(b'c')[0])), [2, 2]);
        assert_eq!([0, 1].map(|at| near(&slots, at, &slot(b'b')[0])), [1, 1]);
    }
}
