//! Short stretches of a text as keys: their bytes in a few machine words, so that two are compared at once.

use crate::vocab::{SHORT, ShortKey};

/// The longest stretch, in bytes, that has a key.
pub const LONGEST: usize = 31;

/// The bytes of a stretch, zeros after them, and the length in the last byte.
pub type Key = [u64; 4];

/// A text whose pieces can be loaded as keys, wherever they stand.
pub struct Window<'t> {
    /// The text.
    pub text: &'t [u8],
    /// The last bytes of the text, and zeros.
    tail: [u8; 2 * LONGEST + 2],
    tail_start: usize,
}

impl<'t> Window<'t> {
    /// A window on `text`.
    #[must_use]
    pub fn new(text: &'t [u8]) -> Self {
        let tail_start = text.len().saturating_sub(LONGEST);
        let mut tail = [0; 2 * LONGEST + 2];
        tail[..text.len() - tail_start].copy_from_slice(&text[tail_start..]);
        Self { text, tail, tail_start }
    }

    /// The key of `len` bytes (at most [`LONGEST`]) from `start` on.
    #[inline]
    #[must_use]
    pub fn key(&self, start: usize, len: usize) -> Key {
        let bytes: &[u8; 32] = match self.text[start..].first_chunk() {
            Some(bytes) => bytes,
            None => self.tail[start - self.tail_start..].first_chunk().unwrap_or(&[0; 32]),
        };
        let mask = &MASKS[len];
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte])) & mask[at];
        [word(0), word(1), word(2), word(3) | (len as u64) << 56]
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
        u128::from_le_bytes(*bytes) & ((1 << (len * 8)) - 1) | (len as u128) << 124
    }
}

/// By length: the bits of a key that belong to the piece.
static MASKS: [Key; LONGEST + 1] = {
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

/// A well mixed hash.
#[inline]
#[must_use]
pub fn hash(key: &Key) -> u64 {
    let fold = |left: u64, right: u64| {
        let product = u128::from(left) * u128::from(right);
        (product as u64) ^ (product >> 64) as u64
    };
    let head = fold(key[0] ^ 0x9E37_79B9_7F4A_7C15, key[1] ^ 0xD1B5_4A32_D192_ED03);
    let tail = fold(key[2] ^ 0x8CB9_2BA7_2F3D_8DD7, key[3] ^ 0xA24B_AED4_963E_E407);
    head ^ tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocab::short_key;

    #[test]
    fn keys_hold_the_stretch_and_nothing_after_it() {
        let text: Vec<u8> = (1..=100).collect();
        for size in [0, 1, 15, 16, 31, 32, 33, 100] {
            let window = Window::new(&text[..size]);
            for start in 0..size {
                for len in 1..=LONGEST.min(size - start) {
                    let stretch = &text[start..start + len];
                    assert_eq!(window.key(start, len), Window::new(stretch).key(0, len));
                    if len <= SHORT {
                        assert_eq!(window.short_key(start, len), short_key(stretch));
                    }
                }
            }
        }
    }
}
