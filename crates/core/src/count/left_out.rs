//! What counting leaves out, and how much that was.

/// Occurrences of pieces that are not among the counts, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub pieces: u64,
    /// All their bytes.
    pub bytes: u64,
}

/// What is left out because it is rare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rare {
    /// The occurrences.
    pub out: LeftOut,
    /// The most occurrences of two bytes side by side. No pair of tokens occurs more often in what is left out.
    pub pair: u64,
}

/// Adds up what is left out because it is rare.
#[derive(Debug, Default)]
pub struct Dropping {
    out: LeftOut,
    /// The occurrences of every two bytes.
    pairs: Vec<u64>,
}

impl Dropping {
    /// Leaves a piece out.
    pub fn add(&mut self, piece: &[u8], count: u64) {
        // Who adds up all bytes reports a sum that is too large.
        self.out.pieces = self.out.pieces.saturating_add(count);
        self.out.bytes = self.out.bytes.saturating_add(count.saturating_mul(piece.len() as u64));
        self.pairs.resize(1 << 16, 0);
        for pair in piece.windows(2) {
            let pair = &mut self.pairs[usize::from(pair[0]) << 8 | usize::from(pair[1])];
            *pair = pair.saturating_add(count);
        }
    }

    /// All of it.
    #[must_use]
    pub fn done(self) -> Rare {
        Rare { out: self.out, pair: self.pairs.into_iter().max().unwrap_or(0) }
    }
}
