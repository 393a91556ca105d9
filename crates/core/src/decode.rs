//! Ids to bytes: one copy per token.

use crate::error::{Error, Result};
use crate::special::AddedToken;
use crate::vocab::Vocab;

/// The bytes of every id, added tokens included, in one table.
#[derive(Debug)]
pub struct Decoder {
    blob: Vec<u8>,
    /// By id: where its bytes start and end in `blob`; an empty span is a hole.
    spans: Vec<(u32, u32)>,
}

impl Decoder {
    /// The decoder of a vocabulary and added tokens; where several share an id, the first gives its text.
    #[must_use]
    pub fn new(vocab: &Vocab, added: &[AddedToken]) -> Self {
        let added_size = added.iter().map(|token| token.id as usize + 1).max().unwrap_or(0);
        let mut decoder = Self { blob: Vec::new(), spans: vec![(0, 0); vocab.size().max(added_size)] };
        for id in 0..vocab.size() as u32 {
            decoder.set(id, vocab.token(id).unwrap_or_default());
        }
        for token in added {
            decoder.set(token.id, token.content.as_bytes());
        }
        decoder
    }

    fn set(&mut self, id: u32, bytes: &[u8]) {
        let span = &mut self.spans[id as usize];
        if span.0 == span.1 {
            let start = self.blob.len() as u32;
            self.blob.extend_from_slice(bytes);
            *span = (start, self.blob.len() as u32);
        }
    }

    /// The largest id + 1.
    #[must_use]
    pub fn size(&self) -> usize {
        self.spans.len()
    }

    /// The bytes of one id.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        let &(start, end) = self.spans.get(id as usize)?;
        (start < end).then(|| &self.blob[start as usize..end as usize])
    }

    /// Appends the bytes of `ids` to `out`.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for the first id without a token; `out` then holds the bytes before it.
    pub fn decode(&self, ids: &[u32], out: &mut Vec<u8>) -> Result<()> {
        for (position, &id) in ids.iter().enumerate() {
            let unknown = || Error::UnknownId { id: i64::from(id), position, vocab_size: self.size() };
            out.extend_from_slice(self.token(id).ok_or_else(unknown)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::tests::bytes_vocab;

    #[test]
    fn ids_decode_to_their_bytes_and_unknown_ids_are_named() {
        let added = |content: &str, id| AddedToken { content: content.into(), id, special: true };
        let decoder = Decoder::new(&bytes_vocab(&["ab"]), &[added("<s>", 258), added("</s>", 258)]);
        let mut out = Vec::new();
        decoder.decode(&[256, 258, 99], &mut out).unwrap();
        assert_eq!(out, b"ab<s>c");
        let unknown = Error::UnknownId { id: 257, position: 1, vocab_size: 259 };
        assert_eq!(decoder.decode(&[97, 257], &mut out).unwrap_err(), unknown);
    }
}
