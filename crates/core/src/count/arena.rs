//! Distinct pieces one after another: bytes, tallies, and first positions if known.

use bytemuck::zeroed_vec;

use crate::count::tally::{Tally, TallyTable};

/// Pieces and their tallies.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Arena {
    /// The bytes of all pieces, one after another.
    pub bytes: Vec<u8>,
    /// The end of each piece in `bytes`.
    pub ends: Vec<u64>,
    /// The tally of each piece.
    pub tallies: Vec<Tally>,
}

impl Arena {
    /// The pieces of a table, in no order.
    #[must_use]
    pub fn from_table(table: &TallyTable) -> Self {
        let mut arena = Self::default();
        arena.reserve(table.unique(), 0);
        let outcome = table.for_each(|piece, tally| {
            arena.push(piece, tally);
            Ok(())
        });
        debug_assert!(outcome.is_ok());
        arena
    }

    /// An arena with room for `parts`, given the pieces and bytes of each. The memory is untouched.
    #[must_use]
    pub fn with_room(parts: &[(usize, usize)]) -> Self {
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
            let (part, rest) = std::mem::take(&mut bytes).split_at_mut(size);
            let (own_ends, rest_ends) = std::mem::take(&mut ends).split_at_mut(pieces);
            let (own_tallies, rest_tallies) = std::mem::take(&mut tallies).split_at_mut(pieces);
            rooms.push(ArenaRoom { bytes: part, ends: own_ends, tallies: own_tallies, start, filled: (0, 0) });
            (bytes, ends, tallies) = (rest, rest_ends, rest_tallies);
            start += size as u64;
        }
        rooms
    }

    /// Makes room for `pieces` more pieces with `bytes` bytes in all.
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

    /// The number of pieces.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the arena has no pieces.
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

    /// Pieces and tallies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Tally)> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let pieces = starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start as usize..end as usize]);
        pieces.zip(self.tallies.iter().copied())
    }

    /// The numbers of the pieces in the order of their bytes; stretches that are sorted already are merged.
    #[must_use]
    pub fn byte_order(&self) -> Vec<u32> {
        let prefix = |piece: &[u8]| {
            let mut bytes = [0; 8];
            let len = piece.len().min(8);
            bytes[..len].copy_from_slice(&piece[..len]);
            u64::from_be_bytes(bytes)
        };
        let mut keys: Vec<_> = self.iter().zip(0u32..).map(|((piece, _), number)| (prefix(piece), number)).collect();
        keys.sort_by(|left, right| {
            let bytes = || self.piece(left.1 as usize).cmp(self.piece(right.1 as usize));
            left.0.cmp(&right.0).then_with(bytes)
        });
        keys.into_iter().map(|(_, number)| number).collect()
    }

    /// The same pieces in the order of their first positions.
    #[must_use]
    pub fn sort_by_position(self) -> Self {
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

/// The room of one part of an arena.
#[derive(Debug)]
pub struct ArenaRoom<'a> {
    bytes: &'a mut [u8],
    ends: &'a mut [u64],
    tallies: &'a mut [Tally],
    /// The start of the room in the arena's bytes.
    start: u64,
    /// The pieces and bytes written so far.
    filled: (usize, usize),
}

impl ArenaRoom<'_> {
    /// Appends a piece.
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
