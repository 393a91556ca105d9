//! Remembers pieces and their ids.
//!
//! A piece of up to [`crate::slots::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and its
//! ids are next to the key. One table has keys of 16 bytes, which most pieces fit, the other keys of 32. A full table
//! of the largest size is emptied. Nothing here decides an id: without the tables every piece would be merged, with
//! equal results.

use crate::slots::key::{Key, LONGEST, LONGEST_OF_TWO, Seeds, Window};
use crate::slots::keyed::{Keyed, KeyedView, SlotTables, Stretches, find_near};
use crate::slots::piece_walk::{PiecePart, WAITING, WaitingParts};

/// The longest piece, in bytes, that is remembered.
const LONGEST_REMEMBERED: usize = 1 << 10;
/// The most bytes of ids in the overflow, and of long stretches; beyond it, they are dropped.
const MAX_OVERFLOW: usize = 16 << 20;
/// The number of hashes of pieces that occurred once.
const SEEN_HASHES: usize = 1 << 15;

/// The shift of the number of ids in a slot's first word of ids, above the first id.
const COUNT_SHIFT: u32 = 24;
const COUNT: u64 = 0xFF;
const FIRST: u64 = (1 << COUNT_SHIFT) - 1;
/// In place of the number of ids: the words hold an overflow address.
const OVERFLOW: u64 = 0xFF;

/// The key of a piece.
#[derive(Debug, Clone, Copy)]
pub enum PieceKey<'t> {
    /// Up to 15 bytes.
    Short(Key<2>),
    /// Up to 31 bytes.
    Wide(Key<4>),
    /// A longer stretch between two cuts.
    Long(&'t [u8]),
}

impl<'t> PieceKey<'t> {
    /// The key of a part of a text.
    #[must_use]
    pub fn new(window: &Window<'t>, part: &PiecePart) -> Self {
        let len = part.len as usize;
        if len <= LONGEST_OF_TWO {
            Self::Short(part.key)
        } else if len <= LONGEST {
            Self::Wide(window.wide_key(part))
        } else {
            Self::Long(&window.text[part.start..][..len])
        }
    }
}

/// Copies the slot's ids to `room` from `place` on, possibly writing past them. Returns their number, or `OVERFLOW` if
/// the slot holds an overflow address.
#[inline(always)]
fn copy_ids<const K: usize>(words: &[u64; K], room: &mut [u32], place: usize) -> usize {
    for (pair, word) in room[place..][..2 * K].chunks_exact_mut(2).zip(words) {
        (pair[0], pair[1]) = (*word as u32, (*word >> 32) as u32);
    }
    room[place] &= FIRST as u32;
    (words[0] >> COUNT_SHIFT & COUNT) as usize
}

/// Pieces with keys of `K` words.
#[derive(Debug)]
pub struct MemoryTable<const K: usize>(Keyed<K>);

impl<const K: usize> Default for MemoryTable<K> {
    fn default() -> Self {
        Self(Keyed::new(2, Seeds::default()))
    }
}

impl<const K: usize> MemoryTable<K> {
    /// The sizes of the growing table in bytes: a small one for few pieces, then sizes of huge pages. Fewer pieces have
    /// wide keys, and some texts have none.
    const SIZES: [usize; 5] = [64 << 10, 2 << 20, if K == 2 { 8 << 20 } else { 4 << 20 }, 16 << 20, 32 << 20];

    /// A view of the current table. Each value word holds two ids.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> KeyedView<'_, K> {
        self.0.view()
    }

    /// Appends the ids of the key; false if it is unknown.
    fn recall(&self, key: &Key<K>, overflow: &Overflow, out: &mut Vec<u32>) -> bool {
        let Some(words) = self.0.get(key) else { return false };
        let count = words[0] >> COUNT_SHIFT & COUNT;
        if count == OVERFLOW {
            return overflow.recall([words[0] as u32 & FIRST as u32, (words[0] >> 32) as u32, words[1] as u32], out);
        }
        let ids = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        out.extend(ids.map(|id| id & FIRST as u32).take(count as usize));
        true
    }

    fn learn(&mut self, key: &Key<K>, ids: &[u32], overflow: &mut Overflow) {
        if self.is_full() {
            self.make_room();
        }
        let (count, address);
        let ids = if ids.len() <= 2 * K {
            count = ids.len() as u64;
            ids
        } else {
            count = OVERFLOW;
            address = overflow.learn(ids);
            &address
        };
        let mut words = [0; K];
        for (at, &id) in ids.iter().enumerate() {
            words[at / 2] |= u64::from(id) << (at % 2 * 32);
        }
        words[0] |= count << COUNT_SHIFT;
        *self.0.entry(key).0 = words;
    }

    /// Whether the table must grow before the next piece. With few pieces, room costs less than pieces that are not in
    /// the first slot of their line.
    fn is_full(&self) -> bool {
        let slots = &self.0.slots;
        let part = if K == 2 && slots.bytes() <= Self::SIZES[1] { 4 } else { 2 };
        slots.used_count() * part >= slots.len()
    }

    /// Grows the table; one of the largest size is emptied instead.
    fn make_room(&mut self) {
        let bytes = self.0.slots.bytes();
        match Self::SIZES.iter().find(|&&size| size > bytes) {
            Some(size) => self.0.grow(size / bytes),
            None => self.0.slots.clear(),
        }
    }
}

