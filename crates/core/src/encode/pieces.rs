//! Pieces to ids, with a memory: what [`PieceEncoder::encode`] gives, faster.
//!
//! For a piece that came before, one look into the memory is enough. The first new piece makes all that wait be learned
//! together ([`crate::encode::learn`]). A long piece is cut without a look into the memory, because long pieces hardly ever
//! come again, and their stretches do.

use crate::Result;
use crate::encode::learn::{Learner, Learning};
use crate::fast::byte_pairs::BytePairs;
use crate::fast::memory::{Memory, PieceName, ReadyIds, Remembered};
use crate::fast::together::ByteMerges;
use crate::fast::windows::Windows;
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::slots::key::{STRETCH, Window};
use crate::slots::keyed::SlotTables;
use crate::slots::piece_walk::{PiecePart, PieceSink, PieceWalk};
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::threads::sessions::{MOST_BUFFERS, Worth};

/// What a session keeps of the pieces that came so far, and buffers.
#[derive(Debug, Default)]
pub struct FastSession {
    remembered: Remembered,
    /// A buffer for what the splitter finds.
    pub ends: Option<Box<Ends>>,
    learning: Box<Learning>,
    windows: Option<Box<Windows>>,
}

impl FastSession {
    fn windows_bytes(&self) -> usize {
        self.windows.as_ref().map_or(0, |windows| windows.bytes())
    }
}

impl Worth for FastSession {
    fn bytes(&self) -> usize {
        let ends = if self.ends.is_some() { size_of::<Ends>() } else { 0 };
        ends + self.remembered.bytes() + size_of::<Learning>() + self.windows_bytes()
    }

    fn shrink(&mut self) {
        if self.windows_bytes() > MOST_BUFFERS {
            self.windows = None;
        }
    }
}

/// Shorter pieces of ASCII are not cut, because there is hardly ever a place; longer ones are, because merging them as wholes
/// would take much memory.
const CUT_ASCII: usize = 16 << 20;

/// The sink that appends the ids of pieces to `out`.
pub struct PieceIds<'e> {
    encoder: &'e PieceEncoder,
    memory: &'e mut Memory,
    scratch: &'e mut PieceScratch,
    ready: &'e mut ReadyIds,
    learning: &'e mut Learning,
    windows: &'e mut Option<Box<Windows>>,
    /// As far as the text is learned ahead.
    learned: usize,
    stop: &'e Stop,
    out: &'e mut Vec<u32>,
}

impl<'e> PieceIds<'e> {
    /// The walk over the pieces of a text that appends their ids to `out`.
    pub fn walk<'t>(
        encoder: &'e PieceEncoder,
        (scratch, session): (&'e mut PieceScratch, &'e mut FastSession),
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> PieceWalk<'e, 't, Self> {
        let FastSession { remembered: Remembered { memory, waiting, ready }, learning, windows, .. } = session;
        learning.begin(text.len());
        let sink = Self { encoder, memory, scratch, ready, learning, windows, learned: 0, stop, out };
        PieceWalk::new(text, sink, waiting, stop)
    }

    /// Takes the ids away that were appended, and says how many.
    pub fn drop_ids(&mut self) -> u64 {
        let count = self.out.len() as u64;
        self.out.clear();
        count
    }
}

impl PieceSink for PieceIds<'_> {
    #[inline(always)]
    fn tables(&self) -> impl SlotTables {
        self.memory.tables()
    }

    /// Appends the ids of parts that are in their slots.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize {
        self.ready.take_known(self.memory, window, parts, self.out)
    }

    #[inline(never)]
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()> {
        let part = parts[0];
        let (start, end) = (part.start, part.start + part.len as usize);
        let name = PieceName::of(window, &part);
        let is_long = matches!(name, PieceName::Long(_));
        if !is_long && (self.memory.recall(&name, self.out) || self.learn(window, parts, &name)) {
            return Ok(());
        }
        let is_piece = part.key[1] & STRETCH == 0;
        if is_piece
            && self.encoder.looks_up()
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
        self.merge(window, start, end)?;
        self.memory.learn(&name, &self.out[before..]);
        Ok(())
    }

    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        self.merge(window, start, end)
    }

    /// A long piece is as many parts as it has stretches.
    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()> {
        let merger = walk.sink.encoder.merger();
        if merger.byte_pairs.is_none() {
            return walk.wait(start, end, 0);
        }
        let piece = &walk.window.text[start..end];
        if piece.len() < CUT_ASCII && piece.is_ascii() {
            return walk.wait(start, end, 0);
        }
        let safe_cuts = walk.sink.learning.safe_cuts(merger, &(start..end));
        let Some(safe_cuts) = safe_cuts else { return walk.wait(start, end, 0) };
        let mut at = start;
        for cut in safe_cuts.cuts(walk.window.text, start, end) {
            walk.wait(at, cut, STRETCH)?;
            at = cut;
        }
        walk.wait(at, end, if at == start { 0 } else { STRETCH })
    }
}

impl PieceIds<'_> {
    /// Learns all parts that wait, once, and appends the ids of the first; false if they are not known yet.
    fn learn(&mut self, window: &Window<'_>, parts: &[PiecePart], name: &PieceName<'_>) -> bool {
        if parts[0].start < self.learned {
            return false;
        }
        let Some(mut learner) = Learner::new(self.encoder, window, self.memory, self.learning) else { return false };
        learner.learn(parts);
        self.learned = parts.last().map_or(0, |last| last.start + last.len as usize);
        self.memory.recall(name, self.out)
    }

    /// Appends the ids that merging gives for a stretch.
    fn merge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        let stretch = &window.text[start..end];
        if let Some(pairs) = &self.encoder.merger().byte_pairs
            && !is_mostly_runs(stretch)
            && self.merge_by_windows(stretch, pairs).map_err(|error| error.shifted(start))?
        {
            return Ok(());
        }
        let done = self.encoder.encode_stretch(stretch, self.stop, self.scratch, self.out);
        done.map_err(|error| error.shifted(start))
    }

    /// Appends the ids of a stretch of bytes that is merged part by part; false if that is not possible.
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

/// Whether most bytes are equal to the one before. Windows hardly ever agree there: how a run merges depends on its start.
fn is_mostly_runs(piece: &[u8]) -> bool {
    let equal = piece.windows(2).filter(|pair| pair[0] == pair[1]).count();
    2 * equal > piece.len()
}
