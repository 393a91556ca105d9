//! The kernel of byte-pair encoding: [`Merger`] chooses the way to merge a piece by its length.
//!
//! [`rule`](crate::merge::rule) rescans up to 64 symbols, and [`heap`](crate::merge::heap) merges longer pieces in n
//! log n.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
#[cfg(feature = "fast")]
use crate::fast::byte_pairs::BytePairs;
use crate::merge::heap::{Dropout, Heap, MergeLimits};
use crate::merge::rule::{RESCAN_LIMIT, Symbols, rescan};
use crate::merge::safe_cuts::SafeCuts;
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
#[cfg(feature = "fast")]
use crate::vocab::Unit;
use crate::vocab::{Merge, Vocab};

/// Buffers that are reused from piece to piece.
#[derive(Debug, Default)]
pub struct MergeScratch {
    /// The symbols of the piece, which become its ids.
    pub symbols: Symbols,
    pairs: Vec<Option<Merge>>,
    heap: Heap,
}

impl MergeScratch {
    /// The memory of the buffers in bytes.
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
    /// The pairs of bytes, if the unit is the byte.
    #[cfg(feature = "fast")]
    pub(crate) byte_pairs: Option<BytePairs>,
}

impl Merger {
    /// The merger of a vocabulary; if its unit is the character, characters without a token get the id `unknown`.
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

    /// The places where pieces can be cut without changing an id; `None` while another thread builds the table.
    #[inline]
    #[must_use]
    pub fn safe_cuts(&self) -> Option<&SafeCuts> {
        self.safe_cuts.get(|| SafeCuts::new(self.vocab.tokens().map(|(token, _)| token)))
    }

    /// The same, if an earlier call built it.
    #[inline]
    #[must_use]
    pub fn built_safe_cuts(&self) -> Option<&SafeCuts> {
        self.safe_cuts.peek()
    }

    /// The memory of the tables in bytes: those made at construction, and those made since.
    #[must_use]
    pub fn table_bytes(&self) -> (usize, usize) {
        let since = self.safe_cuts.peek().map_or(0, SafeCuts::bytes);
        let tables = self.vocab.bytes();
        #[cfg(feature = "fast")]
        let tables = tables + self.byte_pairs.as_ref().map_or(0, BytePairs::bytes);
        (tables, since)
    }

    /// Merges `piece` into `scratch.symbols`, without a lookup of the whole piece.
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

    /// The same with merges that can be skipped.
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
        scratch.heap.merge(&mut scratch.symbols, look, MergeLimits { least: 1, stop }, dropout)
    }
}