/// The overflow: ids that do not fit their slot.
#[derive(Debug, Default)]
struct Overflow {
    ids: Vec<u32>,
    /// The number of times that the overflow was emptied.
    round: u32,
}

impl Overflow {
    /// Stores ids and returns their address: start, end and round.
    fn learn(&mut self, ids: &[u32]) -> [u32; 3] {
        if self.ids.len() * size_of::<u32>() > MAX_OVERFLOW {
            self.ids.clear();
            self.round += 1;
        }
        let start = self.ids.len() as u32;
        self.ids.extend_from_slice(ids);
        [start, self.ids.len() as u32, self.round]
    }

    /// Copies the ids to `room` from `place` on, possibly writing past them, and returns their number; None if they
    /// were dropped.
    #[inline(always)]
    fn copy_ids(&self, [start, end, round]: [u32; 3], room: &mut [u32], place: usize) -> Option<usize> {
        let (start, count) = (start as usize, (end - start) as usize);
        if round != self.round || count > MOST_IDS {
            return None;
        }
        if let Some(ids) = self.ids.get(start..start + MOST_IDS) {
            // The copied size is constant, which needs no call.
            room[place..][..MOST_IDS].copy_from_slice(ids);
        } else {
            room[place..][..count].copy_from_slice(&self.ids[start..][..count]);
        }
        Some(count)
    }

    /// Appends the ids; false if they were dropped.
    fn recall(&self, [start, end, round]: [u32; 3], out: &mut Vec<u32>) -> bool {
        if round == self.round {
            out.extend_from_slice(&self.ids[start as usize..end as usize]);
        }
        round == self.round
    }
}

/// The memory of pieces: its tables.
#[derive(Debug, Default)]
pub struct PieceMemory {
    /// Pieces of up to 15 bytes.
    short: MemoryTable<2>,
    /// Pieces of 16 to 31 bytes.
    wide: MemoryTable<4>,
    overflow: Overflow,
    /// The overflow addresses of longer pieces.
    long: Stretches<[u32; 3]>,
    /// The round of the addresses in `long`.
    long_round: u32,
    /// Hashes of pieces that occurred once; empty until the first long piece.
    seen: Vec<u32>,
}

/// The most ids of a piece that has a slot, plus one.
const MOST_IDS: usize = LONGEST + 1;

/// Room for the ids of all waiting parts.
#[derive(Debug)]
pub struct ReadyIds(Box<[u32; READY]>);

const READY: usize = (WAITING + 1) * MOST_IDS;

impl Default for ReadyIds {
    fn default() -> Self {
        let room: Box<[u32]> = vec![0; READY].into();
        Self(room.try_into().unwrap_or_else(|_| unreachable!("the vector has READY words")))
    }
}

impl ReadyIds {
    /// Appends the ids of parts up to the first that is not in its slot, and returns their number.
    #[inline(always)]
    pub fn take_known(
        &mut self,
        memory: &PieceMemory,
        window: &Window<'_>,
        parts: &[PiecePart],
        out: &mut Vec<u32>,
    ) -> usize {
        let (short, wide, room) = (memory.short.view(), memory.wide.view(), &mut *self.0);
        let (mut ready, mut known) = (0, 0);
        for part in parts {
            let (slot, len) = (part.slot as usize, part.len as usize);
            let ids = if len <= LONGEST_OF_TWO {
                let [key, words] = &short.slots[find_near(short.slots, slot, &part.key)];
                (*key == part.key).then(|| copy_ids(words, room, ready))
            } else if len <= LONGEST {
                let [key, words] = &wide.slots[slot];
                (*key == window.wide_key(part)).then(|| copy_ids(words, room, ready))
            } else {
                None
            };
            let Some(mut ids) = ids else { break };
            if ids == OVERFLOW as usize {
                let place = [0, 1, 2].map(|word| room[ready + word]);
                let Some(count) = memory.overflow.copy_ids(place, room, ready) else { break };
                ids = count;
            }
            ready += ids;
            known += 1;
        }
        out.extend_from_slice(&room[..ready]);
        known
    }
}

