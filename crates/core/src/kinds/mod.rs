//! The kinds of tokenizers: each is a kernel that turns a piece into ids.
//!
//! Reading order: this file. [`PieceEncoder`] picks the kernel once, when it is made. Byte-pair encoding merges
//! ([`bpe`]); the other kinds cover a piece with tokens: [`wordpiece`] takes the longest token, [`unigram`]
//! the tokens with the highest sum of scores, and [`Kernel::Words`] the piece as a whole. [`hf_characters`] makes the
//! symbols of HF's byte-pair encoding on characters. [`sentencepiece`] encodes whole texts, because a text is one piece
//! there.
//!
//! Left out: which pieces a text has ([`crate::split`]), and the memory of pieces ([`crate::encode::pieces`]).

pub mod best_paths;
pub mod bpe;
pub mod hf_characters;
pub mod sentencepiece;
pub mod unigram;
pub mod wordpiece;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kinds::bpe::{MergeScratch, Merger};
use crate::kinds::unigram::Unigram;
use crate::kinds::wordpiece::WordPiece;
use crate::merge::draws::Draws;
use crate::merge::heap::Dropout;
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
use crate::vocab::widths::Widths;
use crate::vocab::{Unit, Vocab};

/// The way a piece becomes ids.
#[derive(Debug)]
pub enum Kernel {
    /// Symbols merge; characters without a token get this id.
    Merge(Option<u32>),
    /// A piece is a token or becomes this id; without such an id, a piece that is not a token is an error.
    Words(Option<u32>),
    /// The longest token wins, from left to right.
    WordPiece(WordPiece),
    /// The tokens with the highest sum of scores.
    Unigram(Box<Unigram>),
}

/// Buffers that are reused from piece to piece.
#[derive(Debug, Default)]
pub struct PieceScratch {
    /// The buffers of merging, which hold its ids afterwards.
    pub merge: MergeScratch,
    unigram: unigram::UnigramScratch,
}

impl PieceScratch {
    /// The memory of the buffers in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.merge.bytes() + self.unigram.bytes()
    }
}

/// The options of sampling an encoding.
///
/// Sources: Provilkov et al., ACL 2020 (dropout); Kudo, ACL 2018 (scores).
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// The seed of all draws.
    pub seed: u64,
    /// The probability that a merge is skipped, from 0 to 1.
    pub dropout: f64,
    /// The factor of the sums of scores: 0 makes all paths equally likely, a high number favours the best path.
    pub alpha: f64,
}

/// The sampling state of one encoding.
#[derive(Debug)]
pub struct Drawing<'d> {
    /// The options.
    pub sampling: Sampling,
    /// The random numbers.
    pub draws: &'d mut Draws,
}

/// Encodes pieces one by one, without a memory.
#[derive(Debug)]
pub struct PieceEncoder {
    merger: Merger,
    kernel: Kernel,
    widths: Once<Widths>,
}

impl PieceEncoder {
    /// The encoder of a vocabulary.
    #[must_use]
    pub fn new(vocab: Arc<Vocab>, kernel: Kernel) -> Self {
        let unknown = if let Kernel::Merge(unknown) = kernel { unknown } else { None };
        Self { merger: Merger::new(vocab, unknown), kernel, widths: Once::default() }
    }

    /// The encoder of a vocabulary whose symbols merge, or whose pieces are tokens if its unit is the piece.
    #[must_use]
    pub fn plain(vocab: Arc<Vocab>) -> Self {
        let kernel = if vocab.unit() == Unit::Piece { Kernel::Words(None) } else { Kernel::Merge(None) };
        Self::new(vocab, kernel)
    }

    /// The vocabulary.
    #[inline]
    #[must_use]
    pub fn vocab(&self) -> &Arc<Vocab> {
        self.merger.vocab()
    }

    /// The merger of [`Kernel::Merge`].
    #[inline]
    #[must_use]
    pub fn merger(&self) -> &Merger {
        &self.merger
    }

    /// The lattice of [`Kernel::Unigram`].
    #[must_use]
    pub fn unigram(&self) -> Option<&Unigram> {
        if let Kernel::Unigram(unigram) = &self.kernel { Some(unigram) } else { None }
    }

