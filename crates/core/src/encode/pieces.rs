//! Encodes pieces with a memory: the ids of [`PieceEncoder::encode`], sooner.
//!
//! A known piece takes one lookup in the memory. The first new piece starts the learning of all waiting pieces together
//! ([`crate::encode::learn`]). A long piece is cut without a lookup, because long pieces hardly ever repeat, and their
//! stretches do.

use crate::Result;
use crate::encode::learn::{LearnBuffers, Learner};
use crate::fast::batch_merge::ByteMerges;
use crate::fast::byte_pairs::BytePairs;
use crate::fast::memory::{PieceKey, PieceLookup, PieceMemory, ReadyIds};
use crate::fast::windows::Windows;
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::slots::key::{STRETCH, Window};
use crate::slots::keyed::SlotTables;
use crate::slots::piece_walk::{PiecePart, PieceSink, PieceWalk};
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::threads::sessions::{MOST_BUFFERS, Reusable};

/// The pieces that a session remembers, and buffers.
#[derive(Debug, Default)]
pub struct FastSession {
    lookup: PieceLookup,
    /// A buffer for the ends that the splitter finds.
    pub ends: Option<Box<Ends>>,
    learning: Box<LearnBuffers>,
    windows: Option<Box<Windows>>,
}

impl FastSession {
    fn windows_bytes(&self) -> usize {
        self.windows.as_ref().map_or(0, |windows| windows.bytes())
    }
}

impl Reusable for FastSession {
    fn bytes(&self) -> usize {
        let ends = if self.ends.is_some() { size_of::<Ends>() } else { 0 };
        ends + self.lookup.bytes() + size_of::<LearnBuffers>() + self.windows_bytes()
    }

    fn shrink(&mut self) {
        if self.windows_bytes() > MOST_BUFFERS {
            self.windows = None;
        }
    }
}

/// Shorter pieces of ASCII are not cut, because they hardly ever have a safe cut; longer ones are, because merging them
/// whole would take much memory.
const CUT_ASCII: usize = 16 << 20;

/// The sink that appends the ids of pieces to `out`.
pub struct IdSink<'e> {
    encoder: &'e PieceEncoder,
    memory: &'e mut PieceMemory,
    scratch: &'e mut PieceScratch,
    ready: &'e mut ReadyIds,
    learning: &'e mut LearnBuffers,
    windows: &'e mut Option<Box<Windows>>,
    /// The end of the text that is already learned.
    learned: usize,
    stop: &'e Stop,
    out: &'e mut Vec<u32>,
}

impl<'e> IdSink<'e> {
    /// The walk over the pieces of a text that appends their ids to `out`.
    pub fn walk<'t>(
        encoder: &'e PieceEncoder,
        (scratch, session): (&'e mut PieceScratch, &'e mut FastSession),
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> PieceWalk<'e, 't, Self> {
        let FastSession { lookup: PieceLookup { memory, waiting, ready }, learning, windows, .. } = session;
        learning.begin_text(text.len());
        let sink = Self { encoder, memory, scratch, ready, learning, windows, learned: 0, stop, out };
        PieceWalk::new(text, sink, waiting, stop)
    }

    /// Drops the appended ids and returns their number.
    pub fn drop_ids(&mut self) -> u64 {
        let count = self.out.len() as u64;
        self.out.clear();
        count
    }
}

impl PieceSink for IdSink<'_> {
    #[inline(always)]
    fn tables(&self) -> SlotTables<'_> {
        self.memory.tables()
    }

    /// Appends the ids of parts that are in their slots, up to the first that is not.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize {
        self.ready.take_known(self.memory, window, parts, self.out)
    }

    #[inline(never)]
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()> {
        let part = parts[0];
        let (start, end) = (part.start, part.start + part.len as usize);
        let name = PieceKey::new(window, &part);
        let is_long = matches!(name, PieceKey::Long(_));
        if !is_long && (self.memory.recall(&name, self.out) || self.learn_waiting(window, parts, &name)) {
            return Ok(());
        }
        let is_piece = part.key[1] & STRETCH == 0;
        if is_piece
            && self.encoder.looks_up_whole()
            && let Some(id) = self.encoder.vocab().id(&window.text[start..end])
        {
            self.out.push(id);
            if !is_long {
                self.memory.learn(&name, &[id]);
            }
            return Ok(());
        }
        if is_long && self.memory.recall(&name, self.out) {
            return Ok(());
        }
        let before = self.out.len();
        self.merge_stretch(window, start, end)?;
        self.memory.learn(&name, &self.out[before..]);
        Ok(())
    }

    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        self.merge_stretch(window, start, end)
    }

    /// Splits a long piece into its stretches.
    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()> {
        let merger = walk.sink.encoder.merger();
        if merger.byte_pairs.is_none() {
            return walk.add_part(start, end, 0);
        }
        let piece = &walk.window.text[start..end];
        if piece.len() < CUT_ASCII && piece.is_ascii() {
            return walk.add_part(start, end, 0);
        }
        let safe_cuts = walk.sink.learning.safe_cuts(merger, &(start..end));
        let Some(safe_cuts) = safe_cuts else { return walk.add_part(start, end, 0) };
        let mut at = start;
        for cut in safe_cuts.cuts(walk.window.text, start, end) {
            walk.add_part(at, cut, STRETCH)?;
            at = cut;
        }
        walk.add_part(at, end, if at == start { 0 } else { STRETCH })
    }
}

impl IdSink<'_> {
    /// Learns all waiting parts, once, and appends the ids of the first; false if they are not known yet.
    fn learn_waiting(&mut self, window: &Window<'_>, parts: &[PiecePart], name: &PieceKey<'_>) -> bool {
        if parts[0].start < self.learned {
            return false;
        }
        let Some(mut learner) = Learner::new(self.encoder, window, self.memory, self.learning) else { return false };
        learner.learn(parts);
        self.learned = parts.last().map_or(0, |last| last.start + last.len as usize);
        self.memory.recall(name, self.out)
    }

    /// Merges a stretch and appends its ids.
    fn merge_stretch(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        let stretch = &window.text[start..end];
        if let Some(pairs) = &self.encoder.merger().byte_pairs
            && !is_mostly_runs(stretch)
            && self.merge_by_windows(stretch, pairs).map_err(|error| error.shift_offset(start))?
        {
            return Ok(());
        }
        let outcome = self.encoder.encode_stretch(stretch, self.stop, self.scratch, self.out);
        outcome.map_err(|error| error.shift_offset(start))
    }

    /// Merges a stretch of bytes window by window and appends its ids; false if that is not possible.
    fn merge_by_windows(&mut self, stretch: &[u8], pairs: &BytePairs) -> Result<bool> {
        let (merger, scratch, window) = (self.encoder.merger(), &mut self.scratch.merge, Window::new(stretch));
        let windows = self.windows.get_or_insert_default();
        let could = windows.merge(ByteMerges::new(merger.vocab(), pairs, &window), self.stop, |part, symbols| {
            merger.merge(part, self.stop, scratch)?;
            std::mem::swap(&mut scratch.symbols, symbols);
            Ok(())
        })?;
        if could {
            self.out.extend_from_slice(&windows.row.ids);
        }
        Ok(could)
    }
}

/// Whether most bytes equal the byte before. Windows hardly ever agree there: how a run merges depends on its start.
fn is_mostly_runs(piece: &[u8]) -> bool {
    let equal = piece.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * equal > piece.len()
}
