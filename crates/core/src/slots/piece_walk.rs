//! The walk over the pieces of a text that looks their keys up in tables of slots, and gives them to a sink: one that
//! appends ids, or one that counts.

use crate::error::Result;
use crate::slots::key::{Key, LONGEST, LONGEST_OF_TWO, STRETCH, Window};
use crate::slots::keyed::SlotTables;
use crate::threads::parallel::Stop;

impl Window<'_> {
    /// The part of the text from `start` on, its slot asked for.
    #[inline(always)]
    #[must_use]
    pub fn part(&self, tables: impl SlotTables, start: usize, len: usize, stretch: u64) -> PiecePart {
        let mut part = PiecePart { start, len: len as u32, slot: 0, key: [0, stretch] };
        if len <= LONGEST_OF_TWO {
            part.key = self.key(start, len);
            part.key[1] |= stretch;
            part.slot = tables.expect_short(&part.key) as u32;
        } else if len <= LONGEST {
            part.slot = tables.expect_wide(&self.wide_key(&part)) as u32;
        }
        part
    }

    /// A stretch without a look for its slot.
    #[must_use]
    pub fn stretch(&self, start: usize, end: usize) -> PiecePart {
        let mut part = PiecePart { start, len: (end - start) as u32, slot: 0, key: [0, STRETCH] };
        if end - start <= LONGEST_OF_TWO {
            part.key = self.key(start, end - start);
            part.key[1] |= STRETCH;
        }
        part
    }

    /// How many characters of three bytes or more a part has that is not longer than [`LONGEST`].
    #[inline(always)]
    #[must_use]
    pub fn wide_characters(&self, part: &PiecePart) -> u32 {
        let key: Key<4> = self.key(part.start, part.len as usize);
        // The length is in the last byte.
        let firsts = |word: u64| (word & word << 1 & word << 2 & 0x8080_8080_8080_8080).count_ones();
        key.into_iter().map(firsts).sum()
    }

    /// The key of a part that is not short.
    #[inline(always)]
    #[must_use]
    pub fn wide_key(&self, part: &PiecePart) -> Key<4> {
        let mut key = self.key(part.start, part.len as usize);
        key[3] |= part.key[1];
        key
    }
}

/// How many parts wait for their slots at a time.
pub const WAITING: usize = 256;

/// The most bytes of a part that waits.
const MOST_WAITING: usize = u32::MAX as usize;

/// A piece, or a stretch between two cuts of one, whose slot is on its way from memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct PiecePart {
    /// Where it starts in the text.
    pub start: usize,
    /// Its bytes.
    pub len: u32,
    /// Where its slot should be.
    pub slot: u32,
    /// The key of a short part; of others, only whether it is a stretch.
    pub key: Key<2>,
}

/// Parts that wait.
#[derive(Debug)]
pub struct WaitingParts {
    parts: [PiecePart; WAITING],
    count: usize,
}

impl Default for WaitingParts {
    fn default() -> Self {
        Self { parts: [PiecePart::default(); WAITING], count: 0 }
    }
}

/// What becomes of the pieces of a text.
pub trait PieceSink: Sized {
    /// The tables that hold what is known.
    fn tables(&self) -> impl SlotTables;
    /// Takes parts until one comes that is not in its slot, and says how many.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize;
    /// Takes the first of these parts, which is not where its hash says, or nowhere. The sink may prepare for the others.
    ///
    /// # Errors
    /// Those of the sink.
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()>;
    /// Takes a part of 4 GiB or more.
    ///
    /// # Errors
    /// Those of the sink.
    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()>;
    /// Takes a piece of more than [`LONGEST`] bytes.
    ///
    /// # Errors
    /// Those of the sink.
    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()>;
}

/// The pieces of a text on their way to a sink. Each waits a little, so that its slot is there when it is looked at.
pub struct PieceWalk<'w, 't, S> {
    /// The text.
    pub window: Window<'t>,
    /// What becomes of its pieces.
    pub sink: S,
    waiting: &'w mut WaitingParts,
    stop: &'w Stop,
    /// Where the next piece starts.
    at: usize,
}

impl<'w, 't, S: PieceSink> PieceWalk<'w, 't, S> {
    /// The pieces of one text, which is split elsewhere.
    pub fn new(text: &'t [u8], sink: S, waiting: &'w mut WaitingParts, stop: &'w Stop) -> Self {
        waiting.count = 0;
        Self { window: Window::new(text), sink, waiting, stop, at: 0 }
    }

    /// Takes the pieces that end at `ends`; the sink gets them in time.
    ///
    /// # Errors
    /// Those of the sink, of one of these pieces or one before; [`crate::Error::Interrupted`].
    pub fn take(&mut self, mut ends: &[usize]) -> Result<()> {
        loop {
            ends = &ends[self.take_short(ends)..];
            if self.waiting.count == WAITING {
                self.drain()?;
            } else if let Some((&end, rest)) = ends.split_first() {
                let start = std::mem::replace(&mut self.at, end);
                S::take_long(self, start, end)?;
                ends = rest;
            } else {
                return Ok(());
            }
        }
    }

    /// Takes pieces until there is no more room or a long one comes, and says how many.
    fn take_short(&mut self, ends: &[usize]) -> usize {
        let (tables, before) = (self.sink.tables(), self.waiting.count);
        let (mut at, mut taken) = (self.at, 0);
        for (part, &end) in self.waiting.parts[before..].iter_mut().zip(ends) {
            let len = end - at;
            if len > LONGEST {
                break;
            }
            *part = self.window.part(tables, at, len, 0);
            at = end;
            taken += 1;
        }
        self.at = at;
        self.waiting.count += taken;
        taken
    }

    /// Takes a part; `stretch` is [`crate::slots::key::STRETCH`] for one between two cuts.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn wait(&mut self, start: usize, end: usize, stretch: u64) -> Result<()> {
        if end - start > MOST_WAITING {
            self.drain()?;
            return self.sink.take_huge(&self.window, start, end);
        }
        self.waiting.parts[self.waiting.count] = self.window.part(self.sink.tables(), start, end - start, stretch);
        self.waiting.count += 1;
        if self.waiting.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Gives the sink all parts that wait.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn drain(&mut self) -> Result<()> {
        self.stop.check()?;
        let count = std::mem::take(&mut self.waiting.count);
        let mut done = 0;
        while done < count {
            done += self.sink.take_known(&self.window, &self.waiting.parts[done..count]);
            if done < count {
                self.sink.take_new(&self.window, &self.waiting.parts[done..count])?;
                done += 1;
            }
        }
        Ok(())
    }
}