    /// The memory of the tables in bytes: those made at construction, and those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let kernel = match &self.kernel {
            Kernel::Merge(_) | Kernel::Words(_) => 0,
            Kernel::WordPiece(pieces) => pieces.bytes(),
            Kernel::Unigram(unigram) => unigram.bytes(),
        };
        let (tables, since) = self.merger.table_bytes();
        (tables + kernel, since + self.widths.peek().map_or(0, Widths::bytes))
    }

    /// The lengths of all tokens, for many lookups; `None` while another thread builds them.
    #[inline]
    #[must_use]
    pub fn widths(&self) -> Option<&Widths> {
        self.widths.get(|| Widths::new(self.vocab()))
    }

    /// Whether the ids of a piece alone do not determine the bytes that each covers.
    #[must_use]
    pub fn hides_widths(&self) -> bool {
        !matches!(self.kernel, Kernel::Merge(None) | Kernel::Words(None))
    }

    /// Whether a piece that is a token always becomes that token.
    #[inline]
    #[must_use]
    pub fn looks_up_whole(&self) -> bool {
        self.vocab().whole_piece() || matches!(self.kernel, Kernel::Words(_))
    }

    /// The id of a piece that is a token as a whole.
    fn whole_id(&self, piece: &[u8]) -> Option<u32> {
        if self.looks_up_whole() { self.vocab().id(piece) } else { None }
    }

    /// Appends the ids of `piece` to `out` by the rule: the slow twin of [`crate::encode::pieces`].
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] (with an offset inside the piece) for a character or piece without a token;
    /// [`Error::Option`] for a piece of 4 GiB that must be merged as a whole; [`Error::Interrupted`].
    pub fn encode(&self, piece: &[u8], stop: &Stop, scratch: &mut PieceScratch, out: &mut Vec<u32>) -> Result<()> {
        if let Some(id) = self.whole_id(piece) {
            out.push(id);
            return Ok(());
        }
        self.encode_stretch(piece, stop, scratch, out)
    }

    /// Appends the ids of a piece without a lookup of the whole piece.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_stretch(
        &self,
        piece: &[u8],
        stop: &Stop,
        scratch: &mut PieceScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let missing = || Error::NotInVocabulary { content: piece.to_vec(), offset: 0 };
        match &self.kernel {
            Kernel::Merge(_) => {
                self.merger.merge(piece, stop, &mut scratch.merge)?;
                out.extend_from_slice(&scratch.merge.symbols.ids);
            }
            Kernel::Words(unknown) => out.push(unknown.ok_or_else(missing)?),
            Kernel::WordPiece(pieces) => pieces.encode(piece, out)?,
            Kernel::Unigram(_) if std::str::from_utf8(piece).is_err() => return Err(missing()),
            Kernel::Unigram(unigram) => unigram.encode(piece, stop, &mut scratch.unigram, out)?,
        }
        Ok(())
    }

    /// The same as [`Self::encode`] if [`Self::hides_widths`]; appends the end of each id in the piece to `ends`.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_with_ends(
        &self,
        piece: &[u8],
        stop: &Stop,
        scratch: &mut PieceScratch,
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        if let Some(id) = self.whole_id(piece) {
            out.push(id);
            ends.push(piece.len());
            return Ok(());
        }
        let before = out.len();
        self.encode(piece, stop, scratch, out)?;
        match &self.kernel {
            Kernel::Merge(_) => {
                ends.extend(scratch.merge.symbols.starts[1..].iter().map(|&end| end as usize));
            }
            Kernel::Words(_) => ends.push(piece.len()),
            Kernel::WordPiece(pieces) => pieces.ends(self.vocab(), piece, &out[before..], ends),
            Kernel::Unigram(_) => ends.extend_from_slice(scratch.unigram.ends()),
        }
        Ok(())
    }

    /// Appends the ids of a sampled encoding of a piece. `WordPiece` and whole words have only one encoding, and
    /// merging never looks up a whole piece.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(
        &self,
        piece: &[u8],
        drawing: &mut Drawing<'_>,
        stop: &Stop,
        scratch: &mut PieceScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        match &self.kernel {
            Kernel::Merge(unknown) => {
                scratch.merge.symbols.start(self.vocab(), *unknown, piece)?;
                let dropout = Dropout { share: drawing.sampling.dropout, draws: drawing.draws };
                self.merger.merge_dropping(piece, dropout, stop, &mut scratch.merge)?;
                out.extend_from_slice(&scratch.merge.symbols.ids);
                Ok(())
            }
            Kernel::Unigram(unigram) => unigram.sample(piece, drawing.sampling.alpha, drawing.draws, stop, out),
            Kernel::Words(_) | Kernel::WordPiece(_) => self.encode(piece, stop, scratch, out),
        }
    }
}
