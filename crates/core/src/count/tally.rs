//! Hash tables of pieces with their tallies, with one lookup for each piece of a corpus.
//!
//! As in [`crate::fast::memory`], a piece of up to [`LONGEST`] bytes is its own key in a slot with its tally; longer
//! pieces, which are few, are in one arena. The first position of a piece is its first addition to the table, so pieces
//! must be added in the order of the corpus.

use bytemuck::Zeroable;

use crate::error::{Error, Result};
use crate::slots::key::{Key, LONGEST, LONGEST_OF_TWO, Seeds, Window};
use crate::slots::keyed::{Keyed, KeyedSlot, KeyedView, Stretches};
use crate::slots::{HUGE, Slot};

/// The number of occurrences of a piece and the position of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Zeroable)]
pub struct Tally {
    /// Occurrences.
    pub count: u64,
    /// Document and byte of the first one.
    pub first: (u64, u64),
}

impl Tally {
    /// Adds both counts and keeps the earlier position.
    ///
    /// # Errors
    /// [`Error::Option`] for a sum of 2^64 or more.
    pub fn checked_add(self, other: Self) -> Result<Self> {
        let count = self.count.checked_add(other.count).ok_or_else(|| overflow_error(self.count, other.count))?;
        Ok(Self { count, first: self.first.min(other.first) })
    }
}

/// The error of a sum that exceeds 64 bits.
#[must_use]
pub fn overflow_error(left: u64, right: u64) -> Error {
    let allowed = "counts whose sum is below 2^64; count less of the corpus, or fewer shards, together".to_owned();
    Error::Option { argument: "counts", value: format!("{left} + {right}"), allowed }
}

const FEWEST_SLOTS: usize = 1 << 10;
/// A table of this many bytes grows to a huge page in one step: the steps between cost more than unused room.
const SMALL: usize = 256 << 10;
/// The slots prefetched ahead while a table is absorbed.
const AHEAD: usize = 32;

/// The pieces with keys of `K` words. The first value word is the count, the second the packed first position; the
/// others are unused.
#[derive(Debug)]
pub struct Tallies<const K: usize>(Keyed<K>);

impl<const K: usize> Tallies<K> {
    fn new(seeds: Seeds) -> Self {
        Self(Keyed::new(FEWEST_SLOTS, seeds))
    }

