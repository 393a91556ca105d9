//! The kernel of byte-pair encoding: [`Merger`] chooses how a piece is merged, by its length.
//!
//! [`rule`](crate::merge::rule) rescans up to 64 symbols, [`heap`](crate::merge::heap) merges longer pieces in n log n,
//! and [`windows`](crate::fast::windows) long pieces of bytes part by part.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::fast::byte_pairs::BytePairs;
use crate::fast::safe_cuts::SafeCuts;
use crate::fast::together::ByteMerges;
use crate::fast::windows::Windows;
use crate::merge::heap::{Dropout, Heap, Until};
use crate::merge::rule::{RESCAN_LIMIT, Symbols, rescan};
use crate::slots::key::Window;
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
use crate::vocab::{Merge, Unit, Vocab};

/// Buffers that are kept from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    /// The symbols of the piece, and its ids when all is merged.
    pub symbols: Symbols,
    pairs: Vec<Option<Merge>>,
    heap: Heap,
    windows: Option<Box<Windows>>,
}

impl MergeScratch {
    /// The memory of the buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pairs = self.pairs.capacity() * size_of::<Option<Merge>>();
        let windows = self.windows.as_ref().map_or(0, |windows| windows.bytes());
        self.symbols.bytes() + pairs + self.heap.bytes() + windows
    }
}

/// A vocabulary with the tables that speed up merging its pieces. A table is made when a piece needs it.
#[derive(Debug)]
pub struct Merger {
    vocab: Arc<Vocab>,
    /// The id of characters without a token.
    unknown: Option<u32>,
    byte_pairs: Option<BytePairs>,
    safe_cuts: Once<SafeCuts>,
}

impl Merger {
    /// The merger of a vocabulary; where its unit is characters, those without a token have the id `unknown`.
    #[must_use]
    pub fn new(vocab: Arc<Vocab>, unknown: Option<u32>) -> Self {
        let byte_pairs = (vocab.unit() == Unit::Byte).then(|| BytePairs::new(&vocab));
        Self { vocab, unknown, byte_pairs, safe_cuts: Once::default() }
    }

    /// The vocabulary.
    #[inline]
    #[must_use]
    pub fn vocab(&self) -> &Arc<Vocab> {
        &self.vocab
    }

    /// The id of characters without a token.
    #[must_use]
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// The merges of single bytes, if the unit is bytes.
    #[inline]
    #[must_use]
    pub fn byte_pairs(&self) -> Option<&BytePairs> {
        self.byte_pairs.as_ref()
    }

    /// Where pieces may be cut without changing an id; `None` while another thread finds it out.
    #[inline]
    #[must_use]
    pub fn safe_cuts(&self) -> Option<&SafeCuts> {
        self.safe_cuts.get(|| SafeCuts::new(self.vocab.tokens().map(|(token, _)| token)))
    }

    /// The same, if an earlier call made it.
    #[inline]
    #[must_use]
    pub fn made_safe_cuts(&self) -> Option<&SafeCuts> {
        self.safe_cuts.made()
    }

    /// The memory of the tables that were made with it, and of those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let since = self.safe_cuts.made().map_or(0, SafeCuts::bytes);
        (self.vocab.bytes() + self.byte_pairs.as_ref().map_or(0, BytePairs::bytes), since)
    }

    /// Merges `piece` into `scratch.symbols.ids`; no piece is looked up as a whole. The starts of the symbols are not kept.
    ///
    /// # Errors
    /// [`crate::Error::NotInVocabulary`] (with an offset inside the piece) for a character or piece without a token;
    /// [`crate::Error::Option`] for a piece of 4 GiB; [`crate::Error::Interrupted`].
    pub fn merge(&self, piece: &[u8], stop: &Stop, scratch: &mut MergeScratch) -> Result<()> {
        if !is_mostly_runs(piece) && self.merge_by_windows(piece, stop, scratch)? {
            return Ok(());
        }
        self.merge_slowly(piece, stop, scratch)
    }

    /// Merges a long piece of bytes part by part, and says whether that was possible.
    ///
    /// # Errors
    /// Those of [`Self::merge`].
    pub fn merge_by_windows(&self, piece: &[u8], stop: &Stop, scratch: &mut MergeScratch) -> Result<bool> {
        let Some(pairs) = &self.byte_pairs else { return Ok(false) };
        let window = Window::new(piece);
        let mut windows = scratch.windows.take().unwrap_or_default();
        let could = windows.merge(ByteMerges::new(&self.vocab, pairs, &window), stop, |part, symbols| {
            self.merge_slowly(part, stop, scratch)?;
            std::mem::swap(&mut scratch.symbols, symbols);
            Ok(())
        });
        std::mem::swap(&mut scratch.symbols, &mut windows.row);
        scratch.windows = Some(windows);
        could
    }

    /// The slow twin of [`Self::merge`], merge after merge, which keeps the starts.
    ///
    /// # Errors
    /// Those of [`Self::merge`].
    pub fn merge_slowly(&self, piece: &[u8], stop: &Stop, scratch: &mut MergeScratch) -> Result<()> {
        scratch.symbols.start(&self.vocab, self.unknown, piece)?;
        self.merge_symbols(piece, stop, scratch)
    }

    /// Merges the symbols of `piece` that are in `scratch` already.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub fn merge_symbols(&self, piece: &[u8], stop: &Stop, scratch: &mut MergeScratch) -> Result<()> {
        if scratch.symbols.ids.len() <= RESCAN_LIMIT {
            rescan(&self.vocab, piece, &mut scratch.symbols, &mut scratch.pairs, 1);
            return Ok(());
        }
        self.merge_with_heap(piece, stop, scratch, None)
    }

    /// The same, with merges that may be skipped.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub fn merge_dropping(
        &self,
        piece: &[u8],
        dropout: Dropout<'_>,
        stop: &Stop,
        scratch: &mut MergeScratch,
    ) -> Result<()> {
        self.merge_with_heap(piece, stop, scratch, Some(dropout))
    }

    fn merge_with_heap(
        &self,
        piece: &[u8],
        stop: &Stop,
        scratch: &mut MergeScratch,
        dropout: Option<Dropout<'_>>,
    ) -> Result<()> {
        let look = |[left, right]: [u32; 2], range: Range<usize>| match (&piece[range], &self.byte_pairs) {
            (&[first, second], Some(pairs)) => pairs.pair(first, second).merge(),
            (joined, _) => self.vocab.merge(left, right, joined),
        };
        scratch.heap.merge(&mut scratch.symbols, look, Until { least: 1, stop }, dropout)
    }
}

/// Whether most bytes are equal to the one before. Windows hardly ever agree there: how a run merges depends on its start.
fn is_mostly_runs(piece: &[u8]) -> bool {
    let equal = piece.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * equal > piece.len()
}
