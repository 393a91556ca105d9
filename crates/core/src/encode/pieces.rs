//! Pieces to ids, with a memory: what [`PieceEncoder::encode`] gives, faster.
//!
//! For a piece that came before, one look into the memory is enough. The first new piece makes all that wait be learned
//! together ([`crate::encode::learn`]). A long piece is cut without a look into the memory, because long pieces hardly ever
//! come again, and their stretches do.

use crate::Result;
use crate::encode::learn::{Learner, Learning};
use crate::fast::memory::{Memory, PieceName, ReadyIds};
use crate::fast::piece_walk::{PiecePart, PieceSink, PieceWalk, WaitingParts};
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::slots::key::{STRETCH, Window};
use crate::slots::keyed::SlotTables;
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::threads::sessions::Worth;

/// What one call at a time works with, and the next one takes over.
#[derive(Debug, Default)]
pub struct Session {
    /// The pieces that came so far.
    pub memory: Memory,
    /// Buffers for long pieces.
    pub scratch: PieceScratch,
    /// A buffer for what the splitter finds.
    pub ends: Option<Box<Ends>>,
    waiting: WaitingParts,
    ready: ReadyIds,
    learning: Box<Learning>,
}

/// More bytes of buffers than this are given back when a call ends: only a very long piece needs them.
const MOST_BUFFERS: usize = 16 << 20;

impl Worth for Session {
    fn bytes(&self) -> usize {
        let ends = if self.ends.is_some() { size_of::<Ends>() } else { 0 };
        let buffers = size_of::<Learning>() + self.ready.bytes() + self.scratch.bytes();
        size_of::<Self>() + ends + self.memory.bytes() + buffers
    }

    fn shrink(&mut self) {
        if self.scratch.bytes() > MOST_BUFFERS {
            self.scratch = PieceScratch::default();
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
    /// As far as the text is learned ahead.
    learned: usize,
    stop: &'e Stop,
    out: &'e mut Vec<u32>,
}

impl<'e> PieceIds<'e> {
    /// The walk over the pieces of a text that appends their ids to `out`.
    pub fn walk<'t>(
        encoder: &'e PieceEncoder,
        session: &'e mut Session,
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> PieceWalk<'e, 't, Self> {
        let Session { memory, scratch, waiting, ready, learning, .. } = session;
        learning.begin(text.len());
        PieceWalk::new(text, Self { encoder, memory, scratch, ready, learning, learned: 0, stop, out }, waiting, stop)
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
        if merger.byte_pairs().is_none() {
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
        let done = self.encoder.encode_stretch(stretch, self.stop, self.scratch, self.out);
        done.map_err(|error| error.shifted(start))
    }
}
