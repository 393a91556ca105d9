//! Encodes a piece as HF's byte-pair encoding on characters, where a character can lack a token. Characters that
//! continue or end a piece get marks. A character without a token becomes its bytes or the unknown id. Then the pairs
//! of the list merge, including the unknown id and bytes.

use crate::error::{Error, Result};
use crate::kinds::bpe::{MergeScratch, Merger};
use crate::merge::rule::Symbols;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;

/// The symbols of a piece besides characters with tokens.
#[derive(Debug, Clone)]
pub struct HfCharacters {
    /// The mark at the start of a token that continues a piece.
    pub prefix: String,
    /// The mark at the end of a token that ends a piece.
    pub suffix: String,
    /// The id of a character without a token.
    pub unknown: Option<u32>,
    /// Whether several unknown characters in a row become one id.
    pub fuse_unknown: bool,
    /// Whether such a character becomes its bytes, written `<0x41>`, if all of them have tokens.
    pub byte_fallback: bool,
    /// Whether such a character is dropped and the next symbol takes its bytes; for a drop-in, without an unknown id.
    pub drops_unknown: bool,
}

/// Pending unknown characters: their id, and their bytes.
type UnknownRun = Option<(u32, usize)>;

impl HfCharacters {
    /// Appends the ids of `piece` to `out`; their starts and the last one's end stay in `scratch.symbols.starts`.
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for a character without a token if there is no unknown id; [`Error::Interrupted`].
    pub fn encode(
        &self,
        merger: &Merger,
        piece: &str,
        stop: &Stop,
        scratch: &mut MergeScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let vocab = merger.vocab();
        if vocab.whole_piece()
            && let Some(id) = vocab.id(piece.as_bytes())
        {
            out.push(id);
            scratch.symbols.starts.clear();
            scratch.symbols.starts.extend([0, piece.len() as u32]);
            return Ok(());
        }
        self.start(vocab, piece, &mut scratch.symbols)?;
        merger.merge_symbols(piece.as_bytes(), stop, scratch)?;
        out.extend_from_slice(&scratch.symbols.ids);
        Ok(())
    }

    /// Fills `symbols` with the symbols of a piece before the first merge.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn start(&self, vocab: &Vocab, piece: &str, symbols: &mut Symbols) -> Result<()> {
        symbols.clear();
        let mut place = 0;
        // The bytes of marks count as well, so that the end can come early.
        let mut push = |id, size: usize| {
            symbols.ids.push(id);
            symbols.starts.push(place.min(piece.len()) as u32);
            place += size;
        };
        let mut unknown: UnknownRun = None;
        let mut marked = String::new();
        for (at, char) in piece.char_indices() {
            let end = at + char.len_utf8();
            let mut symbol = &piece[at..end];
            let (continues, ends) = (at > 0 && !self.prefix.is_empty(), end == piece.len() && !self.suffix.is_empty());
            if continues || ends {
                marked.clear();
                marked.push_str(if continues { &self.prefix } else { "" });
                marked.push(char);
                marked.push_str(if ends { &self.suffix } else { "" });
                symbol = &marked;
            }
            if let Some(id) = vocab.id(symbol.as_bytes()) {
                if let Some((unknown, size)) = unknown.take() {
                    push(unknown, size);
                }
                push(id, end - at);
            } else if let Some(bytes) = self.byte_ids(vocab, symbol) {
                // Pending unknown characters stay pending, and come after these bytes.
                for id in bytes {
                    push(id, 1);
                }
            } else if !self.drops_unknown {
                let id = self.unknown.ok_or_else(|| missing_symbol(symbol, at))?;
                if let Some((_, size)) = unknown.filter(|_| !self.fuse_unknown) {
                    push(id, size);
                    unknown = None;
                }
                unknown = Some((id, unknown.map_or(0, |(_, size)| size) + end - at));
            }
        }
        if let Some((unknown, size)) = unknown {
            push(unknown, size);
        }
        symbols.starts.push(if self.drops_unknown { place.min(piece.len()) } else { piece.len() } as u32);
        Ok(())
    }

    /// The ids of a symbol's bytes, if it falls back to them and all have tokens.
    fn byte_ids(&self, vocab: &Vocab, symbol: &str) -> Option<Vec<u32>> {
        let id = |byte: u8| vocab.id(format!("<0x{byte:02X}>").as_bytes());
        self.byte_fallback.then(|| symbol.bytes().map(id).collect())?
    }
}