impl PieceMemory {
    /// The slot tables.
    #[inline(always)]
    #[must_use]
    pub fn tables(&self) -> SlotTables<'_> {
        (self.short.view(), self.wide.view())
    }

    /// The memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = self.short.0.slots.bytes() + self.wide.0.slots.bytes() + size_of_val(&*self.seen);
        slots + self.overflow.ids.capacity() * size_of::<u32>() + self.long.memory()
    }

    /// Whether the ids of a part are in their expected slot; true for a long part, which has no slot.
    #[inline(always)]
    #[must_use]
    pub fn is_in_slot(&self, window: &Window<'_>, part: &PiecePart) -> bool {
        let (slot, len) = (part.slot as usize, part.len as usize);
        if len <= LONGEST_OF_TWO {
            let [one, other] = &self.short.view().slots.as_chunks::<2>().0[slot >> 1];
            (one[0] == part.key) | (other[0] == part.key)
        } else if len <= LONGEST {
            let view = self.wide.view();
            let key = window.wide_key(part);
            view.slots[find_near(view.slots, slot, &key)][0] == key
        } else {
            true
        }
    }

    /// Whether a piece is known.
    #[must_use]
    pub fn contains(&self, name: &PieceKey<'_>) -> bool {
        match name {
            PieceKey::Short(key) => self.short.0.get(key).is_some(),
            PieceKey::Wide(key) => self.wide.0.get(key).is_some(),
            PieceKey::Long(stretch) => self.long.get(stretch).is_some(),
        }
    }

    /// Appends the ids of a piece; false if it is unknown.
    pub fn recall(&self, name: &PieceKey<'_>, out: &mut Vec<u32>) -> bool {
        match name {
            PieceKey::Short(key) => self.short.recall(key, &self.overflow, out),
            PieceKey::Wide(key) => self.wide.recall(key, &self.overflow, out),
            PieceKey::Long(stretch) => self.long.get(stretch).is_some_and(|ids| self.overflow.recall(*ids, out)),
        }
    }

    /// Remembers the ids of a piece. A long one is remembered at its second occurrence: most have none.
    pub fn learn(&mut self, name: &PieceKey<'_>, ids: &[u32]) {
        match name {
            PieceKey::Short(key) => self.short.learn(key, ids, &mut self.overflow),
            PieceKey::Wide(key) => self.wide.learn(key, ids, &mut self.overflow),
            PieceKey::Long(stretch) => {
                if self.mark_seen(self.long.hash(stretch)) {
                    self.learn_long(stretch, ids);
                }
            }
        }
    }

    /// Records the hash and returns whether it was recorded recently.
    pub fn mark_seen(&mut self, hash: u64) -> bool {
        self.seen.resize(SEEN_HASHES, 0);
        let slot = &mut self.seen[hash as usize % SEEN_HASHES];
        let mark = (hash >> 32) as u32 | 1;
        std::mem::replace(slot, mark) == mark
    }

    /// Remembers the ids of a long piece immediately.
    pub fn learn_long(&mut self, stretch: &[u8], ids: &[u32]) {
        if stretch.len() > LONGEST_REMEMBERED {
            return;
        }
        let ids = self.overflow.learn(ids);
        if self.long.byte_count() + stretch.len() > MAX_OVERFLOW || self.long_round != self.overflow.round {
            self.long.clear();
            self.long_round = self.overflow.round;
        }
        self.long.add(stretch, ids);
    }
}

/// The remembered pieces, and the buffers of a walk that looks them up.
#[derive(Debug, Default)]
pub struct PieceLookup {
    /// The pieces.
    pub memory: PieceMemory,
    /// The parts that wait for their slots.
    pub waiting: WaitingParts,
    /// Room for their ids.
    pub ready: ReadyIds,
}

impl PieceLookup {
    /// The memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.memory.bytes() + size_of_val(&*self.ready.0)
    }
}
