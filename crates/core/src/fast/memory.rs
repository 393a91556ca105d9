//! Pieces and their ids, remembered.
//!
//! A piece of up to [`crate::slots::key::LONGEST`] bytes is its own key, so that finding it is one comparison, and its ids lie
//! beside the key. There is a table for keys of 16 bytes, which most pieces fit, and one for keys of 32. A table that has
//! its largest size and is full forgets everything and begins anew. Nothing here decides an id: without the tables every
//! piece would be merged, with equal results.

use crate::slots::key::{Key, LONGEST, LONGEST_OF_TWO, Seeds, Window};
use crate::slots::keyed::{Keyed, KeyedView, SlotTables, Stretches, near};
use crate::slots::piece_walk::{PiecePart, WAITING, WaitingParts};

/// The longest piece, in bytes, that is remembered at all.
const LONGEST_REMEMBERED: usize = 1 << 10;
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

impl<'t> PieceName<'t> {
    /// The name of a part of a text.
    #[must_use]
    pub fn of(window: &Window<'t>, part: &PiecePart) -> Self {
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

/// The slots of a table as they are now. Each has two ids a word.
pub type View<'m, const K: usize> = KeyedView<'m, K>;

/// Copies the ids in the words of a slot to `room` from `place` on, with something after them, and says how many they are;
/// `SPILT` if they say where the ids are.
#[inline(always)]
fn copy<const K: usize>(words: &[u64; K], room: &mut [u32], place: usize) -> usize {
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
    /// The sizes that the table grows to, in bytes: a small one for few pieces, then those of huge pages. Fewer pieces have
    /// wide keys, and some texts have none.
    const SIZES: [usize; 5] = [64 << 10, 2 << 20, if K == 2 { 8 << 20 } else { 4 << 20 }, 16 << 20, 32 << 20];

    /// The table as it is now.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> View<'_, K> {
        self.0.view()
    }

    /// Appends the ids of the key; false if it is not known.
    fn recall(&self, key: &Key<K>, spilt: &Spilt, out: &mut Vec<u32>) -> bool {
        let Some(words) = self.0.get(key) else { return false };
        let count = words[0] >> COUNT_SHIFT & COUNT;
        if count == SPILT {
            return spilt.recall([words[0] as u32 & FIRST as u32, (words[0] >> 32) as u32, words[1] as u32], out);
        }
        let ids = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
        out.extend(ids.map(|id| id & FIRST as u32).take(count as usize));
        true
    }

    fn learn(&mut self, key: &Key<K>, ids: &[u32], spilt: &mut Spilt) {
        if self.is_full() {
            self.make_room();
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
        *self.0.entry(key).0 = words;
    }

    /// Whether the table has to grow before it takes one more. With few pieces, room costs less than pieces that are not in
    /// the first place of their line.
    fn is_full(&self) -> bool {
        let slots = &self.0.slots;
        let part = if K == 2 && slots.bytes() <= Self::SIZES[1] { 4 } else { 2 };
        slots.used() * part >= slots.len()
    }

    /// Makes the table larger; one that has its largest size forgets everything and begins anew.
    fn make_room(&mut self) {
        let bytes = self.0.slots.bytes();
        match Self::SIZES.iter().find(|&&size| size > bytes) {
            Some(size) => self.0.grow(size / bytes),
            None => self.0.slots.clear(),
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

    /// Copies the ids to `room` from `place` on, with something after them, and says how many they are. None if they were
    /// forgotten.
    #[inline(always)]
    fn copy(&self, [start, end, round]: [u32; 3], room: &mut [u32], place: usize) -> Option<usize> {
        let (start, count) = (start as usize, (end - start) as usize);
        if round != self.round || count > MOST_IDS {
            return None;
        }
        if let Some(some) = self.ids.get(start..start + MOST_IDS) {
            // As many are copied every time, which takes no call.
            room[place..][..MOST_IDS].copy_from_slice(some);
        } else {
            room[place..][..count].copy_from_slice(&self.ids[start..][..count]);
        }
        Some(count)
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
#[derive(Debug, Default)]
pub struct Memory {
    /// Pieces of up to 15 bytes.
    short: MemoryTable<2>,
    /// Pieces of up to 31.
    wide: MemoryTable<4>,
    spilt: Spilt,
    /// Where the ids of longer ones are.
    long: Stretches<[u32; 3]>,
    /// The round of the ids that `long` names.
    long_round: u32,
    /// Hashes of what came once; empty until something long comes.
    seen: Vec<u32>,
}

/// The most ids of a piece that has a slot, or one more.
const MOST_IDS: usize = LONGEST + 1;

/// Room for the ids of all parts that wait.
#[derive(Debug)]
pub struct ReadyIds(Box<[u32; READY]>);

const READY: usize = (WAITING + 1) * MOST_IDS;

impl Default for ReadyIds {
    fn default() -> Self {
        let room: Box<[u32]> = vec![0; READY].into();
        Self(room.try_into().unwrap_or_else(|_| unreachable!("as many words as asked for")))
    }
}

impl ReadyIds {
    /// Appends the ids of parts until one comes that is not in its slot, and says how many.
    #[inline(always)]
    pub fn take_known(
        &mut self,
        memory: &Memory,
        window: &Window<'_>,
        parts: &[PiecePart],
        out: &mut Vec<u32>,
    ) -> usize {
        let (short, wide, room) = (memory.short.view(), memory.wide.view(), &mut *self.0);
        let (mut ready, mut known) = (0, 0);
        for part in parts {
            let (slot, len) = (part.slot as usize, part.len as usize);
            let ids = if len <= LONGEST_OF_TWO {
                let [key, words] = &short.slots[near(short.slots, slot, &part.key)];
                (*key == part.key).then(|| copy(words, room, ready))
            } else if len <= LONGEST {
                let [key, words] = &wide.slots[slot];
                (*key == window.wide_key(part)).then(|| copy(words, room, ready))
            } else {
                None
            };
            let Some(mut ids) = ids else { break };
            if ids == SPILT as usize {
                let place = [0, 1, 2].map(|word| room[ready + word]);
                let Some(spilt) = memory.spilt.copy(place, room, ready) else { break };
                ids = spilt;
            }
            ready += ids;
            known += 1;
        }
        out.extend_from_slice(&room[..ready]);
        known
    }
}

impl Memory {
    /// The tables that hold what is known.
    #[inline(always)]
    #[must_use]
    pub fn tables(&self) -> impl SlotTables {
        (self.short.view(), self.wide.view())
    }

    /// The memory that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let slots = self.short.0.slots.bytes() + self.wide.0.slots.bytes() + size_of_val(&*self.seen);
        slots + self.spilt.ids.capacity() * size_of::<u32>() + self.long.memory()
    }

    /// Whether the ids of a part are where they are expected; true for a long part, which is expected nowhere.
    #[inline(always)]
    #[must_use]
    pub fn has(&self, window: &Window<'_>, part: &PiecePart) -> bool {
        let (slot, len) = (part.slot as usize, part.len as usize);
        if len <= LONGEST_OF_TWO {
            let [one, other] = &self.short.view().slots.as_chunks::<2>().0[slot >> 1];
            (one[0] == part.key) | (other[0] == part.key)
        } else if len <= LONGEST {
            let view = self.wide.view();
            let key = window.wide_key(part);
            view.slots[near(view.slots, slot, &key)][0] == key
        } else {
            true
        }
    }

    /// Whether a piece is known.
    #[must_use]
    pub fn knows(&self, name: &PieceName<'_>) -> bool {
        match name {
            PieceName::Short(key) => self.short.0.get(key).is_some(),
            PieceName::Wide(key) => self.wide.0.get(key).is_some(),
            PieceName::Long(stretch) => self.long.get(stretch).is_some(),
        }
    }

    /// Appends the ids of a piece; false if it is not known.
    pub fn recall(&self, name: &PieceName<'_>, out: &mut Vec<u32>) -> bool {
        match name {
            PieceName::Short(key) => self.short.recall(key, &self.spilt, out),
            PieceName::Wide(key) => self.wide.recall(key, &self.spilt, out),
            PieceName::Long(stretch) => self.long.get(stretch).is_some_and(|ids| self.spilt.recall(*ids, out)),
        }
    }

    /// Remembers the ids of a piece. A long one is remembered when it comes for the second time: most never do.
    pub fn learn(&mut self, name: &PieceName<'_>, ids: &[u32]) {
        match name {
            PieceName::Short(key) => self.short.learn(key, ids, &mut self.spilt),
            PieceName::Wide(key) => self.wide.learn(key, ids, &mut self.spilt),
            PieceName::Long(stretch) => {
                if self.came_before(self.long.hash(stretch)) {
                    self.learn_long(stretch, ids);
                }
            }
        }
    }

    /// Whether something with this hash was asked about before, lately.
    pub fn came_before(&mut self, hash: u64) -> bool {
        self.seen.resize(SEEN, 0);
        let seen = &mut self.seen[hash as usize % SEEN];
        let mark = (hash >> 32) as u32 | 1;
        std::mem::replace(seen, mark) == mark
    }

    /// Remembers the ids of a long piece at once.
    pub fn learn_long(&mut self, stretch: &[u8], ids: &[u32]) {
        if stretch.len() > LONGEST_REMEMBERED {
            return;
        }
        let ids = self.spilt.learn(ids);
        if self.long.length() + stretch.len() > MOST_SPILT || self.long_round != self.spilt.round {
            self.long.clear();
            self.long_round = self.spilt.round;
        }
        self.long.add(stretch, ids);
    }
}

/// The pieces that came so far, and the buffers of a walk that looks them up.
#[derive(Debug, Default)]
pub struct Remembered {
    /// The pieces.
    pub memory: Memory,
    /// Those that wait for their slots.
    pub waiting: WaitingParts,
    /// Room for their ids.
    pub ready: ReadyIds,
}

impl Remembered {
    /// The memory that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.memory.bytes() + size_of_val(&*self.ready.0)
    }
}
