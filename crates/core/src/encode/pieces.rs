//! Pieces to ids, with a memory: what [`PieceEncoder::encode`] gives, faster.
//!
//! For a piece that came before, one look into the memory is enough. A new piece is cut where no merge can cross. Each
//! stretch between two cuts probably came before; it is looked up or merged. A long piece is cut without a look into the
//! memory, because long pieces hardly ever come again, and their stretches do.

use crate::Result;
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::merge::memory::{Memory, PieceName, ReadyIds};
use crate::merge::short::merge_stretch;
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::threads::sessions::Worth;
use crate::vocab::key::{LONGEST, LONGEST_OF_TWO, STRETCH, Window};
use crate::vocab::piece_walk::{PiecePart, PieceSink, PieceWalk, SlotTables, WaitingParts};

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
}

/// More bytes of buffers than this are given back when a call ends: only a very long piece needs them.
const MOST_BUFFERS: usize = 16 << 20;

impl Worth for Session {
    fn bytes(&self) -> usize {
        let ends = if self.ends.is_some() { size_of::<Ends>() } else { 0 };
        size_of::<Self>() + ends + self.memory.bytes() + self.scratch.bytes()
    }

    fn shrink(&mut self) {
        if self.scratch.bytes() > MOST_BUFFERS {
            self.scratch = PieceScratch::default();
        }
    }
}

/// Shorter pieces are not tested for repeating themselves.
const REPEATING: usize = 1 << 10;

impl Window<'_> {
    /// A stretch without a look for its slot.
    fn stretch(&self, start: usize, end: usize) -> PiecePart {
        let mut part = PiecePart { start, len: (end - start) as u32, slot: 0, key: [0, STRETCH] };
        if end - start <= LONGEST_OF_TWO {
            part.key = self.key(start, end - start);
            part.key[1] |= STRETCH;
        }
        part
    }
}

/// The sink that appends the ids of pieces to `out`.
pub struct PieceIds<'e> {
    encoder: &'e PieceEncoder,
    memory: &'e mut Memory,
    scratch: &'e mut PieceScratch,
    ready: &'e mut ReadyIds,
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
        let Session { memory, scratch, waiting, ready, .. } = session;
        PieceWalk::new(text, Self { encoder, memory, scratch, ready, stop, out }, waiting, stop)
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
    fn take_new(&mut self, window: &Window<'_>, part: PiecePart) -> Result<()> {
        let (start, end) = (part.start, part.start + part.len as usize);
        let is_piece = part.key[1] & STRETCH == 0;
        let name = PieceName::of(window, &part);
        let is_long = matches!(name, PieceName::Long(_));
        if !is_long && self.memory.recall(&name, self.out) {
            return Ok(());
        }
        if is_piece
            && self.encoder.looks_up()
            && let Some(id) = self.token(window, start, end)
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
        if is_piece && self.encoder.merger().byte_pairs().is_some() {
            self.stretches(window, start, end)?;
        } else {
            self.merge(window, start, end)?;
        }
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
        if end - start >= REPEATING {
            walk.drain()?;
            if walk.sink.repeating(&walk.window.text[start..end])? {
                return Ok(());
            }
        }
        let Some(safe_cuts) = merger.safe_cuts() else { return walk.wait(start, end, 0) };
        let mut at = start;
        for cut in safe_cuts.cuts(walk.window.text, start, end) {
            walk.wait(at, cut, STRETCH)?;
            at = cut;
        }
        walk.wait(at, end, if at == start { 0 } else { STRETCH })
    }
}

impl PieceIds<'_> {
    /// Appends the ids of a very long piece if it repeats a few bytes.
    fn repeating(&mut self, piece: &[u8]) -> Result<bool> {
        let is_token = self.encoder.looks_up() && self.encoder.vocab().id(piece).is_some();
        let scratch = &mut self.scratch.merge;
        let repeats = !is_token && self.encoder.merger().merge_repeating(piece, self.stop, scratch)?;
        if repeats {
            self.out.extend_from_slice(&scratch.symbols.ids);
        }
        Ok(repeats)
    }

    /// The id of the token with these bytes.
    fn token(&self, window: &Window<'_>, start: usize, end: usize) -> Option<u32> {
        let (vocab, bytes) = (self.encoder.vocab(), &window.text[start..end]);
        if end - start > LONGEST {
            return vocab.id(bytes);
        }
        vocab.found(vocab.expect(window, start, end - start)?, bytes).map(|token| token.id)
    }

    /// Appends the ids of a new piece, stretch by stretch.
    fn stretches(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        let Some(safe_cuts) = self.encoder.merger().safe_cuts() else { return self.merge(window, start, end) };
        let mut at = start;
        for cut in safe_cuts.cuts(window.text, start, end) {
            self.stretch(window, at, cut)?;
            at = cut;
        }
        if at == start { self.merge(window, start, end) } else { self.stretch(window, at, end) }
    }

    /// Appends the ids of a stretch between two cuts.
    fn stretch(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        let name = PieceName::of(window, &window.stretch(start, end));
        if !self.memory.recall(&name, self.out) {
            let before = self.out.len();
            self.merge(window, start, end)?;
            self.memory.learn(&name, &self.out[before..]);
        }
        Ok(())
    }

    /// Appends the ids that merging gives for a stretch.
    fn merge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        if end - start <= LONGEST
            && let Some(pairs) = self.encoder.merger().byte_pairs()
        {
            merge_stretch(self.encoder.vocab(), pairs, window, start..end, self.out);
            return Ok(());
        }
        let stretch = &window.text[start..end];
        let done = self.encoder.encode_stretch(stretch, self.stop, self.scratch, self.out);
        done.map_err(|error| error.shifted(start))
    }
}