fn missing_symbol(symbol: &str, offset: usize) -> Error {
    Error::NotInVocabulary { content: symbol.as_bytes().to_vec(), offset }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::listed_vocab;
    use crate::vocab::Unit;

    fn make_vocab(tokens: &[&str], merges: &[[u32; 3]], prefix: &str) -> Arc<Vocab> {
        Arc::new(listed_vocab(Unit::Char, tokens, merges, prefix))
    }

    fn encode_ids(symbols: &HfCharacters, vocab: &Arc<Vocab>, piece: &str) -> Result<Vec<u32>> {
        encode_with_starts(symbols, vocab, piece).map(|(ids, _)| ids)
    }

    fn encode_with_starts(symbols: &HfCharacters, vocab: &Arc<Vocab>, piece: &str) -> Result<(Vec<u32>, Vec<u32>)> {
        let (mut ids, mut scratch) = (Vec::new(), MergeScratch::default());
        let merger = Merger::new(Arc::clone(vocab), None);
        symbols.encode(&merger, piece, &Stop::default(), &mut scratch, &mut ids)?;
        Ok((ids, scratch.symbols.starts))
    }

    fn make_characters(unknown: Option<u32>, fuse_unknown: bool, byte_fallback: bool) -> HfCharacters {
        HfCharacters {
            prefix: String::new(),
            suffix: String::new(),
            unknown,
            fuse_unknown,
            byte_fallback,
            drops_unknown: false,
        }
    }

    #[test]
    fn characters_without_tokens_become_bytes_or_the_unknown_id() {
        let vocab = make_vocab(&["?", "a", "<0xC3>", "<0xA9>", "?a"], &[[0, 1, 4]], "");
        let ids = |unknown, fuse, fallback, piece| encode_ids(&make_characters(unknown, fuse, fallback), &vocab, piece);
        assert_eq!(ids(Some(0), true, false, "xyaéx").unwrap(), [4, 0]);
        assert_eq!(ids(Some(0), false, false, "xya").unwrap(), [0, 4]);
        assert_eq!(ids(Some(0), true, true, "xéa").unwrap(), [2, 3, 4], "the unknown one waits");
        assert_eq!(ids(None, true, true, "éx").unwrap_err(), missing_symbol("x", 2));
        let drops = HfCharacters { drops_unknown: true, ..make_characters(None, false, false) };
        assert_eq!(encode_with_starts(&drops, &vocab, "x?éa").unwrap(), (vec![4], vec![0, 2]), "what is left merges");
    }

    #[test]
    fn bytes_and_unknown_characters_have_starts() {
        let vocab = make_vocab(&["?", "a", "<0xC3>", "<0xA9>", "aa"], &[[1, 1, 4]], "");
        let places = |fuse, fallback, piece| {
            encode_with_starts(&make_characters(Some(0), fuse, fallback), &vocab, piece).unwrap()
        };
        assert_eq!(places(true, true, "aaéa"), (vec![4, 2, 3, 1], vec![0, 2, 3, 4, 5]));
        assert_eq!(places(true, false, "xéaay"), (vec![0, 4, 0], vec![0, 3, 5, 6]));
        assert_eq!(places(false, false, "xé"), (vec![0, 0], vec![0, 1, 3]));
        let (ids, starts) = places(true, false, &"aa".repeat(100));
        assert_eq!((ids, starts), (vec![4; 100], (0..=200).step_by(2).collect()));
    }

    #[test]
    fn characters_get_the_marks_of_their_place() {
        let tokens = ["a", "##b", "##c</w>", "a</w>", "ab", "abc</w>", "##bc</w>"];
        let vocab = make_vocab(&tokens, &[[0, 1, 4], [4, 2, 5]], "##");
        let marks = HfCharacters { prefix: "##".into(), suffix: "</w>".into(), ..make_characters(None, false, false) };
        assert_eq!(encode_ids(&marks, &vocab, "abc").unwrap(), [5]);
        assert_eq!(encode_ids(&marks, &vocab, "a").unwrap(), [3]);
    }
}
