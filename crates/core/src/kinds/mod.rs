//! The kinds of tokenizers. Each is a kernel with one job: the ids of a piece.
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

/// How a piece becomes ids.
#[derive(Debug)]
pub enum Kernel {
    /// Symbols merge; characters without a token have this id.
    Merge(Option<u32>),
    /// A piece is a token or becomes this id; without such an id, a piece that is not a token is an error.
    Words(Option<u32>),
    /// The longest token wins, from left to right.
    WordPiece(WordPiece),
    /// The tokens with the highest sum of scores.
    Unigram(Box<Unigram>),
}

/// Buffers that are kept from piece to piece.
#[derive(Debug, Default)]
pub struct PieceScratch {
    /// Those of merging, which leaves its ids there.
    pub merge: MergeScratch,
    unigram: unigram::BestPaths,
}

impl PieceScratch {
    /// The memory of the buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.merge.bytes() + self.unigram.bytes()
    }
}

/// How an encoding is drawn.
///
/// Sources: Provilkov et al., ACL 2020 (dropout); Kudo, ACL 2018 (scores).
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// The seed, which decides everything that is drawn.
    pub seed: u64,
    /// How likely a merge is skipped each time, from 0 to 1.
    pub dropout: f64,
    /// The factor of the sums of scores: with 0 every way is as likely as another, with a high number the best way is.
    pub alpha: f64,
}

/// What calls of one encoding draw with.
#[derive(Debug)]
pub struct Drawing<'d> {
    /// How they draw.
    pub sampling: Sampling,
    /// The numbers.
    pub draws: &'d mut Draws,
}

/// Pieces to ids, each on its own and without a memory.
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

    /// The encoder of a vocabulary whose symbols merge, or whose pieces are tokens if its unit is pieces.
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

    /// What merges the pieces of [`Kernel::Merge`].
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

    /// The memory of the tables that were made with it, and of those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let kernel = match &self.kernel {
            Kernel::Merge(_) | Kernel::Words(_) => 0,
            Kernel::WordPiece(pieces) => pieces.bytes(),
            Kernel::Unigram(unigram) => unigram.bytes(),
        };
        let (made, since) = self.merger.table_bytes();
        (made + kernel, since + self.widths.made().map_or(0, Widths::bytes))
    }

    /// The lengths of all tokens, for looking up many; `None` while another thread makes them.
    #[inline]
    #[must_use]
    pub fn widths(&self) -> Option<&Widths> {
        self.widths.get(|| Widths::new(self.vocab()))
    }

    /// Whether the ids of a piece alone do not say how many of its bytes each covers.
    #[must_use]
    pub fn hides_widths(&self) -> bool {
        !matches!(self.kernel, Kernel::Merge(None) | Kernel::Words(None))
    }

    /// Whether a piece that is a token always becomes that token.
    #[inline]
    #[must_use]
    pub fn looks_up(&self) -> bool {
        self.vocab().whole_piece() || matches!(self.kernel, Kernel::Words(_))
    }

    /// The id of a piece that is a token as a whole.
    fn whole(&self, piece: &[u8]) -> Option<u32> {
        if self.looks_up() { self.vocab().id(piece) } else { None }
    }

    /// Appends the ids of `piece` to `out`, merge after merge: the slow twin of [`crate::encode::pieces`].
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] (with an offset inside the piece) for a character or piece without a token;
    /// [`Error::Option`] for a piece of 4 GiB that has to be merged as a whole; [`Error::Interrupted`].
    pub fn encode(&self, piece: &[u8], stop: &Stop, scratch: &mut PieceScratch, out: &mut Vec<u32>) -> Result<()> {
        if let Some(id) = self.whole(piece) {
            out.push(id);
            return Ok(());
        }
        self.encode_stretch(piece, stop, scratch, out)
    }

    /// Appends the ids of a piece that is not looked up as a whole.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
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

    /// The same as [`Self::encode`] where [`Self::hides_widths`]; appends to `ends` where in the piece each id ends.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn encode_with_ends(
        &self,
        piece: &[u8],
        stop: &Stop,
        scratch: &mut PieceScratch,
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        if let Some(id) = self.whole(piece) {
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

    /// Appends the ids of an encoding of a piece that is drawn. `WordPiece` and whole words have one encoding only, and
    /// merging looks up no piece as a whole.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
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
