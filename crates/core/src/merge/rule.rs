//! The rule: merge one pair at a time, always the lowest rank and the leftmost of equals, until no pair merges.
//!
//! This file is the whole of byte-pair encoding. [`Symbols::start`] fills the symbols of a piece before the first
//! merge, and [`rescan`] merges them: it examines all pairs after each merge. The rest of this folder does the same
//! faster.

use crate::error::{Error, Result};
use crate::vocab::{Merge, Unit, Vocab};

/// Above this number of symbols the heap is faster.
pub(crate) const RESCAN_LIMIT: usize = 64;

/// The most bytes of a piece, because positions have 32 bits here.
const MOST_BYTES: usize = u32::MAX as usize - 1;

/// The symbols of a piece during merging.
#[derive(Debug, Default)]
pub struct Symbols {
    /// The id of each symbol.
    pub ids: Vec<u32>,
    /// The start of each symbol in the piece, then the end of the piece.
    pub starts: Vec<u32>,
}

impl Symbols {
    /// The memory of both in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        (self.ids.capacity() + self.starts.capacity()) * size_of::<u32>()
    }

    /// Removes all symbols.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.starts.clear();
    }

    /// Fills in the symbols of `piece` before the first merge; characters without a token get the id `unknown`.
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for a character without a token if `unknown` is None; [`Error::Option`] for a piece
    /// of 4 GiB.
    pub fn start(&mut self, vocab: &Vocab, unknown: Option<u32>, piece: &[u8]) -> Result<()> {
        check_size(piece.len())?;
        self.clear();
        let missing = |content: &[u8], offset| Error::NotInVocabulary { content: content.to_vec(), offset };
        match vocab.unit() {
            Unit::Byte => {
                self.ids.extend(piece.iter().filter_map(|byte| vocab.id(std::slice::from_ref(byte))));
                self.starts.extend(0..piece.len() as u32);
            }
            Unit::Piece => return Err(missing(piece, 0)),
            Unit::Char => {
                let mut offset = 0;
                for chunk in piece.utf8_chunks() {
                    for char in chunk.valid().split_inclusive(|_| true) {
                        let id = vocab.id(char.as_bytes()).or(unknown);
                        self.ids.push(id.ok_or_else(|| missing(char.as_bytes(), offset))?);
                        self.starts.push(offset as u32);
                        offset += char.len();
                    }
                    if !chunk.invalid().is_empty() {
                        return Err(missing(chunk.invalid(), offset));
                    }
                }
            }
        }
        self.starts.push(piece.len() as u32);
        Ok(())
    }
}

/// Refuses a piece of too many bytes.
pub(crate) fn check_size(bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let value = format!("a text with {bytes} bytes in one piece");
    let allowed = format!("pieces of at most {MOST_BYTES} bytes; cut the text, or use a split pattern");
    Err(Error::Option { argument: "text", value, allowed })
}

/// Merges symbols in place until no pair merges or `least` symbols are left. `pairs` is a buffer.
pub fn rescan(vocab: &Vocab, piece: &[u8], symbols: &mut Symbols, pairs: &mut Vec<Option<Merge>>, least: usize) {
    let Symbols { ids, starts } = symbols;
    let look = |ids: &[u32], starts: &[u32], at: usize| {
        let joined = &piece[starts[at] as usize..starts[at + 2] as usize];
        vocab.merge(ids[at], ids[at + 1], joined)
    };
    pairs.clear();
    pairs.extend((1..ids.len()).map(|right| look(ids, starts, right - 1)));
    while ids.len() > least {
        // `min_by_key` returns the first of equals, which is the leftmost.
        let merges = pairs.iter().enumerate().filter_map(|(at, pair)| pair.map(|merge| (at, merge)));
        let Some((at, best)) = merges.min_by_key(|(_, merge)| merge.rank) else { break };
        ids[at] = best.id;
        ids.remove(at + 1);
        starts.remove(at + 1);
        pairs.remove(at);
        if at > 0 {
            pairs[at - 1] = look(ids, starts, at - 1);
        }
        if at < pairs.len() {
            pairs[at] = look(ids, starts, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::bytes_vocab;

    fn merge_piece(vocab: &Vocab, piece: &[u8]) -> Vec<u32> {
        let mut symbols = Symbols::default();
        symbols.start(vocab, None, piece).unwrap();
        rescan(vocab, piece, &mut symbols, &mut Vec::new(), 1);
        symbols.ids
    }

    #[test]
    fn the_lowest_rank_merges_first_and_the_leftmost_of_equals() {
        // `ab` merges on the left before it merges on the right, because `aba`, which is then possible, ranks lower.
        assert_eq!(merge_piece(&bytes_vocab(&["aba", "ab"]), b"abab"), [256, 98]);
        assert_eq!(merge_piece(&bytes_vocab(&["ba", "ab"]), b"abab"), [97, 256, 98]);
        assert_eq!(merge_piece(&bytes_vocab(&["aa"]), b"aaa"), [256, 97]);
    }

    #[test]
    fn pieces_beyond_32_bits_are_refused() {
        assert_eq!(check_size((1 << 32) - 2), Ok(()));
        for bytes in [(1 << 32) - 1, 1 << 32, 1 << 40] {
            let Err(Error::Option { argument: "text", value, .. }) = check_size(bytes) else {
                panic!("{bytes} bytes fit")
            };
            assert!(value.contains(&bytes.to_string()));
        }
    }
}
