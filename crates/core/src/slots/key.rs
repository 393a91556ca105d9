//! Keys of short stretches of a text: their bytes in a few machine words, compared at once.

use std::hash::{BuildHasher, RandomState};

/// The longest stretch, in bytes, that has a key.
pub const LONGEST: usize = 31;

/// The longest stretch with a key of two words.
pub const LONGEST_OF_TWO: usize = 15;

/// The bytes of a stretch, padded with zeros, and the length in the last byte.
pub type Key<const K: usize> = [u64; K];

/// Set in the last byte of the key of a stretch between two cuts. Only merging decides its ids, and an equal piece can
/// have others.
pub const STRETCH: u64 = 0x80 << 56;

/// A text whose pieces can be loaded as keys at any place.
pub struct Window<'t> {
    /// The text.
    pub text: &'t [u8],
    /// The last bytes of the text, and zeros.
    tail: [u8; 2 * LONGEST + 2],
    tail_start: usize,
}

impl<'t> Window<'t> {
    /// A window over `text`.
    #[must_use]
    pub fn new(text: &'t [u8]) -> Self {
        let tail_start = text.len().saturating_sub(LONGEST);
        let mut tail = [0; 2 * LONGEST + 2];
        tail[..text.len() - tail_start].copy_from_slice(&text[tail_start..]);
        Self { text, tail, tail_start }
    }

    /// The key of `len` bytes from `start` on; `K` words hold at most 8 K - 1 of them.
    #[inline(always)]
    #[must_use]
    pub fn key<const K: usize>(&self, start: usize, len: usize) -> Key<K> {
        let bytes: &[u8; 32] = match self.text[start..].first_chunk() {
            Some(bytes) => bytes,
            None => self.tail[start - self.tail_start..].first_chunk().unwrap_or(&[0; 32]),
        };
        let mask = &MASKS[len];
        let mut key = std::array::from_fn(|word| {
            u64::from_le_bytes(std::array::from_fn(|byte| bytes[word * 8 + byte])) & mask[word]
        });
        key[K - 1] |= (len as u64) << 56;
        key
    }

    /// The short key of `len` bytes (at most `SHORT`) from `start` on.
    #[inline]
    #[must_use]
    pub fn short_key(&self, start: usize, len: usize) -> ShortKey {
        debug_assert!(len <= SHORT);
        let bytes: &[u8; 16] = match self.text[start..].first_chunk() {
            Some(bytes) => bytes,
            None => self.tail[start - self.tail_start..].first_chunk().unwrap_or(&[0; 16]),
        };
        let [low, high, ..] = MASKS[len];
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        u128::from(word(0) & low) | u128::from(word(8) & high | (len as u64) << 60) << 64
    }
}

/// The longest stretch, in bytes, that has a short key.
pub const SHORT: usize = 12;

/// The bytes of a short stretch, padded with zeros, and the length in the highest bits.
pub type ShortKey = u128;

/// The key of up to [`SHORT`] bytes.
#[inline]
#[must_use]
pub fn short_key(stretch: &[u8]) -> ShortKey {
    let bytes = stretch.iter().rev().fold(0, |bytes, &byte| bytes << 8 | u128::from(byte));
    bytes | (stretch.len() as u128) << 124
}

/// By length: the bits of a key that belong to the piece.
static MASKS: [Key<4>; LONGEST + 1] = {
    let mut masks = [[0; 4]; LONGEST + 1];
    let mut len = 0;
    while len <= LONGEST {
        let mut byte = 0;
        while byte < len {
            masks[len][byte / 8] |= 0xFF << (byte % 8 * 8);
            byte += 1;
        }
        len += 1;
    }
    masks
};

/// Random numbers for hashing, so that no text or vocabulary can be constructed whose keys all collide.
#[derive(Debug, Clone, Copy)]
pub struct Seeds([u64; 4]);

impl Default for Seeds {
    fn default() -> Self {
        let random = RandomState::new();
        Self(std::array::from_fn(|at| random.hash_one(at)))
    }
}

impl Seeds {
    /// The hash of a key.
    #[inline]
    #[must_use]
    pub fn hash<const K: usize>(&self, key: &Key<K>) -> u64 {
        let mut hash = 0;
        for (pair, seeds) in key.chunks_exact(2).zip(self.0.chunks_exact(2)) {
            hash ^= fold_product(pair[0] ^ seeds[0], pair[1] ^ seeds[1]);
        }
        hash
    }

    /// The hash of a short key.
    #[inline]
    #[must_use]
    pub fn hash_short(&self, key: ShortKey) -> u64 {
        fold_product(key as u64 ^ self.0[0], (key >> 64) as u64 ^ self.0[1])
    }
}

/// Both halves of a product, folded into one word.
#[inline]
fn fold_product(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_only_the_stretch() {
        let text: Vec<u8> = (1..=100).collect();
        for size in [0, 1, 15, 16, 31, 32, 33, 100] {
            let window = Window::new(&text[..size]);
            for start in 0..size {
                for len in 1..=LONGEST.min(size - start) {
                    let stretch = &text[start..start + len];
                    assert_eq!(window.key::<4>(start, len), Window::new(stretch).key(0, len));
                    if len <= LONGEST_OF_TWO {
                        assert_eq!(window.key::<2>(start, len), Window::new(stretch).key(0, len));
                    }
                    if len <= SHORT {
                        assert_eq!(window.short_key(start, len), short_key(stretch));
                    }
                }
            }
        }
    }
}
