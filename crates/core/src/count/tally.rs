//! Pieces with their tallies, in tables that are looked into once for each piece of a corpus.
//!
//! As in [`crate::merge::memory`], a piece of up to [`LONGEST`] bytes is its own key and lies in a slot with its tally. Longer
//! ones, which are few, lie in one arena. The first position of a piece is that of its first time in the table: who
//! adds pieces adds them in the order of the corpus.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::error::{Error, Result};
use crate::simd::prefetch;
use crate::vocab::key::{Key, LONGEST, LONGEST_OF_TWO, Seeds, Window};
use crate::vocab::slots::Slots;

/// How often a piece occurs and where it occurs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// Occurrences.
    pub count: u64,
    /// Document and byte of the first one.
    pub first: (u64, u64),
}

impl Tally {
    /// Both together.
    ///
    /// # Errors
    /// [`Error::Option`] for a sum of 2^64 or more.
    pub fn plus(self, other: Self) -> Result<Self> {
        let count = self.count.checked_add(other.count).ok_or_else(|| too_many(self.count, other.count))?;
        Ok(Self { count, first: self.first.min(other.first) })
    }
}

/// The error of a sum that 64 bits do not hold.
#[must_use]
pub fn too_many(left: u64, right: u64) -> Error {
    let allowed = "counts whose sum is below 2^64; count less of the corpus, or fewer shards, together".to_owned();
    Error::Option { argument: "counts", value: format!("{left} + {right}"), allowed }
}

const FEWEST_SLOTS: usize = 1 << 10;
/// How many slots are on their way from memory at a time while a table is taken over.
const AHEAD: usize = 32;

/// A key of `K` words, then the count, the packed first position, and nothing.
pub type TallySlot<const K: usize> = [[u64; K]; 2];

/// The pieces with keys of `K` words.
#[derive(Debug)]
pub struct Keyed<const K: usize> {
    /// The slots, some of them free.
    pub slots: Slots<TallySlot<K>>,
    used: usize,
}

impl<const K: usize> Default for Keyed<K> {
    fn default() -> Self {
        Self { slots: Slots::new(FEWEST_SLOTS), used: 0 }
    }
}

impl<const K: usize> Keyed<K> {
    const SLOT_BYTES: usize = size_of::<TallySlot<K>>();

    /// Asks for the slot of a key, which will be looked at soon, and says where it should be.
    #[inline(always)]
    #[must_use]
    pub fn expect(&self, seeds: &Seeds, key: &Key<K>) -> usize {
        let at = seeds.hash(key) as usize & (self.slots.len() - 1);
        prefetch(&self.slots[at]);
        at
    }

    /// The slot that has the key, or the free one where it belongs; the search begins where it is expected.
    #[inline]
    fn place(&self, expected: usize, key: &Key<K>) -> usize {
        let mask = self.slots.len() - 1;
        let mut home = expected & mask;
        loop {
            for at in [home, home ^ 1] {
                if self.slots[at][0] == *key || self.slots[at][0][K - 1] == 0 {
                    return at;
                }
            }
            home = (home + 2) & mask;
        }
    }

    fn is_full(&self) -> bool {
        self.used * 8 >= self.slots.len() * 5
    }

