//! Pieces that tokens cover as they are, without merging: the rules of the kinds beside byte-pair encoding.

use crate::error::{Error, Result};
use crate::kinds::unigram::{Scratch, Unigram};
use crate::kinds::wordpiece::WordPiece;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;

/// How tokens cover a piece.
#[derive(Debug)]
pub enum Cover {
    /// A piece is a token, or this id.
    Words(u32),
    /// The longest token wins, from left to right.
    WordPiece(WordPiece),
    /// The tokens with the highest sum of scores.
    Unigram(Box<Unigram>),
}

impl Cover {
    /// Whether a piece that is a token is always that token.
    #[must_use]
    pub fn looks_up(&self) -> bool {
        matches!(self, Self::Words(_))
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Words(_) => 0,
            Self::WordPiece(pieces) => pieces.bytes(),
            Self::Unigram(unigram) => unigram.bytes(),
        }
    }

    /// Appends the ids of a piece, which is no token if [`Self::looks_up`].
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for what is unknown where there is no unknown id; [`Error::Interrupted`].
    pub fn encode(&self, piece: &[u8], stop: &Stop, scratch: &mut Scratch, out: &mut Vec<u32>) -> Result<()> {
        match self {
            Self::Words(unknown) => out.push(*unknown),
            Self::WordPiece(pieces) => pieces.encode(piece, out)?,
            Self::Unigram(_) if std::str::from_utf8(piece).is_err() => {
                return Err(Error::NotInVocabulary { content: piece.to_vec(), offset: 0 });
            }
            Self::Unigram(unigram) => unigram.encode(piece, stop, scratch, out)?,
        }
        Ok(())
    }

    /// Appends where each of the ids of a piece ends, those that [`Self::encode`] gave with this `scratch`.
    pub fn ends(&self, vocab: &Vocab, piece: &[u8], ids: &[u32], scratch: &Scratch, ends: &mut Vec<usize>) {
        match self {
            Self::Words(_) => ends.push(piece.len()),
            Self::WordPiece(pieces) => pieces.ends(vocab, piece, ids, ends),
            Self::Unigram(_) => ends.extend_from_slice(scratch.ends()),
        }
    }
}
