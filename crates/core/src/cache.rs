//! Pieces and their ids, remembered.
//!
//! A piece of up to [`crate::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and its ids lie beside the
//! key. A table that has its largest size and is full forgets everything and begins anew. Nothing here decides an id:
//! without the table every piece would be merged, with equal results.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::key::{Key, Seeds};
use crate::simd::prefetch;

/// The longest piece, in bytes, that is remembered at all.
const LONGEST_REMEMBERED: usize = 1 << 10;
/// The largest table, in slots of 64 bytes: 64 MiB.
const MOST_SLOTS: usize = 1 << 20;
const FEWEST_SLOTS: usize = 1 << 12;
const SMALL_TABLE: usize = 1 << 15;
/// The most bytes kept for what slots have no room for; then all of that is forgotten.
const MOST_SPILT: usize = 16 << 20;
/// How many long pieces that came once are kept in mind.
const SEEN: usize = 1 << 14;

/// Up to seven ids, and what they are.
pub type Words = [u32; 8];
const META: usize = 7;
/// In `META`: the number of ids; 0 if they are elsewhere.
const COUNT: u32 = 7;
/// In `META`: the words say where the ids are.
const SPILT: u32 = 8;
/// In `META`: the ids are what merging gives, and not only what the whole-piece lookup gives.
const MERGED: u32 = 16;

/// The number of ids in the words.
#[inline]
#[must_use]
pub fn count(words: &Words) -> usize {
    (words[META] & COUNT) as usize
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
struct Slot {
    key: Key,
    words: Words,
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.key[3] == 0
    }
}

/// The table.
#[derive(Debug)]
pub struct Memory {
    slots: Box<[Slot]>,
    used: usize,
    seeds: Seeds,
    hasher: DefaultHashBuilder,
    long: HashTable<LongPiece>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
    /// How often `bytes` and `ids` were emptied.
    round: u32,
    /// Hashes of long pieces that came once.
    seen: Box<[u64]>,
}

/// A piece that no slot has room for: where its bytes and ids lie.
#[derive(Debug, Clone, Copy)]
struct LongPiece {
    hash: u64,
    bytes: (u32, u32),
    ids: (u32, u32),
}

impl Default for Memory {
    fn default() -> Self {
        let slots = vec![Slot::default(); FEWEST_SLOTS].into();
        Self {
            slots,
            used: 0,
            seeds: Seeds::default(),
            hasher: DefaultHashBuilder::default(),
            long: HashTable::new(),
            bytes: Vec::new(),
            ids: Vec::new(),
            round: 0,
            seen: vec![0; SEEN].into(),
        }
    }
}

impl Memory {
    #[inline]
    fn place(&self, key: &Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = self.seeds.hash(key) as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.key == *key || slot.is_empty() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Remembers the ids of a piece; `merged` says that merging gave them.
    pub fn learn(&mut self, key: Key, ids: &[u32], merged: bool) {
        if self.used * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let mut words = [0; 8];
        if let Some(room) = words[..META].get_mut(..ids.len()) {
            room.copy_from_slice(ids);
            words[META] = ids.len() as u32;
        } else {
            let (start, end) = self.keep_ids(ids);
            words = [start, end, self.round, 0, 0, 0, 0, SPILT];
        }
        words[META] |= if merged { MERGED } else { 0 };
        let at = self.place(&key);
        self.used += usize::from(self.slots[at].is_empty());
        self.slots[at] = Slot { key, words };
    }

    /// Makes the table larger; one that has its largest size forgets everything and begins anew.
    fn grow(&mut self) {
        if self.slots.len() >= MOST_SLOTS {
            self.slots.fill(Slot::default());
            self.used = 0;
            return;
        }
        // Small tables grow in large steps, for there are many to come; large ones in small steps, for each costs memory.
        let factor = if self.slots.len() < SMALL_TABLE { 4 } else { 2 };
        let slots = vec![Slot::default(); self.slots.len() * factor].into();
        let old = std::mem::replace(&mut self.slots, slots);
        for slot in old.iter().filter(|slot| !slot.is_empty()) {
            let at = self.place(&slot.key);
            self.slots[at] = *slot;
        }
    }

    /// Asks for the slot of a key, which will be looked at soon, and says where it should be.
    #[inline]
    #[must_use]
    pub fn expect(&self, key: &Key) -> usize {
        let at = self.seeds.hash(key) as usize & (self.slots.len() - 1);
        prefetch(&self.slots[at]);
        at
    }

    /// The words of the slot that was expected at `at`, if they are what the key asks for.
    #[inline]
    #[must_use]
    pub fn at(&self, at: usize, key: &Key) -> Option<&Words> {
        let slot = &self.slots[at];
        (slot.key == *key && slot.words[META] & COUNT != 0).then_some(&slot.words)
    }

    /// The ids of a key's piece, and whether merging gives them.
    #[inline]
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<(&[u32], bool)> {
        let slot = &self.slots[self.place(key)];
        let merged = slot.words[META] & MERGED != 0;
        if slot.words[META] & SPILT == 0 {
            return (!slot.is_empty()).then(|| (&slot.words[..count(&slot.words)], merged));
        }
        let [start, end, round, ..] = slot.words;
        (round == self.round).then(|| (&self.ids[start as usize..end as usize], merged))
    }

    fn keep_ids(&mut self, ids: &[u32]) -> (u32, u32) {
        if self.ids.len() * 4 + self.bytes.len() > MOST_SPILT {
            self.long.clear();
            self.bytes.clear();
            self.ids.clear();
            self.round += 1;
        }
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        (start, self.ids.len() as u32)
    }

    /// The hash of a piece without a key.
    #[must_use]
    pub fn hash_long(&self, piece: &[u8]) -> u64 {
        self.hasher.hash_one(piece)
    }

    /// The ids of a long piece.
    #[must_use]
    pub fn find_long(&self, hash: u64, piece: &[u8]) -> Option<&[u32]> {
        let same =
            |long: &LongPiece| long.hash == hash && self.bytes[long.bytes.0 as usize..long.bytes.1 as usize] == *piece;
        let found = self.long.find(hash, same)?;
        Some(&self.ids[found.ids.0 as usize..found.ids.1 as usize])
    }

    /// Remembers a long piece when it comes for the second time: most never do.
    pub fn learn_long(&mut self, hash: u64, piece: &[u8], ids: &[u32]) {
        let seen = &mut self.seen[hash as usize % SEEN];
        if std::mem::replace(seen, hash) == hash && piece.len() <= LONGEST_REMEMBERED {
            let ids = self.keep_ids(ids);
            let start = self.bytes.len() as u32;
            self.bytes.extend_from_slice(piece);
            let bytes = (start, self.bytes.len() as u32);
            self.long.insert_unique(hash, LongPiece { hash, bytes, ids }, |long| long.hash);
        }
    }
}
