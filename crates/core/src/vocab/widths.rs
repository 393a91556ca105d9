//! The bytes of each id's token. The table has one byte per id, so that it stays in the cache over many lookups.

use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

/// Marks a longer token, whose width is looked up.
const LONG: u8 = u8::MAX;

/// By id: the bytes of its token; 0 for an id without one.
#[derive(Debug)]
pub struct Widths(ById<u8>);

impl Widths {
    /// The widths of a vocabulary's tokens.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Self {
        let mut widths = ById::new(vocab.ids());
        for (token, id) in vocab.tokens() {
            if let Some(width) = widths.get_mut(id) {
                *width = u8::try_from(token.len()).unwrap_or(LONG);
            }
        }
        Self(widths)
    }

    /// The memory of the table in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// The width of an id, equal to [`Vocab::width`] of the vocabulary that the table was made from.
    #[inline(always)]
    #[must_use]
    pub fn width(&self, vocab: &Vocab, id: u32) -> usize {
        match self.0.get(id) {
            Some(&LONG) => vocab.width(id),
            Some(&width) => usize::from(width),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::bytes_vocab;

    #[test]
    fn widths_equal_the_lengths_of_tokens() {
        let long: Vec<String> = [2, 254, 255, 256, 1000].iter().map(|&length| "x".repeat(length)).collect();
        let vocab = bytes_vocab(&long.iter().map(String::as_str).collect::<Vec<_>>());
        let widths = Widths::new(&vocab);
        assert!((0..300).all(|id| widths.width(&vocab, id) == vocab.width(id)));
        assert_eq!([256, 257, 258, 259, 260, 261].map(|id| widths.width(&vocab, id)), [2, 254, 255, 256, 1000, 0]);
    }
}
