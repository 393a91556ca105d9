//! Distinct pieces one after another: bytes once, counts, and first positions where they are known.

use bytemuck::zeroed_vec;

use crate::count::tally::{Tally, TallyTable};

/// Pieces and their tallies.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Arena {
    /// The bytes of all pieces.
    pub bytes: Vec<u8>,
    /// Where each piece ends.
    pub ends: Vec<u64>,
    /// Its tally.
    pub tallies: Vec<Tally>,
}

impl Arena {
    /// The pieces of a table, in no order.
    #[must_use]
    pub fn of(table: &TallyTable) -> Self {
        let mut arena = Self::default();
        arena.reserve(table.unique(), 0);
        let taken = table.each(|piece, tally| {
            arena.push(piece, tally);
            Ok(())
        });
        debug_assert!(taken.is_ok());
        arena
    }

    /// An arena with room for parts of so many pieces and bytes each. Nobody has touched its memory.
    #[must_use]
    pub fn zeros(parts: &[(usize, usize)]) -> Self {
        let pieces = parts.iter().map(|part| part.0).sum();
        let bytes = parts.iter().map(|part| part.1).sum();
        Self { bytes: zeroed_vec(bytes), ends: zeroed_vec(pieces), tallies: zeroed_vec(pieces) }
    }

    /// The room of each part.
    #[must_use]
    pub fn rooms(&mut self, parts: &[(usize, usize)]) -> Vec<ArenaRoom<'_>> {
        let (mut bytes, mut ends, mut tallies) = (&mut *self.bytes, &mut *self.ends, &mut *self.tallies);
        let mut rooms = Vec::with_capacity(parts.len());
        let mut start = 0;
        for &(pieces, size) in parts {
            let (own, rest) = std::mem::take(&mut bytes).split_at_mut(size);
            let (own_ends, rest_ends) = std::mem::take(&mut ends).split_at_mut(pieces);
            let (own_tallies, rest_tallies) = std::mem::take(&mut tallies).split_at_mut(pieces);
            rooms.push(ArenaRoom { bytes: own, ends: own_ends, tallies: own_tallies, start, filled: (0, 0) });
            (bytes, ends, tallies) = (rest, rest_ends, rest_tallies);
            start += size as u64;
        }
        rooms
    }

    /// Makes room for this many more pieces and bytes.
    pub fn reserve(&mut self, pieces: usize, bytes: usize) {
        self.bytes.reserve_exact(bytes);
        self.ends.reserve_exact(pieces);
        self.tallies.reserve_exact(pieces);
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: &[u8], tally: Tally) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len() as u64);
        self.tallies.push(tally);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of a piece.
    #[must_use]
    pub fn piece(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Tally)> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let pieces = starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start as usize..end as usize]);
        pieces.zip(self.tallies.iter().copied())
    }

    /// Their numbers in the order of their bytes.
    #[must_use]
    pub fn by_bytes(&self) -> Vec<u32> {
        let prefix = |piece: &[u8]| {
            let mut bytes = [0; 8];
            let len = piece.len().min(8);
            bytes[..len].copy_from_slice(&piece[..len]);
            u64::from_be_bytes(bytes)
        };
        let mut keys: Vec<_> = self.iter().zip(0u32..).map(|((piece, _), number)| (prefix(piece), number)).collect();
        keys.sort_unstable_by(|left, right| {
            let bytes = || self.piece(left.1 as usize).cmp(self.piece(right.1 as usize));
            left.0.cmp(&right.0).then_with(bytes)
        });
        keys.into_iter().map(|(_, number)| number).collect()
    }

    /// The same pieces in the order of their first positions.
    #[must_use]
    pub fn by_position(self) -> Self {
        if self.tallies.is_sorted_by_key(|tally| tally.first) {
            return self;
        }
        let mut order: Vec<_> = self.tallies.iter().map(|tally| tally.first).zip(0u32..).collect();
        order.sort_unstable();
        let mut sorted = Self::default();
        sorted.reserve(self.len(), self.bytes.len());
        for (_, number) in order {
            sorted.push(self.piece(number as usize), self.tallies[number as usize]);
        }
        sorted
    }
}

/// Room for some pieces of an arena.
#[derive(Debug)]
pub struct ArenaRoom<'a> {
    bytes: &'a mut [u8],
    ends: &'a mut [u64],
    tallies: &'a mut [Tally],
    /// Where the room begins in the arena.
    start: u64,
    /// How many pieces and bytes are in it.
    filled: (usize, usize),
}

impl ArenaRoom<'_> {
    /// Puts the next piece in.
    #[inline]
    pub fn push(&mut self, piece: &[u8], tally: Tally) {
        let (number, start) = self.filled;
        let end = start + piece.len();
        self.bytes[start..end].copy_from_slice(piece);
        self.ends[number] = self.start + end as u64;
        self.tallies[number] = tally;
        self.filled = (number + 1, end);
    }
}
