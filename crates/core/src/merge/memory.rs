//! Pieces and their ids, remembered.
//!
//! A piece of up to [`crate::vocab::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and its ids lie
//! beside the key. There is a table for keys of 16 bytes, which most pieces fit, and one for keys of 32. A table that has
//! its largest size and is full forgets everything and begins anew. Nothing here decides an id: without the tables every
//! piece would be merged, with equal results.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::simd::prefetch;
use crate::vocab::key::{Key, Seeds};
use crate::vocab::slots::Slots;

/// The longest piece, in bytes, that is remembered at all.
const LONGEST_REMEMBERED: usize = 1 << 10;
/// The most bytes of a table of slots.
const MOST_BYTES: usize = 32 << 20;
const SMALL_BYTES: usize = 4 << 20;
const FEWEST_SLOTS: usize = 1 << 12;
/// The most bytes kept for what slots have no room for; then all of that is forgotten.
const MOST_SPILT: usize = 16 << 20;
/// How many pieces that came once are kept in mind.
const SEEN: usize = 1 << 15;

/// Where the number of ids stands in a slot's first word of ids, above the first of them.
const COUNT_SHIFT: u32 = 24;
const COUNT: u64 = 0xFF;
const FIRST: u64 = (1 << COUNT_SHIFT) - 1;
/// In place of the number: the words say where the ids are.
const SPILT: u64 = 0xFF;

/// What a piece is known by.
#[derive(Debug, Clone, Copy)]
pub enum PieceName<'t> {
    /// Up to 15 bytes.
    Short(Key<2>),
    /// Up to 31 bytes.
    Wide(Key<4>),
    /// A stretch of more bytes, between two cuts.
    Long(&'t [u8]),
}

/// A key of `K` words, and as many words with two ids each.
type MemorySlot<const K: usize> = [[u64; K]; 2];

/// What is looked at while pieces come and go: the slots of a table, and how to find one.
#[derive(Debug, Clone, Copy)]
pub struct View<'m, const K: usize> {
    slots: &'m [MemorySlot<K>],
    seeds: Seeds,
}

impl<const K: usize> View<'_, K> {
    /// Asks for the slot of a key, which will be looked at soon, and says where it should be.
    #[inline(always)]
    #[must_use]
    pub fn expect(&self, key: &Key<K>) -> usize {
        let at = self.seeds.hash(key) as usize & (self.slots.len() - 1);
        prefetch(&self.slots[at]);
        at
    }

    /// Copies the ids in the slot that was expected at `at` to `room` from `place` on, with something after them, and says
    /// how many they are. None if they are not what the key asks for, or not all there.
    #[inline(always)]
    #[must_use]
    pub fn copy(&self, at: usize, key: &Key<K>, room: &mut [u32], place: usize) -> Option<usize> {
        // The neighbour is in the same line of memory if two slots fit one.
        let at = if K == 2 { at ^ usize::from(self.slots[at][0] != *key) } else { at };
        let [found, words] = &self.slots[at];
        let count = words[0] >> COUNT_SHIFT & COUNT;
        if found != key || count == SPILT {
            return None;
        }
        for (pair, word) in room[place..][..2 * K].chunks_exact_mut(2).zip(words) {
            (pair[0], pair[1]) = (*word as u32, (*word >> 32) as u32);
        }
        room[place] &= FIRST as u32;
        Some(count as usize)
    }
}

/// Pieces with keys of `K` words.
#[derive(Debug)]
pub struct MemoryTable<const K: usize> {
    slots: Slots<MemorySlot<K>>,
    used: usize,
    seeds: Seeds,
}

impl<const K: usize> Default for MemoryTable<K> {
    fn default() -> Self {
        Self { slots: Slots::new(FEWEST_SLOTS), used: 0, seeds: Seeds::default() }
    }
}

impl<const K: usize> MemoryTable<K> {
    const MOST_SLOTS: usize = MOST_BYTES / size_of::<MemorySlot<K>>();

    /// The table as it is now.
    #[inline]
    #[must_use]
    pub fn view(&self) -> View<'_, K> {
        View { slots: &self.slots, seeds: self.seeds }
    }

    /// The slot that has the key, or the free one where it belongs.
    fn place(slots: &[MemorySlot<K>], seeds: &Seeds, key: &Key<K>) -> usize {
        let mask = slots.len() - 1;
        let mut home = seeds.hash(key) as usize & mask;
        loop {
            for at in [home, home ^ 1] {
                if slots[at][0] == *key || slots[at][0][K - 1] == 0 {
                    return at;
                }
            }
            home = (home + 2) & mask;
        }
    }

    /// Appends the ids of the key; false if it is not known.
    fn recall(&self, key: &Key<K>, spilt: &Spilt, out: &mut Vec<u32>) -> bool {
        let [found, words] = &self.slots[Self::place(&self.slots, &self.seeds, key)];
        if found[K - 1] == 0 {
            return false;
        }
        let count = words[0] >> COUNT_SHIFT & COUNT;
        if count == SPILT {
            return spilt.recall([words[0] as u32 & FIRST as u32, (words[0] >> 32) as u32, words[1] as u32], out);
        }
        let ids = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        out.extend(ids.map(|id| id & FIRST as u32).take(count as usize));
        true
    }

    fn learn(&mut self, key: &Key<K>, ids: &[u32], spilt: &mut Spilt) {
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let (count, spilt_to);
        let ids = if ids.len() <= 2 * K {
            count = ids.len() as u64;
            ids
        } else {
            count = SPILT;
            spilt_to = spilt.learn(ids);
            &spilt_to
        };
        let mut words = [0; K];
        for (at, &id) in ids.iter().enumerate() {
            words[at / 2] |= u64::from(id) << (at % 2 * 32);
        }
        words[0] |= count << COUNT_SHIFT;
        let at = Self::place(&self.slots, &self.seeds, key);
        let slot = &mut self.slots[at];
        self.used += usize::from(slot[0][K - 1] == 0);
        *slot = [*key, words];
    }

    /// Makes the table larger; one that has its largest size forgets everything and begins anew.
    fn grow(&mut self) {
        let old = self.slots.len();
        let forgets = old >= Self::MOST_SLOTS;
        // Never smaller, because somebody may be about to look at a slot.
        // Small tables grow in large steps, for there are many to come; large ones in small steps, for each costs memory.
        let factor = if old * size_of::<MemorySlot<K>>() < SMALL_BYTES { 4 } else { 2 };
        let larger = Slots::new(if forgets { old } else { old * factor });
        let old = std::mem::replace(&mut self.slots, larger);
        self.used = 0;
        if forgets {
            return;
        }
        for slot in old.iter().filter(|slot| slot[0][K - 1] != 0) {
            self.used += 1;
            let at = Self::place(&self.slots, &self.seeds, &slot[0]);
            self.slots[at] = *slot;
        }
    }
}

