//! Pieces to ids, with a memory: what [`PieceEncoder::encode`] gives, faster.
//!
//! A piece that was met before is one look into the memory. A new one is cut where no merge can cross, and each stretch
//! between two cuts, which is likely to have been met before, is looked up or merged. Long pieces are cut at once: they
//! hardly ever come again, and their stretches do.

use crate::Result;
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::merge::memory::{Memory, PieceName, View};
use crate::merge::short::merge_stretch;
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::threads::sessions::Worth;
use crate::vocab::key::{Key, LONGEST, LONGEST_OF_TWO, STRETCH, Window};

/// What one call at a time works with, and the next one takes over.
#[derive(Debug, Default)]
pub struct Session {
    /// The pieces met so far.
    pub memory: Memory,
    /// Buffers for long pieces.
    pub scratch: PieceScratch,
    /// A buffer for what the splitter finds.
    pub ends: Option<Box<Ends>>,
    waiting: WaitingParts,
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

/// How many parts wait for their slots at a time.
const WAITING: usize = 128;
/// The least bytes of a piece that is looked at for repeating itself.
const REPEATING: usize = 1 << 10;
/// The most bytes of a part that waits; what is longer is merged at once.
const MOST_WAITING: usize = u32::MAX as usize;
/// The most ids that a slot gives.
const MOST_IDS: usize = 8;

/// Parts whose slots are on their way from memory, and room for their ids.
#[derive(Debug)]
struct WaitingParts {
    parts: [PiecePart; WAITING],
    count: usize,
    ids: [u32; (WAITING + 1) * MOST_IDS],
}

impl Default for WaitingParts {
    fn default() -> Self {
        Self { parts: [PiecePart::default(); WAITING], count: 0, ids: [0; (WAITING + 1) * MOST_IDS] }
    }
}

/// A piece, or a stretch between two cuts of one.
#[derive(Debug, Clone, Copy, Default)]
struct PiecePart {
    start: usize,
    len: u32,
    slot: u32,
    /// The key of a short part; of others, only whether it is a stretch.
    key: Key<2>,
}

impl<'t> Window<'t> {
    fn name(&self, part: &PiecePart) -> PieceName<'t> {
        let (start, len) = (part.start, part.len as usize);
        if len <= LONGEST_OF_TWO {
            PieceName::Short(part.key)
        } else if len <= LONGEST {
            PieceName::Wide(self.wide_key(part))
        } else {
            PieceName::Long(&self.text[start..start + len])
        }
    }

    /// A stretch whose slot is not asked for.
    fn stretch(&self, start: usize, end: usize) -> PiecePart {
        let mut part = PiecePart { start, len: (end - start) as u32, slot: 0, key: [0, STRETCH] };
        if end - start <= LONGEST_OF_TWO {
            part.key = self.key(start, end - start);
            part.key[1] |= STRETCH;
        }
        part
    }

    /// The part of the text from `start` on, its slot asked for.
    #[inline(always)]
    fn part(&self, (short, wide): (View<'_, 2>, View<'_, 4>), start: usize, len: usize, stretch: u64) -> PiecePart {
        let mut part = PiecePart { start, len: len as u32, slot: 0, key: [0, stretch] };
        if len <= LONGEST_OF_TWO {
            part.key = self.key(start, len);
            part.key[1] |= stretch;
            part.slot = short.expect(&part.key) as u32;
        } else if len <= LONGEST {
            part.slot = wide.expect(&self.wide_key(&part)) as u32;
        }
        part
    }

    #[inline(always)]
    fn wide_key(&self, part: &PiecePart) -> Key<4> {
        let mut key = self.key(part.start, part.len as usize);
        key[3] |= part.key[1];
        key
    }
}

/// Pieces on their way to ids: each waits a little, so that its slot is there when it is looked at.
pub struct PieceWalk<'e, 't> {
    encoder: &'e PieceEncoder,
    session: &'e mut Session,
    stop: &'e Stop,
    window: Window<'t>,
    out: &'e mut Vec<u32>,
    /// Where the next piece starts.
    at: usize,
}

