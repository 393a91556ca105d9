//! The one kind of hash table: an array of slots, in which a free slot ends a search.
//!
//! The user of a table defines the content of a slot, the comparison, and when the table grows: [`crate::vocab::index`]
//! has tokens by their bytes, [`keyed`] stretches of text with values. A search examines the slot of the hash and its
//! neighbour, which usually shares its line of memory, then the next two. The number of slots is a power of two, and
//! one of them is always free. [`piece_walk`] looks up all pieces of a text.

pub mod key;
pub mod keyed;
mod pages;
pub mod piece_walk;

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::simd::prefetch;
pub use pages::HUGE;
use pages::Pages;

/// The content of a slot. Zeros are a free slot.
pub trait Slot: Pod {
    /// Whether the slot is free.
    fn is_free(&self) -> bool;
}

impl Slot for u64 {
    #[inline(always)]
    fn is_free(&self) -> bool {
        *self == 0
    }
}

impl Slot for u128 {
    #[inline(always)]
    fn is_free(&self) -> bool {
        *self == 0
    }
}

/// A table of slots, which dereferences to the array of slots.
#[derive(Debug)]
pub struct Slots<S> {
    slots: Pages<S>,
    used: usize,
}

/// Prefetches the slot of a hash and returns its place.
#[inline(always)]
#[must_use]
pub fn prefetch_slot<S>(slots: &[S], hash: u64) -> usize {
    let at = hash as usize & (slots.len() - 1);
    prefetch(&slots[at]);
    at
}

/// The place of the slot that `is_it` accepts, or else of the free slot for it; the search starts at `expected`.
#[inline(always)]
#[must_use]
pub fn find<S: Slot>(slots: &[S], expected: usize, is_it: impl Fn(&S) -> bool) -> usize {
    let mask = slots.len() - 1;
    let mut home = expected & mask;
    loop {
        for at in [home, home ^ 1] {
            if is_it(&slots[at]) || slots[at].is_free() {
                return at;
            }
        }
        home = (home + 2) & mask;
    }
}

impl<S: Slot> Slots<S> {
    /// A table of at least `least` free slots, and at least two.
    #[must_use]
    pub fn new(least: usize) -> Self {
        Self { slots: Pages::zeros(least.next_power_of_two().max(2)), used: 0 }
    }

    /// The number of slots that are not free.
    #[must_use]
    pub fn used_count(&self) -> usize {
        self.used
    }

    /// The memory of the slots in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&**self)
    }

    /// Puts a slot at the place from [`find`]. Another free slot must remain.
    #[inline]
    pub fn set_slot(&mut self, at: usize, slot: S) {
        self.used += usize::from(self[at].is_free());
        debug_assert!(self.used < self.len(), "a full table cannot be searched");
        self[at] = slot;
    }

    /// Makes the table `times` times as large, a power of two. It never shrinks, so that expected places stay valid.
    #[cold]
    pub fn grow(&mut self, times: usize, hash: impl Fn(&S) -> u64) {
        let larger = Pages::zeros(self.len() * times);
        let before = std::mem::replace(&mut self.slots, larger);
        for slot in before.iter().filter(|slot| !slot.is_free()) {
            let at = find(self, hash(slot) as usize, |_| false);
            self.slots[at] = *slot;
        }
    }

    /// The slots that are not free, with their places.
    pub fn used_slots(&self) -> impl Iterator<Item = (usize, &S)> {
        self.iter().enumerate().filter(|(_, slot)| !slot.is_free())
    }

    /// Frees all slots.
    pub fn clear(&mut self) {
        self.fill(S::zeroed());
        self.used = 0;
    }
}

impl<S: Pod> Deref for Slots<S> {
    type Target = [S];

    #[inline(always)]
    fn deref(&self) -> &[S] {
        &self.slots
    }
}

impl<S: Pod> DerefMut for Slots<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        &mut self.slots
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::drawn::Draw;

    /// A table of keys in the higher half of a word and values in the lower one, with `hashes` different hashes.
    struct Drawn {
        slots: Slots<u64>,
        hashes: u64,
    }

    impl Drawn {
        fn at(&self, key: u64) -> usize {
            find(&self.slots, prefetch_slot(&self.slots, self.hash(key)), |slot| slot >> 32 == key)
        }

        fn hash(&self, key: u64) -> u64 {
            key.wrapping_mul(0x9E37_79B9_7F4A_7C15) % self.hashes
        }

        fn insert(&mut self, key: u64, value: u64) {
            if self.slots.used_count() + 2 > self.slots.len() {
                let (hashes, times) = (self.hashes, 2 << (key % 3));
                self.slots.grow(times, |slot| Self { slots: Slots::new(2), hashes }.hash(slot >> 32));
            }
            let at = self.at(key);
            self.slots.set_slot(at, key << 32 | value);
        }
    }

    #[test]
    fn a_table_of_slots_equals_a_map() {
        let mut draw = Draw(3);
        // With few hashes nearly all collide, and searches go round the end of the table.
        for (round, hashes) in [1, 2, 7, u64::MAX].into_iter().cycle().take(80).enumerate() {
            let (mut table, mut map) = (Drawn { slots: Slots::new(1 + draw.below(9)), hashes }, HashMap::new());
            let keys = 1 + draw.below(if round < 40 { 20 } else { 300 });
            for _ in 0..2 * keys {
                let (key, value) = (1 + draw.below(keys) as u64, draw.below(1 << 20) as u64);
                table.insert(key, value);
                map.insert(key, value);
                let (sought, known) = (1 + draw.below(2 * keys) as u64, table.slots.used_count());
                let found = Some(table.slots[table.at(sought)]).filter(|slot| !slot.is_free());
                assert_eq!(found.map(|slot| slot & 0xFFFF_FFFF), map.get(&sought).copied());
                assert_eq!(known, map.len());
            }
            let all: HashMap<u64, u64> =
                table.slots.used_slots().map(|(_, slot)| (slot >> 32, slot & 0xFFFF_FFFF)).collect();
            assert_eq!(all, map);
            let places = table.slots.used_slots().all(|(at, slot)| table.at(slot >> 32) == at);
            assert!(places && table.slots.len().is_power_of_two() && table.slots.used_count() < table.slots.len());
            table.slots.clear();
            assert_eq!(
                (table.slots.used_count(), table.slots.used_slots().count(), table.at(1) & 1),
                (0, 0, table.hash(1) as usize & 1)
            );
        }
    }

    const MANY: usize = 1 << 17;

    #[test]
    fn large_tables_start_free_and_keep_their_slots_when_they_grow() {
        let mut slots = Slots::<u128>::new(MANY - 1);
        assert_eq!((slots.len(), slots.used_slots().count()), (MANY, 0));
        for key in 1..=1000 {
            let at = find(&slots, key * 77, |&slot| slot == key as u128);
            slots.set_slot(at, key as u128);
        }
        slots.grow(4, |&slot| slot as u64 * 77);
        assert_eq!((slots.len(), slots.used_count()), (4 * MANY, 1000));
        assert!((1..=1000).all(|key| slots[find(&slots, key * 77, |&slot| slot == key as u128)] == key as u128));
    }

    #[test]
    #[should_panic(expected = "a full table")]
    fn the_last_free_slot_stays_free() {
        let mut slots = Slots::<u64>::new(2);
        slots.set_slot(0, 1);
        slots.set_slot(1, 2);
    }
}
