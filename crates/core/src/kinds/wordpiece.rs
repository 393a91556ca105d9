//! Encodes a piece by the longest token from left to right: the greedy longest match of BERT.
//!
//! A token that continues a piece is written with a prefix. If no token fits somewhere, or the piece has too many
//! characters, the whole piece is unknown.

use crate::error::{Error, Result};
use crate::vocab::Vocab;
use crate::vocab::trie::{Node, ROOT, Trie};

/// The engine of a `WordPiece` vocabulary.
#[derive(Debug)]
pub struct WordPiece {
    trie: Trie,
    /// The node where tokens that continue a piece start; None if there are none.
    inside: Option<Node>,
    /// The length of their prefix.
    prefix: usize,
    longest: usize,
    unknown: Option<u32>,
}

impl WordPiece {
    /// Makes the engine of a vocabulary: the prefix of tokens that continue a piece, the longest piece in characters,
    /// and the unknown id.
    #[must_use]
    pub fn new(vocab: &Vocab, prefix: &str, longest: Option<usize>, unknown: Option<u32>) -> Self {
        let trie = Trie::new(vocab.tokens().collect());
        let inside = trie.walk(ROOT, prefix.as_bytes());
        Self { trie, inside, prefix: prefix.len(), longest: longest.unwrap_or(usize::MAX), unknown }
    }

    /// The memory of the trie in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.trie.bytes()
    }

    /// Appends the ids of `piece`.
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for an unknown piece without an unknown id.
    pub fn encode(&self, piece: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let before = out.len();
        let fits = self.longest >= piece.len() || chars(piece) <= self.longest;
        if fits && self.push_tokens(piece, out) {
            return Ok(());
        }
        out.truncate(before);
        let missing = || Error::NotInVocabulary { content: piece.to_vec(), offset: 0 };
        out.push(self.unknown.ok_or_else(missing)?);
        Ok(())
    }

    /// Appends the end of each id of a piece.
    pub fn ends(&self, vocab: &Vocab, piece: &[u8], ids: &[u32], ends: &mut Vec<usize>) {
        if let [_] = ids {
            ends.push(piece.len());
            return;
        }
        let mut end = 0;
        for (place, &id) in ids.iter().enumerate() {
            end += vocab.width(id) - if place > 0 { self.prefix } else { 0 };
            ends.push(end);
        }
    }

    /// Appends the tokens of a piece, and returns whether they cover it.
    fn push_tokens(&self, mut rest: &[u8], out: &mut Vec<u32>) -> bool {
        let mut from = Some(ROOT);
        while !rest.is_empty() {
            let Some((len, id)) = from.and_then(|from| self.longest_token(from, rest)) else { return false };
            out.push(id);
            rest = &rest[len..];
            from = self.inside;
        }
        true
    }

    /// The longest token that a text starts with, searched from a node on. A token must not end inside a character.
    fn longest_token(&self, from: Node, text: &[u8]) -> Option<(usize, u32)> {
        let (mut node, mut longest) = (from, None);
        for (len, &byte) in (1..).zip(text) {
            let Some(next) = self.trie.step(node, byte) else { break };
            node = next;
            let whole = text.get(len).is_none_or(|&byte| byte & 0xC0 != 0x80);
            longest = self.trie.value(node).filter(|_| whole).map(|id| (len, id)).or(longest);
        }
        longest
    }
}

fn chars(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::listed_vocab;
    use crate::vocab::Unit;

    #[test]
    fn the_longest_token_wins_and_an_uncovered_piece_is_unknown() {
        let tokens = ["?", "un", "##aff", "##able", "a", "##é", "##a", "##"];
        let vocab = listed_vocab(Unit::Piece, &tokens, &[], "");
        let encoded = |piece: &str, unknown| {
            let mut ids = vec![9];
            let engine = WordPiece::new(&vocab, "##", Some(12), unknown);
            engine.encode(piece.as_bytes(), &mut ids).map(|()| ids)
        };
        assert_eq!(encoded("unaffable", Some(0)).unwrap(), [9, 1, 2, 3]);
        assert_eq!(encoded("aéé", Some(0)).unwrap(), [9, 4, 5, 5]);
        assert_eq!(encoded("aéè", Some(0)).unwrap(), [9, 0]);
        assert_eq!(encoded("ééa", Some(0)).unwrap(), [9, 0]);
        assert_eq!(encoded("aéééééééééééé", Some(0)).unwrap(), [9, 0], "13 characters");
        assert_eq!(encoded("", None).unwrap(), [9]);
        assert!(matches!(encoded("x", None), Err(Error::NotInVocabulary { content, .. }) if content == b"x"));
    }
}
