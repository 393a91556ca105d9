//! Short stretches of a text as keys: their bytes in a few machine words, so that two are compared at once. And the walk
//! over the pieces of a text that looks such keys up ([`PieceWalk`]).

use std::hash::{BuildHasher, RandomState};

use crate::error::Result;
use crate::threads::parallel::Stop;

/// The longest stretch, in bytes, that has a key.
pub const LONGEST: usize = 31;

/// The longest stretch with a key of two words.
pub const LONGEST_OF_TWO: usize = 15;

/// The bytes of a stretch, zeros after them, and the length in the last byte.
pub type Key<const K: usize> = [u64; K];

/// Set in the last byte of the key of a stretch between two cuts. Merging alone decides its ids, and an equal piece may
/// have others.
pub const STRETCH: u64 = 0x80 << 56;

/// A text whose pieces can be loaded as keys, wherever they are.
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

    /// The part of the text from `start` on, its slot asked for.
    #[inline(always)]
    fn part(&self, tables: impl SlotTables, start: usize, len: usize, stretch: u64) -> PiecePart {
        let mut part = PiecePart { start, len: len as u32, slot: 0, key: [0, stretch] };
        if len <= LONGEST_OF_TWO {
            part.key = self.key(start, len);
            part.key[1] |= stretch;
            part.slot = tables.expect_short(&part.key) as u32;
        } else if len <= LONGEST {
            part.slot = tables.expect_wide(&self.wide_key(&part)) as u32;
        }
        part
    }

    /// The key of a part that is not short.
    #[inline(always)]
    #[must_use]
    pub fn wide_key(&self, part: &PiecePart) -> Key<4> {
        let mut key = self.key(part.start, part.len as usize);
        key[3] |= part.key[1];
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
        u128::from_le_bytes(*bytes) & ((1 << (len * 8)) - 1) | (len as u128) << 124
    }
}

/// How many parts wait for their slots at a time.
pub const WAITING: usize = 128;

/// A piece, or a stretch between two cuts of one, whose slot is on its way from memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct PiecePart {
    /// Where it starts in the text.
    pub start: usize,
    /// Its bytes.
    pub len: u32,
    /// Where its slot should be.
    pub slot: u32,
    /// The key of a short part; of others, only whether it is a stretch.
    pub key: Key<2>,
}

/// Parts that wait.
#[derive(Debug)]
pub struct WaitingParts {
    parts: [PiecePart; WAITING],
    count: usize,
}

impl Default for WaitingParts {
    fn default() -> Self {
        Self { parts: [PiecePart::default(); WAITING], count: 0 }
    }
}

/// Two tables of slots, which prefetch a slot before it is looked at.
pub trait SlotTables: Copy {
    /// Where the slot of a key of two words should be.
    fn expect_short(self, key: &Key<2>) -> usize;
    /// Where the slot of a key of four words should be.
    fn expect_wide(self, key: &Key<4>) -> usize;
}

/// What becomes of the pieces of a text.
pub trait PieceSink: Sized {
    /// The tables that hold what is known.
    fn tables(&self) -> impl SlotTables;
    /// Takes parts until one comes that is not in its slot, and says how many.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize;
    /// Takes a part that is not where its hash says, or nowhere.
    ///
    /// # Errors
    /// Those of the sink.
    fn take_new(&mut self, window: &Window<'_>, part: PiecePart) -> Result<()>;
    /// Takes a piece of more than [`LONGEST`] bytes.
    ///
    /// # Errors
    /// Those of the sink.
    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()>;
}

/// The pieces of a text on their way to a sink. Each waits a little, so that its slot is there when it is looked at.
pub struct PieceWalk<'w, 't, S> {
    /// The text.
    pub window: Window<'t>,
    /// What becomes of its pieces.
    pub sink: S,
    waiting: &'w mut WaitingParts,
    stop: &'w Stop,
    /// Where the next piece starts.
    at: usize,
}

impl<'w, 't, S: PieceSink> PieceWalk<'w, 't, S> {
    /// The pieces of one text, which is split elsewhere.
    pub fn new(text: &'t [u8], sink: S, waiting: &'w mut WaitingParts, stop: &'w Stop) -> Self {
        waiting.count = 0;
        Self { window: Window::new(text), sink, waiting, stop, at: 0 }
    }

    /// Takes the pieces that end at `ends`; the sink gets them in time.
    ///
    /// # Errors
    /// Those of the sink, of one of these pieces or one before; [`crate::Error::Interrupted`].
    pub fn take(&mut self, mut ends: &[usize]) -> Result<()> {
        loop {
            ends = &ends[self.take_short(ends)..];
            if self.waiting.count == WAITING {
                self.drain()?;
            } else if let Some((&end, rest)) = ends.split_first() {
                let start = std::mem::replace(&mut self.at, end);
                S::take_long(self, start, end)?;
                ends = rest;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes pieces until there is no more room or a long one comes, and says how many.
    fn take_short(&mut self, ends: &[usize]) -> usize {
        let (tables, before) = (self.sink.tables(), self.waiting.count);
        for (part, &end) in self.waiting.parts[before..].iter_mut().zip(ends) {
            let len = end - self.at;
            if len > LONGEST {
                break;
            }
            *part = self.window.part(tables, self.at, len, 0);
            self.at = end;
            self.waiting.count += 1;
        }
        self.waiting.count - before
    }

    /// Takes a part of fewer than 4 GiB; `stretch` is [`STRETCH`] for one between two cuts.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn wait(&mut self, start: usize, end: usize, stretch: u64) -> Result<()> {
        self.waiting.parts[self.waiting.count] = self.window.part(self.sink.tables(), start, end - start, stretch);
        self.waiting.count += 1;
        if self.waiting.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Gives the sink all parts that wait.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn drain(&mut self) -> Result<()> {
        self.stop.check()?;
        let count = std::mem::take(&mut self.waiting.count);
        let mut done = 0;
        while done < count {
            done += self.sink.take_known(&self.window, &self.waiting.parts[done..count]);
            if done < count {
                self.sink.take_new(&self.window, self.waiting.parts[done])?;
                done += 1;
            }
        }
        Ok(())
    }
}

/// The longest stretch, in bytes, that has a short key.
pub const SHORT: usize = 12;

/// The bytes of a short stretch, zeros after them, and the length in the highest bits.
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

/// Random numbers that hashes are mixed with, so that nobody can write a text or a vocabulary whose keys all collide.
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
            hash ^= fold(pair[0] ^ seeds[0], pair[1] ^ seeds[1]);
        }
        hash
    }

    /// The hash of a short key.
    #[inline]
    #[must_use]
    pub fn hash_short(&self, key: ShortKey) -> u64 {
        fold(key as u64 ^ self.0[0], (key >> 64) as u64 ^ self.0[1])
    }
}

/// Both halves of a product in one word.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hold_the_stretch_and_nothing_after_it() {
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
