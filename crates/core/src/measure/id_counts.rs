//! How often each id was emitted, and how wide its token is, in one word of 16 bits an id.
//!
//! A pass over ids that counts them also asks for their widths. One small table answers both with one look into memory.

use crate::decode::Decoder;
use crate::vocab::Vocab;
use crate::vocab::by_id::ById;
use crate::vocab::widths::Widths;

/// A word has the width in its low bits and the count in the others.
const WIDTH_BITS: u32 = 6;
const WIDTH: u16 = (1 << WIDTH_BITS) - 1;
const ONE: u16 = 1 << WIDTH_BITS;
/// As many counts make the count in a word overflow to zero.
const WRAP: u64 = 1 << (u16::BITS - WIDTH_BITS);

/// See the module.
#[derive(Debug)]
pub struct IdCounts {
    /// All of them, ascending.
    ids: Vec<u32>,
    words: ById<u16>,
    /// What overflowed.
    more: ById<u64>,
}

impl IdCounts {
    /// Nothing counted yet. `spelt` has the widths of a vocabulary whose ids spell a text, so that its tokens need no look at
    /// their bytes.
    #[must_use]
    pub fn new(decoder: &Decoder, spelt: Option<(&Vocab, &Widths)>) -> Self {
        let ids = decoder.ids();
        let (mut words, more) = (ById::<u16>::new(ids.iter().copied()), ById::new(ids.iter().copied()));
        if let Some((vocab, widths)) = spelt {
            for &id in &ids {
                let width = if decoder.is_added(id) { 0 } else { widths.of(vocab, id) };
                if let Some(word) = words.get_mut(id).filter(|_| width <= usize::from(WIDTH)) {
                    *word = width as u16;
                }
            }
        }
        Self { ids, words, more }
    }

    /// Counts an id, and says how many bytes its token has: 0 if only a look at its bytes does.
    pub fn add(&mut self, id: u32) -> usize {
        let Some(word) = self.words.get_mut(id) else { return 0 };
        let (sum, wraps) = word.overflowing_add(ONE);
        *word = sum;
        if wraps && let Some(more) = self.more.get_mut(id) {
            *more += WRAP;
        }
        usize::from(sum & WIDTH)
    }

    /// The words of the lower ids by id, for [`Self::add_plain`].
    #[inline(always)]
    pub fn near(&mut self) -> &mut [u16] {
        self.words.near_mut()
    }

    /// Does what [`Self::add`] does with the id of a word, if the word is all that it takes; otherwise nothing.
    #[inline(always)]
    pub fn add_plain(word: &mut u16) -> Option<usize> {
        let (sum, wraps) = word.overflowing_add(ONE);
        let width = sum & WIDTH;
        if wraps || width == 0 {
            return None;
        }
        *word = sum;
        Some(usize::from(width))
    }

    /// How often each id was counted, in the order of the ids.
    #[must_use]
    pub fn all(&self) -> Vec<u64> {
        let low = |id| u64::from(self.words.get(id).unwrap_or(&0) >> WIDTH_BITS);
        self.ids.iter().map(|&id| self.more.get(id).unwrap_or(&0) + low(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::bytes_vocab;
    use crate::split::special::{AddedToken, Flags};

    #[test]
    fn ids_are_counted_beyond_a_word() {
        let decoder = Decoder::new(Arc::new(bytes_vocab(&["ab"])), &[]);
        let mut counts = IdCounts::new(&decoder, None);
        for round in 1..=3 * WRAP + 7 {
            assert_eq!((counts.add(256), counts.all()[256]), (0, round));
        }
        assert_eq!((counts.add(1 << 30), counts.all().iter().sum()), (0, 3 * WRAP + 7));
    }

    #[test]
    fn widths_are_those_of_tokens_that_spell() {
        let long: Vec<String> = [62, 63, 64, 300].map(|length| "x".repeat(length)).into();
        let vocab = Arc::new(bytes_vocab(&long.iter().map(String::as_str).collect::<Vec<_>>()));
        let added = AddedToken { content: "<s>".into(), id: 97, special: true, flags: Flags::default() };
        let decoder = Decoder::new(Arc::clone(&vocab), &[added]);
        let mut counts = IdCounts::new(&decoder, Some((&vocab, &Widths::new(&vocab))));
        for _ in 0..2 * WRAP {
            assert_eq!([96, 97, 256, 257, 258, 259].map(|id| counts.add(id)), [1, 0, 62, 63, 0, 0]);
        }
        assert_eq!(counts.all().iter().sum::<u64>(), 12 * WRAP);
    }
}