impl<'e, 't> PieceWalk<'e, 't> {
    /// The pieces of one text, which is split elsewhere.
    pub fn new(
        encoder: &'e PieceEncoder,
        session: &'e mut Session,
        stop: &'e Stop,
        text: &'t [u8],
        out: &'e mut Vec<u32>,
    ) -> Self {
        session.waiting.count = 0;
        Self { encoder, session, stop, window: Window::new(text), out, at: 0 }
    }

    /// Takes the pieces that end at `ends`; their ids are appended in time.
    ///
    /// # Errors
    /// Those of [`PieceEncoder::encode`], of one of these pieces or one before.
    pub fn take(&mut self, mut ends: &[usize]) -> Result<()> {
        loop {
            ends = &ends[self.take_short(ends)..];
            if self.session.waiting.count == WAITING {
                self.drain()?;
            } else if let Some((&end, rest)) = ends.split_first() {
                let start = std::mem::replace(&mut self.at, end);
                self.cut(start, end)?;
                ends = rest;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes the ids away that were appended, and says how many.
    pub fn drop_ids(&mut self) -> u64 {
        let count = self.out.len() as u64;
        self.out.clear();
        count
    }

    /// Takes pieces until there is no more room or a long one comes, and says how many.
    fn take_short(&mut self, ends: &[usize]) -> usize {
        let Session { memory, waiting, .. } = &mut *self.session;
        let tables = (memory.short.view(), memory.wide.view());
        let before = waiting.count;
        for (part, &end) in waiting.parts[before..].iter_mut().zip(ends) {
            let len = end - self.at;
            if len > LONGEST {
                break;
            }
            *part = self.window.part(tables, self.at, len, 0);
            self.at = end;
            waiting.count += 1;
        }
        waiting.count - before
    }

    /// Appends the ids of all pieces taken.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn finish(mut self) -> Result<()> {
        self.drain()
    }

    /// A long piece, which is as many parts as it has stretches.
    fn cut(&mut self, start: usize, end: usize) -> Result<()> {
        if self.encoder.merger().byte_pairs().is_none() {
            return self.wait(start, end, 0);
        }
        if end - start >= REPEATING && self.repeating(start, end)? {
            return Ok(());
        }
        let Some(safe_cuts) = self.encoder.merger().safe_cuts() else { return self.wait(start, end, 0) };
        let mut at = start;
        for cut in safe_cuts.cuts(self.window.text, start, end) {
            self.wait(at, cut, STRETCH)?;
            at = cut;
        }
        self.wait(at, end, if at == start { 0 } else { STRETCH })
    }

    /// Appends the ids of a very long piece if it is some bytes again and again.
    fn repeating(&mut self, start: usize, end: usize) -> Result<bool> {
        self.drain()?;
        let piece = &self.window.text[start..end];
        let is_token = self.encoder.looks_up() && self.encoder.vocab().id(piece).is_some();
        let scratch = &mut self.session.scratch.merge;
        let repeats = !is_token && self.encoder.merger().merge_repeating(piece, self.stop, scratch)?;
        if repeats {
            self.out.extend_from_slice(&scratch.symbols.ids);
        }
        Ok(repeats)
    }

    #[inline]
    fn wait(&mut self, start: usize, end: usize, stretch: u64) -> Result<()> {
        if end - start > MOST_WAITING {
            self.drain()?;
            return self.merge(start, end);
        }
        let Session { memory, waiting, .. } = &mut *self.session;
        let tables = (memory.short.view(), memory.wide.view());
        waiting.parts[waiting.count] = self.window.part(tables, start, end - start, stretch);
        waiting.count += 1;
        if waiting.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Appends the ids of all parts that wait.
    fn drain(&mut self) -> Result<()> {
        self.stop.check()?;
        let count = std::mem::take(&mut self.session.waiting.count);
        let mut done = 0;
        while done < count {
            done += self.drain_known(done, count);
            if done < count {
                let part = self.session.waiting.parts[done];
                self.resolve(part)?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Appends the ids of parts that wait until one comes that is not in its slot, and says how many.
    fn drain_known(&mut self, first: usize, count: usize) -> usize {
        let Session { memory, waiting, .. } = &mut *self.session;
        let (short, wide) = (memory.short.view(), memory.wide.view());
        let (mut ready, mut known) = (0, 0);
        for part in &waiting.parts[first..count] {
            let (slot, len) = (part.slot as usize, part.len as usize);
            let ids = if len <= LONGEST_OF_TWO {
                short.copy(slot, &part.key, &mut waiting.ids, ready)
            } else if len <= LONGEST {
                wide.copy(slot, &self.window.wide_key(part), &mut waiting.ids, ready)
            } else {
                None
            };
            let Some(ids) = ids else { break };
            ready += ids;
            known += 1;
        }
        self.out.extend_from_slice(&waiting.ids[..ready]);
        known
    }

    /// A part that is not where its hash says, or nowhere.
    #[inline(never)]
    fn resolve(&mut self, part: PiecePart) -> Result<()> {
        let (start, end) = (part.start, part.start + part.len as usize);
        let is_piece = part.key[1] & STRETCH == 0;
        let name = self.window.name(&part);
        let is_long = matches!(name, PieceName::Long(_));
        if !is_long && self.session.memory.recall(&name, self.out) {
            return Ok(());
        }
        if is_piece
            && self.encoder.looks_up()
            && let Some(id) = self.token(start, end)
        {
            self.out.push(id);
            if !is_long {
                self.session.memory.learn(&name, &[id]);
            }
            return Ok(());
        }
        if is_long && self.session.memory.recall(&name, self.out) {
            return Ok(());
        }
        let before = self.out.len();
        if is_piece && self.encoder.merger().byte_pairs().is_some() {
            self.stretches(start, end)?;
        } else {
            self.merge(start, end)?;
        }
        self.session.memory.learn(&name, &self.out[before..]);
        Ok(())
    }

    /// The id of the token with these bytes.
    fn token(&self, start: usize, end: usize) -> Option<u32> {
        let (vocab, bytes) = (self.encoder.vocab(), &self.window.text[start..end]);
        if end - start > LONGEST {
            return vocab.id(bytes);
        }
        vocab.found(vocab.expect(&self.window, start, end - start)?, bytes).map(|token| token.id)
    }

    /// Appends the ids of a new piece, stretch by stretch.
    fn stretches(&mut self, start: usize, end: usize) -> Result<()> {
        let Some(safe_cuts) = self.encoder.merger().safe_cuts() else { return self.merge(start, end) };
        let mut at = start;
        for cut in safe_cuts.cuts(self.window.text, start, end) {
            self.stretch(at, cut)?;
            at = cut;
        }
        if at == start { self.merge(start, end) } else { self.stretch(at, end) }
    }

    /// Appends the ids of a stretch between two cuts.
    fn stretch(&mut self, start: usize, end: usize) -> Result<()> {
        let name = self.window.name(&self.window.stretch(start, end));
        if !self.session.memory.recall(&name, self.out) {
            let before = self.out.len();
            self.merge(start, end)?;
            self.session.memory.learn(&name, &self.out[before..]);
        }
        Ok(())
    }

    /// Appends the ids that merging gives for a stretch.
    fn merge(&mut self, start: usize, end: usize) -> Result<()> {
        if end - start <= LONGEST
            && let Some(pairs) = self.encoder.merger().byte_pairs()
        {
            merge_stretch(self.encoder.vocab(), pairs, &self.window, start..end, self.out);
            return Ok(());
        }
        let stretch = &self.window.text[start..end];
        let done = self.encoder.encode_stretch(stretch, self.stop, &mut self.session.scratch, self.out);
        done.map_err(|error| error.shifted(start))
    }
}
