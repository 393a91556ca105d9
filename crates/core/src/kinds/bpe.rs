//! The kernel of byte-pair encoding: [`Merger`] chooses how a piece is merged, by its length.
//!
//! [`rule`](crate::merge::rule) rescans up to 64 symbols, and [`heap`](crate::merge::heap) merges longer pieces in n log n.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
#[cfg(feature = "fast")]
use crate::fast::byte_pairs::BytePairs;
use crate::merge::heap::{Dropout, Heap, Until};
use crate::merge::rule::{RESCAN_LIMIT, Symbols, rescan};
use crate::merge::safe_cuts::SafeCuts;
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
#[cfg(feature = "fast")]
use crate::vocab::Unit;
use crate::vocab::{Merge, Vocab};

/// Buffers that are kept from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    /// The symbols of the piece, and its ids when all is merged.
    pub symbols: Symbols,
    pairs: Vec<Option<Merge>>,
    heap: Heap,
}

impl MergeScratch {
    /// The memory of the buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let pairs = self.pairs.capacity() * size_of::<Option<Merge>>();
        self.symbols.bytes() + pairs + self.heap.bytes()
    }
}

/// A vocabulary whose symbols merge.
#[derive(Debug)]
pub struct Merger {
    vocab: Arc<Vocab>,
    /// The id of characters without a token.
    unknown: Option<u32>,
    safe_cuts: Once<SafeCuts>,
    /// The pairs of bytes, if the unit is bytes.
    #[cfg(feature = "fast")]
    pub(crate) byte_pairs: Option<BytePairs>,
}

impl Merger {
    /// The merger of a vocabulary; where its unit is characters, those without a token have the id `unknown`.
    #[must_use]
    pub fn new(vocab: Arc<Vocab>, unknown: Option<u32>) -> Self {
        Self {
            #[cfg(feature = "fast")]
            byte_pairs: (vocab.unit() == Unit::Byte).then(|| BytePairs::new(&vocab)),
            vocab,
            unknown,
            safe_cuts: Once::default(),
        }
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
        let made = self.vocab.bytes();
        #[cfg(feature = "fast")]
        let made = made + self.byte_pairs.as_ref().map_or(0, BytePairs::bytes);
        (made, since)
    }

    /// Merges `piece` into `scratch.symbols`; no piece is looked up as a whole.
    ///
    /// # Errors
    /// [`crate::Error::NotInVocabulary`] (with an offset inside the piece) for a character or piece without a token;
    /// [`crate::Error::Option`] for a piece of 4 GiB; [`crate::Error::Interrupted`].
    pub fn merge(&self, piece: &[u8], stop: &Stop, scratch: &mut MergeScratch) -> Result<()> {
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
        let look = |[left, right]: [u32; 2], range: Range<usize>| {
            #[cfg(feature = "fast")]
            if let (&[first, second], Some(pairs)) = (&piece[range.clone()], &self.byte_pairs) {
                return pairs.pair(first, second).merge();
            }
            self.vocab.merge(left, right, &piece[range])
        };
        scratch.heap.merge(&mut scratch.symbols, look, Until { least: 1, stop }, dropout)
    }
}
