//! Distinct pieces one after another: bytes once, counts, and first positions where they are known.

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
        arena.reserve(table.unique());
        let taken = table.each(|piece, tally| {
            arena.push(piece, tally);
            Ok(())
        });
        debug_assert!(taken.is_ok());
        arena
    }

    /// Makes room for this many pieces.
    pub fn reserve(&mut self, pieces: usize) {
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
        let mut sorted = Self { bytes: Vec::with_capacity(self.bytes.len()), ..Self::default() };
        sorted.reserve(self.len());
        for (_, number) in order {
            sorted.push(self.piece(number as usize), self.tallies[number as usize]);
        }
        sorted
    }
}
