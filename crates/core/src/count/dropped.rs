//! Sums of the pieces that counting leaves out.

/// Occurrences of pieces without a count, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The occurrences.
    pub pieces: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The rare pieces that are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rare {
    /// Their occurrences and bytes.
    pub out: LeftOut,
    /// The most occurrences of two adjacent bytes. No pair of tokens occurs more often in the rare pieces.
    pub pair: u64,
}

/// Sums the rare pieces.
#[derive(Debug, Default)]
pub struct RareCounter {
    out: LeftOut,
    /// The occurrences of every pair of bytes.
    pairs: Vec<u64>,
}

impl RareCounter {
    /// Adds a rare piece.
    pub fn add(&mut self, piece: &[u8], count: u64) {
        // Saturates; the sum of all bytes reports the overflow.
        self.out.pieces = self.out.pieces.saturating_add(count);
        self.out.bytes = self.out.bytes.saturating_add(count.saturating_mul(piece.len() as u64));
        self.pairs.resize(1 << 16, 0);
        for pair in piece.windows(2) {
            let pair = &mut self.pairs[usize::from(pair[0]) << 8 | usize::from(pair[1])];
            *pair = pair.saturating_add(count);
        }
    }

    /// The final sums.
    #[must_use]
    pub fn finish(self) -> Rare {
        Rare { out: self.out, pair: self.pairs.into_iter().max().unwrap_or(0) }
    }
}
