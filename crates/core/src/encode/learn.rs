//! Learns the new pieces among the waiting ones as one batch.
//!
//! A new piece needs values from memory at unpredictable places, one after another. So the new pieces of a batch take
//! each step together: all look up their token; pieces that are not tokens are cut at safe cuts, and all stretches look
//! up their slot; the new stretches merge side by side ([`crate::fast::batch_merge`]). Afterwards all are in the memory
//! of pieces, and the walk continues as if they had been known.
//!
//! Nothing here appends an id. A piece that is not learned, such as a long one, is merged when the walk reaches it.

use std::ops::Range;

use crate::fast::batch_merge::{ByteMerges, LANES, MergeBatch};
use crate::fast::memory::{PieceKey, PieceMemory};
use crate::kinds::PieceEncoder;
use crate::kinds::bpe::Merger;
use crate::merge::safe_cuts::SafeCuts;
use crate::slots::key::{STRETCH, Window};
use crate::slots::piece_walk::{PiecePart, WAITING};
use crate::vocab::index::LookupKey;

/// A piece with fewer wide characters is merged as a whole: it hardly ever has a cut.
const WIDE: u32 = 3;

/// The tables of [`crate::merge::safe_cuts`] are built once more bytes than this were merged whole that might have been
/// cut, and these are more than one in [`RARE`] bytes of text. Where such pieces are few, the tables cost more than
/// they save. Chinese and Japanese have many: their pieces are long.
const MERGED_WHOLE: usize = 32 << 10;
const RARE: usize = 8;

/// A piece that was cut, and a bit for every byte that follows a cut.
type CutPiece = (PiecePart, u32);

/// Buffers that are reused from text to text.
#[derive(Debug, Default)]
pub struct LearnBuffers {
    batch: MergeBatch,
    merging: Vec<PiecePart>,
    /// The stretches of cut pieces.
    stretches: Vec<PiecePart>,
    cut: Vec<CutPiece>,
    /// The bytes of pieces that were merged whole but might have been cut.
    merged_whole: usize,
    /// The bytes of the texts before this one, and of this one.
    texts: [usize; 2],
    ids: Vec<u32>,
}

impl LearnBuffers {
    /// Begins a text of `len` bytes.
    pub fn begin_text(&mut self, len: usize) {
        self.texts = [self.texts.iter().sum(), len];
    }

    /// The safe cuts to use for a piece of the text; None to merge it whole.
    pub fn safe_cuts<'m>(&mut self, merger: &'m Merger, piece: &Range<usize>) -> Option<&'m SafeCuts> {
        let cuts = merger.built_safe_cuts();
        if cuts.is_some() {
            return cuts;
        }
        self.merged_whole += piece.len();
        let is_worth_it = self.merged_whole > MERGED_WHOLE.max((self.texts[0] + piece.start) / RARE);
        if is_worth_it { merger.safe_cuts() } else { None }
    }
}

/// The state of learning in one text.
pub struct Learner<'l> {
    encoder: &'l PieceEncoder,
    merges: ByteMerges<'l>,
    window: &'l Window<'l>,
    memory: &'l mut PieceMemory,
    buffers: &'l mut LearnBuffers,
}

impl<'l> Learner<'l> {
    /// The learner of a text; None if its ids do not come from merging bytes.
    pub fn new(
        encoder: &'l PieceEncoder,
        window: &'l Window<'l>,
        memory: &'l mut PieceMemory,
        buffers: &'l mut LearnBuffers,
    ) -> Option<Self> {
        let merges = ByteMerges::new(encoder.vocab(), encoder.merger().byte_pairs.as_ref()?, window);
        Some(Self { encoder, merges, window, memory, buffers })
    }

