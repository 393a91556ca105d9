//! How often each id was emitted, and how wide its token is, in one word of 16 bits an id.
//!
//! A pass over ids that counts them also asks for their widths. One small table answers both with one look into memory.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::decode::Decoder;
use crate::kinds::PieceEncoder;
use crate::vocab::by_id::ById;

/// A word has the width in its low bits and the count in the others.
const WIDTH_BITS: u32 = 6;
const WIDTH: u16 = (1 << WIDTH_BITS) - 1;
const ONE: u16 = 1 << WIDTH_BITS;
/// The word of an id without a width. Each count makes it overflow, and it remains as it is.
const NO_WIDTH: u16 = !WIDTH;
/// As many counts make the count in any other word overflow to zero.
const WRAP: u64 = 1 << (u16::BITS - WIDTH_BITS);

/// See the module.
#[derive(Debug, Clone)]
pub struct IdCounts {
    /// All of them, ascending.
    ids: Arc<[u32]>,
    words: ById<u16>,
    /// What overflowed, and all counts of ids without a width.
    more: HashMap<u32, u64>,
}

impl IdCounts {
    /// Nothing counted yet. `spelling` is the vocabulary of an encoder that puts the bytes of a text into its ids as they are
    /// ([`crate::encode::Encoder::spelling`]): then its tokens need no look at their bytes.
    #[must_use]
    pub fn new(decoder: &Decoder, spelling: Option<&PieceEncoder>) -> Self {
        let ids = decoder.ids();
        let mut words = ById::filled(ids.iter().copied(), || NO_WIDTH);
        if let Some((vocab, widths)) = spelling.and_then(|pieces| Some((pieces.vocab(), pieces.widths()?))) {
            for &id in &ids {
                let width = widths.of(vocab, id);
                if let Some(word) = words.get_mut(id).filter(|_| (1..=usize::from(WIDTH)).contains(&width)) {
                    *word = width as u16;
                }
            }
            for id in decoder.added() {
                if let Some(word) = words.get_mut(id) {
                    *word = NO_WIDTH;
                }
            }
        }
        Self { ids: ids.into(), words, more: HashMap::default() }
    }

    /// How many ids there are.
    #[must_use]
    pub fn ids(&self) -> usize {
        self.ids.len()
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.ids) + self.words.bytes() + self.more.allocation_size()
    }

    /// Counts an id, and says how many bytes its token has: 0 if only a look at its bytes does.
    pub fn add(&mut self, id: u32) -> usize {
        let Some(word) = self.words.get_mut(id) else { return 0 };
        if let Some(width) = Self::add_plain(word) {
            return width;
        }
        let width = *word & WIDTH;
        *self.more.entry(id).or_default() += if width == 0 { 1 } else { WRAP };
        if width != 0 {
            *word = width;
        }
        usize::from(width)
    }

    /// The words of the lower ids by id, for [`Self::add_plain`].
    #[inline(always)]
    pub fn near(&mut self) -> &mut [u16] {
        self.words.near_mut()
    }

    /// Does what [`Self::add`] does with the id of a word, unless the word overflows.
    #[inline(always)]
    pub fn add_plain(word: &mut u16) -> Option<usize> {
        let sum = word.checked_add(ONE)?;
        *word = sum;
        Some(usize::from(sum & WIDTH))
    }

    /// Adds how often each id was counted, in the order of the ids.
    pub fn add_to(&self, sums: &mut [u64]) {
        for (sum, &id) in sums.iter_mut().zip(&*self.ids) {
            let word = *self.words.get(id).unwrap_or(&NO_WIDTH);
            *sum += if word == NO_WIDTH { 0 } else { u64::from(word >> WIDTH_BITS) };
        }
        for (id, more) in &self.more {
            if let Ok(place) = self.ids.binary_search(id) {
                sums[place] += more;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::bytes_vocab;
    use crate::split::special::{AddedToken, Flags};

    fn all(counts: &IdCounts) -> Vec<u64> {
        let mut all = vec![0; counts.ids()];
        counts.add_to(&mut all);
        all
    }

    #[test]
    fn ids_are_counted_beyond_a_word() {
        let decoder = Decoder::new(Arc::new(bytes_vocab(&["ab"])), &[]);
        let mut counts = IdCounts::new(&decoder, None);
        for round in 1..=3 * WRAP + 7 {
            assert_eq!((counts.add(256), all(&counts)[256]), (0, round));
        }
        assert_eq!((counts.add(1 << 30), all(&counts).iter().sum()), (0, 3 * WRAP + 7));
    }

    #[test]
    fn widths_are_those_of_tokens_that_spell() {
        let long: Vec<String> = [62, 63, 64, 300].map(|length| "x".repeat(length)).into();
        let vocab = Arc::new(bytes_vocab(&long.iter().map(String::as_str).collect::<Vec<_>>()));
        let added = AddedToken { content: "<s>".into(), id: 97, special: true, flags: Flags::default() };
        let decoder = Decoder::new(Arc::clone(&vocab), &[added]);
        let mut counts = IdCounts::new(&decoder, Some(&PieceEncoder::plain(vocab)));
        for _ in 0..2 * WRAP {
            assert_eq!([96, 97, 256, 257, 258, 259].map(|id| counts.add(id)), [1, 0, 62, 63, 0, 0]);
        }
        assert_eq!(all(&counts).iter().sum::<u64>(), 12 * WRAP);
    }
}