    fn grow(&mut self, seeds: &Seeds) {
        let larger = Slots::new(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in old.iter().filter(|slot| slot[0][K - 1] != 0) {
            let at = self.place(seeds.hash(&slot[0]) as usize, &slot[0]);
            self.slots[at] = *slot;
        }
    }

    fn clear(&mut self) {
        self.slots.fill([[0; K]; 2]);
        self.used = 0;
    }

    /// Adds a tally. There must be a free slot.
    fn add(&mut self, expected: usize, key: &Key<K>, tally: Tally, far: &mut Far) -> Result<()> {
        let at = self.place(expected, key);
        let [found, words] = &mut self.slots[at];
        let known = found[K - 1] != 0;
        let total = if known { tally.plus(Tally { count: words[0], first: far.unpack(words[1]) })? } else { tally };
        if !known || far.unpack(words[1]) != total.first {
            words[1] = far.pack(total.first);
        }
        (*found, words[0]) = (*key, total.count);
        self.used += usize::from(!known);
        Ok(())
    }

    /// Takes over the tallies of another.
    fn absorb(&mut self, other: &Self, seeds: &Seeds, far: &mut Far, other_far: &Far) -> Result<()> {
        let mut entries = other.slots.iter().filter(|slot| slot[0][K - 1] != 0);
        loop {
            let mut waiting = [(0, [[0; K]; 2]); AHEAD];
            let mut count = 0;
            while (self.used + AHEAD) * 4 > self.slots.len() * 3 {
                self.grow(seeds);
            }
            for (room, slot) in waiting.iter_mut().zip(&mut entries) {
                *room = (self.expect(seeds, &slot[0]), *slot);
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            for (expected, [key, words]) in &waiting[..count] {
                let tally = Tally { count: words[0], first: other_far.unpack(words[1]) };
                self.add(*expected, key, tally, far)?;
            }
        }
    }

    /// The slots that hold a piece, and where each piece stands first.
    fn firsts<'k>(&'k self, far: &'k Far) -> impl Iterator<Item = (usize, (u64, u64))> + 'k {
        let used = self.slots.iter().enumerate().filter(|(_, slot)| slot[0][K - 1] != 0);
        used.map(|(at, slot)| (at, far.unpack(slot[1][1])))
    }

    fn each(&self, far: &Far, each: &mut impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        let mut used = (0..self.slots.len()).filter(|&at| self.slots[at][0][K - 1] != 0);
        used.try_for_each(|at| self.at(at, far, each))
    }

    /// Calls `each` with the piece in a slot.
    #[inline]
    fn at(&self, at: usize, far: &Far, each: &mut impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        let [key, words] = &self.slots[at];
        let mut bytes = [[0; 8]; K];
        for (bytes, word) in bytes.iter_mut().zip(key) {
            *bytes = word.to_le_bytes();
        }
        let bytes = bytes.as_flattened();
        each(&bytes[..usize::from(bytes[8 * K - 1])], Tally { count: words[0], first: far.unpack(words[1]) })
    }
}

const BYTE_BITS: u32 = 27;
const FAR: u64 = 1 << 63;

/// A position in one word, in the order of positions and below 2^63; None if it does not fit.
#[inline]
fn in_one_word((document, byte): (u64, u64)) -> Option<u64> {
    (document < FAR >> BYTE_BITS && byte < 1 << BYTE_BITS).then_some(document << BYTE_BITS | byte)
}

/// First positions in one word: most fit, the others are kept here and the word names them.
#[derive(Debug, Default)]
struct Far(Vec<(u64, u64)>);

impl Far {
    fn pack(&mut self, position: (u64, u64)) -> u64 {
        in_one_word(position).unwrap_or_else(|| {
            self.0.push(position);
            FAR | (self.0.len() as u64 - 1)
        })
    }

    #[inline]
    fn unpack(&self, word: u64) -> (u64, u64) {
        if word & FAR == 0 {
            return (word >> BYTE_BITS, word & ((1 << BYTE_BITS) - 1));
        }
        self.0[(word & !FAR) as usize]
    }
}

/// A piece without a key: where its bytes lie.
#[derive(Debug, Clone, Copy)]
struct Long {
    hash: u64,
    start: usize,
    len: usize,
    tally: Tally,
}

/// The table of one thread.
#[derive(Debug)]
pub struct TallyTable {
    /// Shared by all tables of a counter.
    pub seeds: Seeds,
    /// Pieces of up to 15 bytes.
    pub short: Keyed<2>,
    /// Pieces of up to 31.
    pub wide: Keyed<4>,
    long: HashTable<Long>,
    hasher: DefaultHashBuilder,
    bytes: Vec<u8>,
    far: Far,
}

impl TallyTable {
    /// No pieces.
    #[must_use]
    pub fn new(seeds: Seeds) -> Self {
        Self {
            seeds,
            short: Keyed::default(),
            wide: Keyed::default(),
            long: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            bytes: Vec::new(),
            far: Far::default(),
        }
    }

    /// Distinct pieces.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.short.used + self.wide.used + self.long.len()
    }

    /// The bytes of memory that it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.short.slots.len() * Keyed::<2>::SLOT_BYTES
            + self.wide.slots.len() * Keyed::<4>::SLOT_BYTES
            + self.long.capacity() * (size_of::<Long>() + 2)
            + self.bytes.capacity()
            + self.far.0.capacity() * size_of::<(u64, u64)>()
    }

