//! Learning new pieces, all that wait at once.
//!
//! What a new piece needs from memory, it needs at places that nobody can foresee, one after another. So the new pieces
//! among those that wait take each step together: all ask for their token; those that are none are cut where no merge can
//! cross, and all stretches ask for their slot; those that are new merge side by side ([`crate::fast::together`]). In the
//! end all are in the memory of pieces, and the walk goes on as if they had come before.
//!
//! Nothing here appends an id. What is not learned, such as a long piece, is merged when its turn comes.

use std::ops::Range;

use crate::fast::memory::{Memory, PieceName};
use crate::fast::together::{ByteMerges, LANES, Together};
use crate::kinds::PieceEncoder;
use crate::kinds::bpe::Merger;
use crate::merge::safe_cuts::SafeCuts;
use crate::slots::key::{STRETCH, Window};
use crate::slots::piece_walk::{PiecePart, WAITING};
use crate::vocab::index::Sought;

/// A piece with fewer wide characters is merged as a whole: it is hardly ever cut.
const WIDE: u32 = 3;

/// The tables of [`crate::merge::safe_cuts`] are made when more bytes than this were merged as wholes that could have been
/// cut, and these are more than one in [`RARE`] bytes of text. Where few such pieces come, the tables cost more than they
/// save. Chinese and Japanese have many: their pieces are long.
const MERGED_WHOLE: usize = 32 << 10;
const RARE: usize = 8;

/// A piece that was cut, and a bit for every byte that a cut comes before.
type CutPiece = (PiecePart, u32);

/// Buffers that are kept from text to text.
#[derive(Debug, Default)]
pub struct Learning {
    together: Together,
    /// Parts that will merge.
    merging: Vec<PiecePart>,
    /// Stretches of pieces that were cut.
    stretches: Vec<PiecePart>,
    cut: Vec<CutPiece>,
    /// How many bytes of pieces were merged as wholes that could have been cut.
    merged_whole: usize,
    /// The bytes of the texts before this one, and of this one.
    texts: [usize; 2],
    ids: Vec<u32>,
}

impl Learning {
    /// Begins a text of so many bytes.
    pub fn begin(&mut self, len: usize) {
        self.texts = [self.texts.iter().sum(), len];
    }

    /// Where to cut a piece of the text that might be cut; None if it is to be merged as a whole.
    pub fn safe_cuts<'m>(&mut self, merger: &'m Merger, piece: &Range<usize>) -> Option<&'m SafeCuts> {
        let made = merger.made_safe_cuts();
        if made.is_some() {
            return made;
        }
        self.merged_whole += piece.len();
        let is_worth_it = self.merged_whole > MERGED_WHOLE.max((self.texts[0] + piece.start) / RARE);
        if is_worth_it { merger.safe_cuts() } else { None }
    }
}

/// What learning works with in one text.
pub struct Learner<'l> {
    encoder: &'l PieceEncoder,
    merges: ByteMerges<'l>,
    window: &'l Window<'l>,
    memory: &'l mut Memory,
    kept: &'l mut Learning,
}

impl<'l> Learner<'l> {
    /// What learns pieces of a text; None if their ids do not come from merging bytes.
    pub fn new(
        encoder: &'l PieceEncoder,
        window: &'l Window<'l>,
        memory: &'l mut Memory,
        kept: &'l mut Learning,
    ) -> Option<Self> {
        let merges = ByteMerges::new(encoder.vocab(), encoder.merger().byte_pairs.as_ref()?, window);
        Some(Self { encoder, merges, window, memory, kept })
    }

    /// Learns the new ones of these parts, at most [`WAITING`].
    pub fn learn(&mut self, parts: &[PiecePart]) {
        let (mut new, mut count) = ([0u8; WAITING], 0);
        for (at, part) in parts.iter().enumerate() {
            new[count] = at as u8;
            count += usize::from(!self.memory.has(self.window, part));
        }
        for some in new[..count].chunks(LANES) {
            self.learn_some(some.iter().map(|&at| &parts[usize::from(at)]));
        }
        let mut stretches = std::mem::take(&mut self.kept.stretches);
        for part in stretches.drain(..) {
            if !self.memory.has(self.window, &part) {
                self.merge_new(part);
            }
        }
        self.kept.stretches = stretches;
        self.merge();
        self.join_cut();
    }

    /// Learns those of some new parts that are tokens, and cuts the others or lets them merge.
    #[inline(always)]
    fn learn_some<'p>(&mut self, parts: impl Iterator<Item = &'p PiecePart> + Clone) {
        let lookup = self.merges.lookup();
        let mut sought = [(Sought::default(), false); LANES];
        for (part, sought) in parts.clone().zip(&mut sought) {
            *sought = lookup.seek(self.window, part.start, part.len as usize);
        }
        for (part, (sought, may_be)) in parts.zip(sought) {
            let is_piece = part.key[1] & STRETCH == 0;
            if is_piece && may_be && self.encoder.looks_up() {
                let bytes = &self.window.text[part.start..][..part.len as usize];
                if let Some(token) = lookup.found(sought, bytes) {
                    self.memory.learn(&PieceName::of(self.window, part), &[token.id]);
                    continue;
                }
            }
            if !(is_piece && self.cut(part)) {
                self.merge_new(*part);
            }
        }
    }

    /// Cuts a piece, and says whether that was possible.
    fn cut(&mut self, part: &PiecePart) -> bool {
        if self.window.wide_characters(part) < WIDE {
            return false;
        }
        let (start, end) = (part.start, part.start + part.len as usize);
        let safe_cuts = self.kept.safe_cuts(self.encoder.merger(), &(start..end));
        let Some(safe_cuts) = safe_cuts else { return false };
        let (mut from, mut cuts) = (start, 0u32);
        for cut in safe_cuts.cuts(self.window.text, start, end) {
            self.kept.stretches.push(self.window.part(self.memory.tables(), from, cut - from, STRETCH));
            cuts |= 1 << (cut - start);
            from = cut;
        }
        if cuts != 0 {
            self.kept.stretches.push(self.window.part(self.memory.tables(), from, end - from, STRETCH));
            self.kept.cut.push((*part, cuts));
        }
        cuts != 0
    }

    /// Lets a part merge, if it is not known after all.
    fn merge_new(&mut self, part: PiecePart) {
        if !self.memory.knows(&PieceName::of(self.window, &part)) {
            self.kept.merging.push(part);
            if self.kept.merging.len() == LANES {
                self.merge();
            }
        }
    }

    /// Merges the batch that waits.
    fn merge(&mut self) {
        let Learning { together, merging, ids, .. } = &mut *self.kept;
        together.merge(self.merges, merging);
        for (place, part) in merging.drain(..).enumerate() {
            ids.clear();
            ids.extend(together.ids(place));
            self.memory.learn(&PieceName::of(self.window, &part), ids);
        }
    }

    /// Learns pieces that were cut, whose stretches are known by now.
    fn join_cut(&mut self) {
        let Learning { cut, ids, .. } = &mut *self.kept;
        for (part, mut cuts) in cut.drain(..) {
            ids.clear();
            let (mut from, end) = (part.start, part.start + part.len as usize);
            let mut known = true;
            while from < end {
                let cut = if cuts == 0 { end } else { part.start + cuts.trailing_zeros() as usize };
                cuts &= cuts.wrapping_sub(1);
                known &= self.memory.recall(&PieceName::of(self.window, &self.window.stretch(from, cut)), ids);
                from = cut;
            }
            if known {
                self.memory.learn(&PieceName::of(self.window, &part), ids);
            }
        }
    }
}
