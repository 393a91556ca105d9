//! Draws for tests: small vocabularies, and pseudo-random numbers that are the same in each run.

use crate::vocab::{MergeRule, Tables, Unit, Vocab};

/// A vocabulary of the 256 bytes followed by `tokens`, with ids in order.
pub(crate) fn bytes_vocab(tokens: &[&str]) -> Vocab {
    vocab_of(tokens, false)
}

/// The same, with or without the whole-piece lookup.
pub(crate) fn vocab_of(tokens: &[&str], whole_piece: bool) -> Vocab {
    let mut blob: Vec<u8> = (0..=255).collect();
    let mut ends: Vec<u32> = (1..=256).collect();
    for token in tokens {
        blob.extend_from_slice(token.as_bytes());
        ends.push(blob.len() as u32);
    }
    let ids: Vec<u32> = (0..ends.len() as u32).collect();
    let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: &[] };
    Vocab::new(Unit::Byte, MergeRule::Bytes, whole_piece, tables).unwrap()
}

/// Pseudo-random numbers, the same in each run.
pub(crate) struct Draw(pub u64);

impl Draw {
    /// The next number, below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// `count` drawn items of `of`, one after another.
    pub(crate) fn bytes(&mut self, of: &[&[u8]], count: usize) -> Vec<u8> {
        (0..count).map(|_| of[self.below(of.len())]).collect::<Vec<_>>().concat()
    }
}
