//! Looks up the pieces of a text in tables of slots, and passes them to a sink, which appends ids or counts.

use crate::error::Result;
use crate::slots::key::{Key, LONGEST, LONGEST_OF_TWO, STRETCH, Window};
use crate::slots::keyed::SlotTables;
use crate::threads::parallel::Stop;

impl Window<'_> {
    /// The part of the text from `start` on, with its slot prefetched.
    #[inline(always)]
    #[must_use]
    pub fn part(&self, tables: SlotTables<'_>, start: usize, len: usize, stretch: u64) -> PiecePart {
        let mut part = PiecePart { start, len: len as u32, slot: 0, key: [0, stretch] };
        if len <= LONGEST_OF_TWO {
            part.key = self.key(start, len);
            part.key[1] |= stretch;
            part.slot = tables.0.prefetch_slot(&part.key) as u32;
        } else if len <= LONGEST {
            part.slot = tables.1.prefetch_slot(&self.wide_key(&part)) as u32;
        }
        part
    }

    /// A stretch without a prefetched slot.
    #[must_use]
    pub fn stretch(&self, start: usize, end: usize) -> PiecePart {
        let mut part = PiecePart { start, len: (end - start) as u32, slot: 0, key: [0, STRETCH] };
        if end - start <= LONGEST_OF_TWO {
            part.key = self.key(start, end - start);
            part.key[1] |= STRETCH;
        }
        part
    }

    /// The number of characters of three bytes or more in a part of at most [`LONGEST`] bytes.
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

/// The most parts that wait for their slots at a time.
pub const WAITING: usize = 256;

/// The most bytes of a waiting part.
const MOST_WAITING: usize = u32::MAX as usize;

/// A piece, or a stretch between two cuts of one, whose slot is being prefetched.
#[derive(Debug, Clone, Copy, Default)]
pub struct PiecePart {
    /// Its start in the text.
    pub start: usize,
    /// Its length in bytes.
    pub len: u32,
    /// The expected place of its slot.
    pub slot: u32,
    /// The key of a short part; for others, only the mark of a stretch.
    pub key: Key<2>,
}

/// The waiting parts.
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

/// The consumer of the pieces of a text.
pub trait PieceSink: Sized {
    /// The tables to look up parts in.
    fn tables(&self) -> SlotTables<'_>;
    /// Takes parts up to the first that is not in its slot, and returns their number.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize;
    /// Takes the first of these parts, whose slot did not match. The sink can prepare for the others.
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

/// The pieces of a text for a sink. Each waits until its slot is prefetched.
pub struct PieceWalk<'w, 't, S> {
    /// The text.
    pub window: Window<'t>,
    /// The consumer of the pieces.
    pub sink: S,
    waiting: &'w mut WaitingParts,
    stop: &'w Stop,
    /// The start of the next piece.
    at: usize,
}

impl<'w, 't, S: PieceSink> PieceWalk<'w, 't, S> {
    /// The walk over the pieces of one text; the caller splits it.
    pub fn new(text: &'t [u8], sink: S, waiting: &'w mut WaitingParts, stop: &'w Stop) -> Self {
        waiting.count = 0;
        Self { window: Window::new(text), sink, waiting, stop, at: 0 }
    }

    /// Takes the pieces that end at `ends`, and passes them to the sink later.
    ///
    /// # Errors
    /// Those of the sink, for one of these pieces or one before; [`crate::Error::Interrupted`].
    pub fn take_pieces(&mut self, mut ends: &[usize]) -> Result<()> {
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

    /// Takes pieces until there is no room or the next one is long, and returns their number.
    fn take_short(&mut self, ends: &[usize]) -> usize {
        let (tables, before) = (self.sink.tables(), self.waiting.count);
        let (mut at, mut count) = (self.at, 0);
        for (part, &end) in self.waiting.parts[before..].iter_mut().zip(ends) {
            let len = end - at;
            if len > LONGEST {
                break;
            }
            *part = self.window.part(tables, at, len, 0);
            at = end;
            count += 1;
        }
        self.at = at;
        self.waiting.count += count;
        count
    }

    /// Adds a part; `stretch` is [`crate::slots::key::STRETCH`] for a stretch between two cuts.
    ///
    /// # Errors
    /// As [`Self::take_pieces`].
    #[inline]
    pub fn add_part(&mut self, start: usize, end: usize, stretch: u64) -> Result<()> {
        if end - start > MOST_WAITING {
            self.drain()?;
            return self.sink.take_huge(&self.window, start, end);
        }
        self.waiting.parts[self.waiting.count] = self.window.part(self.sink.tables(), start, end - start, stretch);
        self.waiting.count += 1;
        if self.waiting.count == WAITING { self.drain() } else { Ok(()) }
    }

    /// Passes all waiting parts to the sink.
    ///
    /// # Errors
    /// As [`Self::take_pieces`].
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