    /// A view of the current table.
    #[inline(always)]
    #[must_use]
    pub fn view(&self) -> KeyedView<'_, K> {
        self.0.view()
    }

    /// The slots, free ones included.
    #[inline(always)]
    pub fn slots(&mut self) -> &mut [KeyedSlot<K>] {
        &mut self.0.slots
    }

    fn is_full(&self) -> bool {
        self.0.slots.used_count() * 8 >= self.0.slots.len() * 5
    }

    fn growth(&self) -> usize {
        if self.0.slots.bytes() == SMALL { HUGE / SMALL } else { 2 }
    }

    /// The additional memory in bytes while a piece is added.
    fn memory_with(&self) -> usize {
        usize::from(self.is_full()) * self.growth() * self.0.slots.bytes()
    }

    fn add(&mut self, key: &Key<K>, tally: Tally, far: &mut FarPositions) -> Result<()> {
        if self.is_full() {
            self.0.grow(self.growth());
        }
        Self::add_to(self.0.entry(key), tally, far)
    }

    /// Adds a tally to the stored tally of a piece.
    fn add_to((words, known): (&mut [u64; K], bool), tally: Tally, far: &mut FarPositions) -> Result<()> {
        let first = far.unpack(words[1]);
        let total = if known { tally.checked_add(Tally { count: words[0], first })? } else { tally };
        if !known || first != total.first {
            words[1] = far.pack(total.first);
        }
        words[0] = total.count;
        Ok(())
    }

    /// Adds all tallies of another table.
    fn absorb(&mut self, other: &Self, far: &mut FarPositions, other_far: &FarPositions) -> Result<()> {
        let mut entries = other.0.slots.used_slots();
        loop {
            let mut waiting = [(0, [[0; K]; 2]); AHEAD];
            let mut count = 0;
            while (self.0.slots.used_count() + AHEAD) * 4 > self.0.slots.len() * 3 {
                self.0.grow(self.growth());
            }
            for (room, (_, slot)) in waiting.iter_mut().zip(&mut entries) {
                *room = (self.0.view().prefetch_slot(&slot[0]), *slot);
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            for (expected, [key, words]) in &waiting[..count] {
                let tally = Tally { count: words[0], first: other_far.unpack(words[1]) };
                Self::add_to(self.0.entry_at(*expected, key), tally, far)?;
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.slots.len()
    }

    pub(super) fn slot(&self, at: usize) -> &KeyedSlot<K> {
        &self.0.slots[at]
    }

    /// Every `step`-th slot that holds a piece: its place, the piece's length in bytes, and the tally.
    pub(super) fn used_slots(&self, step: usize, far: &FarPositions) -> impl Iterator<Item = (usize, u8, Tally)> {
        self.0.slots.iter().enumerate().step_by(step).filter(|(_, slot)| !slot.is_free()).map(|(at, [key, words])| {
            let tally = Tally { count: words[0], first: far.unpack(words[1]) };
            (at, len_of(key), tally)
        })
    }

    fn for_each(&self, far: &FarPositions, each: &mut impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        self.0.slots.used_slots().try_for_each(|(at, _)| self.with_piece(at, far, each))
    }

    #[inline]
    pub(super) fn with_piece<T>(&self, at: usize, far: &FarPositions, each: &mut impl FnMut(&[u8], Tally) -> T) -> T {
        let [key, words] = &self.0.slots[at];
        let mut bytes = [[0; 8]; K];
        for (bytes, word) in bytes.iter_mut().zip(key) {
            *bytes = word.to_le_bytes();
        }
        let bytes = bytes.as_flattened();
        each(&bytes[..usize::from(len_of(key))], Tally { count: words[0], first: far.unpack(words[1]) })
    }
}

/// The length in bytes of the piece with a key.
fn len_of<const K: usize>(key: &Key<K>) -> u8 {
    (key[K - 1] >> 56) as u8
}

const BYTE_BITS: u32 = 27;
pub(super) const FAR: u64 = 1 << 63;

/// A position packed into one word below 2^63, in the order of positions; None if it does not fit.
#[inline]
pub(super) fn pack_position((document, byte): (u64, u64)) -> Option<u64> {
    (document < FAR >> BYTE_BITS && byte < 1 << BYTE_BITS).then_some(document << BYTE_BITS | byte)
}

/// First positions packed into one word: a position that does not fit is stored here, and the word holds its index.
#[derive(Debug, Default)]
pub(super) struct FarPositions(Vec<(u64, u64)>);

impl FarPositions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn pack(&mut self, position: (u64, u64)) -> u64 {
        pack_position(position).unwrap_or_else(|| {
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

/// The table of one thread.
#[derive(Debug)]
pub struct TallyTable {
    /// Pieces of up to 15 bytes.
    pub short: Tallies<2>,
    /// Pieces of 16 to 31 bytes.
    pub wide: Tallies<4>,
    pub(super) long: Stretches<Tally>,
    pub(super) far: FarPositions,
}

impl TallyTable {
    /// An empty table. All tables of a counter have the same seeds.
    #[must_use]
    pub fn new(seeds: Seeds) -> Self {
        let (short, wide) = (Tallies::new(seeds), Tallies::new(seeds));
        Self { short, wide, long: Stretches::default(), far: FarPositions::default() }
    }

    /// Distinct pieces.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.short.0.slots.used_count() + self.wide.0.slots.used_count() + self.long.len()
    }

    /// The memory of the table in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let slots = self.short.0.slots.bytes() + self.wide.0.slots.bytes();
        slots + self.long.memory() + self.far.0.capacity() * size_of::<(u64, u64)>()
    }

    /// The peak memory in bytes while a piece of `len` bytes is added.
    #[must_use]
    pub fn memory_with(&self, len: usize) -> usize {
        self.memory()
            + match len {
                0..=LONGEST_OF_TWO => self.short.memory_with(),
                _ if len <= LONGEST => self.wide.memory_with(),
                _ => self.long.memory_with(len) - self.long.memory(),
            }
    }

    /// Adds a tally of the piece of `len` bytes that starts at `start`.
    ///
    /// # Errors
    /// [`Error::Option`] for a count of 2^64 or more.
    pub fn add(&mut self, window: &Window<'_>, start: usize, len: usize, tally: Tally) -> Result<()> {
        match len {
            0..=LONGEST_OF_TWO => self.short.add(&window.key(start, len), tally, &mut self.far),
            _ if len <= LONGEST => self.wide.add(&window.key(start, len), tally, &mut self.far),
            _ => self.add_long(&window.text[start..start + len], tally),
        }
    }

    fn add_long(&mut self, piece: &[u8], tally: Tally) -> Result<()> {
        match self.long.get_mut(piece) {
            Some(known) => *known = known.checked_add(tally)?,
            None => self.long.add(piece, tally),
        }
        Ok(())
    }

    /// Adds all tallies of another table.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn absorb(&mut self, other: &Self) -> Result<()> {
        self.short.absorb(&other.short, &mut self.far, &other.far)?;
        self.wide.absorb(&other.wide, &mut self.far, &other.far)?;
        other.long.entries().try_for_each(|(piece, tally)| self.add_long(piece, *tally))
    }

    /// Calls `each` with every piece, in no order.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each(&self, mut each: impl FnMut(&[u8], Tally) -> Result<()>) -> Result<()> {
        self.short.for_each(&self.far, &mut each)?;
        self.wide.for_each(&self.far, &mut each)?;
        self.long.entries().try_for_each(|(piece, tally)| each(piece, *tally))
    }

    /// Removes all pieces and keeps the memory of the slots.
    pub fn clear(&mut self) {
        self.short.0.slots.clear();
        self.wide.0.slots.clear();
        self.long = Stretches::default();
        self.far = FarPositions::default();
    }
}