/// The ids that slots have no room for.
#[derive(Debug, Default)]
struct Spilt {
    ids: Vec<u32>,
    /// How often they were forgotten.
    round: u32,
}

impl Spilt {
    /// Keeps ids and says where: start, end and round.
    fn learn(&mut self, ids: &[u32]) -> [u32; 3] {
        if self.ids.len() * size_of::<u32>() > MOST_SPILT {
            self.ids.clear();
            self.round += 1;
        }
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        [start, self.ids.len() as u32, self.round]
    }

    /// Appends the ids; false if they were forgotten.
    fn recall(&self, [start, end, round]: [u32; 3], out: &mut Vec<u32>) -> bool {
        if round == self.round {
            out.extend_from_slice(&self.ids[start as usize..end as usize]);
        }
        round == self.round
    }
}

/// The tables.
#[derive(Debug)]
pub struct Memory {
    /// Pieces of up to 15 bytes.
    pub short: MemoryTable<2>,
    /// Pieces of up to 31.
    pub wide: MemoryTable<4>,
    spilt: Spilt,
    hasher: DefaultHashBuilder,
    long: HashTable<LongStretch>,
    /// The round of the ids that `long` names.
    long_round: u32,
    bytes: Vec<u8>,
    /// Hashes of what came once.
    seen: Box<[u32]>,
}

/// A stretch without a key: where its bytes and ids lie.
#[derive(Debug, Clone, Copy)]
struct LongStretch {
    hash: u64,
    bytes: (u32, u32),
    ids: [u32; 3],
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            short: MemoryTable::default(),
            wide: MemoryTable::default(),
            spilt: Spilt::default(),
            hasher: DefaultHashBuilder::default(),
            long: HashTable::new(),
            long_round: 0,
            bytes: Vec::new(),
            seen: vec![0; SEEN].into(),
        }
    }
}

impl Memory {
    /// The memory that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = size_of_val(&*self.short.slots) + size_of_val(&*self.wide.slots) + size_of_val(&*self.seen);
        let spilt = self.spilt.ids.capacity() * size_of::<u32>();
        slots + spilt + self.long.allocation_size() + self.bytes.capacity()
    }

    /// Appends the ids of a piece; false if it is not known.
    pub fn recall(&self, name: &PieceName<'_>, out: &mut Vec<u32>) -> bool {
        match name {
            PieceName::Short(key) => self.short.recall(key, &self.spilt, out),
            PieceName::Wide(key) => self.wide.recall(key, &self.spilt, out),
            PieceName::Long(stretch) => {
                let same =
                    |known: &LongStretch| self.bytes[known.bytes.0 as usize..known.bytes.1 as usize] == **stretch;
                let found = self.long.find(self.hasher.hash_one(stretch), same);
                found.is_some_and(|found| self.spilt.recall(found.ids, out))
            }
        }
    }

    /// Remembers the ids of a piece. A long one is remembered when it comes for the second time: most never do.
    pub fn learn(&mut self, name: &PieceName<'_>, ids: &[u32]) {
        match name {
            PieceName::Short(key) => self.short.learn(key, ids, &mut self.spilt),
            PieceName::Wide(key) => self.wide.learn(key, ids, &mut self.spilt),
            PieceName::Long(stretch) => {
                let hash = self.hasher.hash_one(stretch);
                if stretch.len() <= LONGEST_REMEMBERED && self.came_before(hash) {
                    self.learn_long(stretch, hash, ids);
                }
            }
        }
    }

    /// Whether something with this hash was asked about before, lately.
    pub fn came_before(&mut self, hash: u64) -> bool {
        let seen = &mut self.seen[hash as usize % SEEN];
        let mark = (hash >> 32) as u32 | 1;
        std::mem::replace(seen, mark) == mark
    }

    fn learn_long(&mut self, stretch: &[u8], hash: u64, ids: &[u32]) {
        let ids = self.spilt.learn(ids);
        if self.bytes.len() + stretch.len() > MOST_SPILT || self.long_round != self.spilt.round {
            self.bytes.clear();
            self.long.clear();
            self.long_round = self.spilt.round;
        }
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(stretch);
        let bytes = (start, self.bytes.len() as u32);
        self.long.insert_unique(hash, LongStretch { hash, bytes, ids }, |known| known.hash);
    }
}