    /// Learns the new pieces among these parts, at most [`WAITING`].
    pub fn learn(&mut self, parts: &[PiecePart]) {
        let (mut new, mut count) = ([0u8; WAITING], 0);
        for (at, part) in parts.iter().enumerate() {
            new[count] = at as u8;
            count += usize::from(!self.memory.is_in_slot(self.window, part));
        }
        for batch in new[..count].chunks(LANES) {
            self.learn_some(batch.iter().map(|&at| &parts[usize::from(at)]));
        }
        let mut stretches = std::mem::take(&mut self.buffers.stretches);
        for part in stretches.drain(..) {
            if !self.memory.is_in_slot(self.window, &part) {
                self.add_to_batch(part);
            }
        }
        self.buffers.stretches = stretches;
        self.merge_batch();
        self.join_cut();
    }

    /// Learns the new parts that are tokens, and cuts the others or adds them to the batch.
    #[inline(always)]
    fn learn_some<'p>(&mut self, parts: impl Iterator<Item = &'p PiecePart> + Clone) {
        let lookup = self.merges.lookup();
        let mut sought = [(LookupKey::default(), false); LANES];
        for (part, sought) in parts.clone().zip(&mut sought) {
            *sought = lookup.prefetch(self.window, part.start, part.len as usize);
        }
        for (part, (sought, may_be)) in parts.zip(sought) {
            let is_piece = part.key[1] & STRETCH == 0;
            if is_piece && may_be && self.encoder.looks_up_whole() {
                let bytes = &self.window.text[part.start..][..part.len as usize];
                if let Some(token) = lookup.find_prefetched(sought, bytes) {
                    self.memory.learn(&PieceKey::new(self.window, part), &[token.id]);
                    continue;
                }
            }
            if !(is_piece && self.cut_piece(part)) {
                self.add_to_batch(*part);
            }
        }
    }

    /// Cuts a piece and returns whether it has cuts.
    fn cut_piece(&mut self, part: &PiecePart) -> bool {
        if self.window.wide_characters(part) < WIDE {
            return false;
        }
        let (start, end) = (part.start, part.start + part.len as usize);
        let safe_cuts = self.buffers.safe_cuts(self.encoder.merger(), &(start..end));
        let Some(safe_cuts) = safe_cuts else { return false };
        let (mut from, mut cuts) = (start, 0u32);
        for cut in safe_cuts.cuts(self.window.text, start, end) {
            self.buffers.stretches.push(self.window.part(self.memory.tables(), from, cut - from, STRETCH));
            cuts |= 1 << (cut - start);
            from = cut;
        }
        if cuts != 0 {
            self.buffers.stretches.push(self.window.part(self.memory.tables(), from, end - from, STRETCH));
            self.buffers.cut.push((*part, cuts));
        }
        cuts != 0
    }

    /// Adds a part to the batch, unless it is known after all.
    fn add_to_batch(&mut self, part: PiecePart) {
        if !self.memory.contains(&PieceKey::new(self.window, &part)) {
            self.buffers.merging.push(part);
            if self.buffers.merging.len() == LANES {
                self.merge_batch();
            }
        }
    }

    fn merge_batch(&mut self) {
        let LearnBuffers { batch, merging, ids, .. } = &mut *self.buffers;
        batch.merge(self.merges, merging);
        for (place, part) in merging.drain(..).enumerate() {
            ids.clear();
            ids.extend(batch.ids(place));
            self.memory.learn(&PieceKey::new(self.window, &part), ids);
        }
    }

    /// Learns the cut pieces, whose stretches are now known.
    fn join_cut(&mut self) {
        let LearnBuffers { cut, ids, .. } = &mut *self.buffers;
        for (part, mut cuts) in cut.drain(..) {
            ids.clear();
            let (mut from, end) = (part.start, part.start + part.len as usize);
            let mut known = true;
            while from < end {
                let cut = if cuts == 0 { end } else { part.start + cuts.trailing_zeros() as usize };
                cuts &= cuts.wrapping_sub(1);
                known &= self.memory.recall(&PieceKey::new(self.window, &self.window.stretch(from, cut)), ids);
                from = cut;
            }
            if known {
                self.memory.learn(&PieceKey::new(self.window, &part), ids);
            }
        }
    }
}