    /// The bytes of memory that it would take, for a moment, to add a piece of `len` bytes.
    #[must_use]
    pub fn memory_with(&self, len: usize) -> usize {
        let grown = if len <= LONGEST_OF_TWO {
            usize::from(self.short.is_full()) * 2 * self.short.slots.len() * Keyed::<2>::SLOT_BYTES
        } else if len <= LONGEST {
            usize::from(self.wide.is_full()) * 2 * self.wide.slots.len() * Keyed::<4>::SLOT_BYTES
        } else {
            let full = self.bytes.len() + len > self.bytes.capacity() || self.long.len() == self.long.capacity();
            usize::from(full) * (len + self.bytes.capacity() * 2 + self.long.capacity() * 2 * size_of::<Long>())
        };
        self.memory() + grown
    }

    /// Adds a tally of the piece of `len` bytes that starts at `start`.
    ///
    /// # Errors
    /// [`Error::Option`] for a count of 2^64 or more.
    pub fn add(&mut self, window: &Window<'_>, start: usize, len: usize, tally: Tally) -> Result<()> {
        if len <= LONGEST_OF_TWO {
            if self.short.is_full() {
                self.short.grow(&self.seeds);
            }
            let key = window.key(start, len);
            self.short.add(self.seeds.hash(&key) as usize, &key, tally, &mut self.far)
        } else if len <= LONGEST {
            if self.wide.is_full() {
                self.wide.grow(&self.seeds);
            }
            let key = window.key(start, len);
            self.wide.add(self.seeds.hash(&key) as usize, &key, tally, &mut self.far)
        } else {
            self.add_long(&window.text[start..start + len], tally)
        }
    }

    fn add_long(&mut self, piece: &[u8], tally: Tally) -> Result<()> {
        let hash = self.hasher.hash_one(piece);
        let same = |known: &Long| self.bytes[known.start..known.start + known.len] == *piece;
        if let Some(known) = self.long.find_mut(hash, same) {
            known.tally = known.tally.plus(tally)?;
            return Ok(());
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(piece);
        self.long.insert_unique(hash, Long { hash, start, len: piece.len(), tally }, |known| known.hash);
        Ok(())
    }

    /// Takes over what another table has.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn absorb(&mut self, other: &Self) -> Result<()> {
        self.short.absorb(&other.short, &self.seeds, &mut self.far, &other.far)?;
        self.wide.absorb(&other.wide, &self.seeds, &mut self.far, &other.far)?;
        other.long.iter().try_for_each(|long| self.add_long(&other.bytes[long.start..][..long.len], long.tally))
    }

    /// Calls `each` with every piece, in no order.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn each(&self, mut each: impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        self.short.each(&self.far, &mut each)?;
        self.wide.each(&self.far, &mut each)?;
        self.long.iter().try_for_each(|long| each(&self.bytes[long.start..][..long.len], long.tally))
    }

    /// The same in the order of first positions.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn each_by_position(&self, each: impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        let fits = |long: &Long| in_one_word(long.tally.first).is_some();
        // One word is sorted faster than two.
        if self.far.0.is_empty() && self.long.iter().all(fits) {
            self.sorted(|first| in_one_word(first).unwrap_or(FAR), each)
        } else {
            self.sorted(|first| first, each)
        }
    }

    fn sorted<K: Ord>(
        &self,
        key: impl Fn((u64, u64)) -> K,
        mut each: impl FnMut(&[u8], Tally) -> Result<()>,
    ) -> Result<()> {
        let longs: Vec<_> = self.long.iter().collect();
        let (short, wide) = (self.short.slots.len(), self.wide.slots.len());
        let firsts = (self.short.firsts(&self.far))
            .chain(self.wide.firsts(&self.far).map(|(at, first)| (short + at, first)))
            .chain(longs.iter().zip(short + wide..).map(|(long, at)| (at, long.tally.first)));
        let mut places: Vec<(K, u32)> = Vec::with_capacity(self.unique());
        places.extend(firsts.map(|(at, first)| (key(first), at as u32)));
        places.sort_unstable();
        for (_, at) in places {
            let at = at as usize;
            if at < short {
                self.short.at(at, &self.far, &mut each)?;
            } else if at < short + wide {
                self.wide.at(at - short, &self.far, &mut each)?;
            } else {
                let long = longs[at - short - wide];
                each(&self.bytes[long.start..][..long.len], long.tally)?;
            }
        }
        Ok(())
    }

    /// Forgets everything, and keeps the memory of its slots.
    pub fn clear(&mut self) {
        self.short.clear();
        self.wide.clear();
        self.long = HashTable::new();
        self.bytes = Vec::new();
        self.far = Far::default();
    }
}
