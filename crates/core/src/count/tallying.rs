//! The pieces of one text into the table of one thread.
//!
//! Pieces wait a little, so that their slots are there when they are looked at (as in [`crate::encode::pieces`]): most are then
//! found where they are expected, and their count goes up by one. What is not is added the slow way.

use crate::bounds::Bounds;
use crate::count::left_out::LeftOut;
use crate::count::shared::Shared;
use crate::count::tally::{Tally, TallyTable};
use crate::error::Result;
use crate::split::Text;
use crate::split::scan::Ends;
use crate::threads::parallel::Stop;
use crate::vocab::key::{Key, LONGEST, LONGEST_OF_TWO, Window};
use crate::vocab::keyed::near;

/// How many pieces wait for their slots at a time.
const WAITING: usize = 64;

/// A piece whose slot is on its way from memory.
#[derive(Debug, Clone, Copy, Default)]
struct WaitingPiece {
    start: usize,
    len: u32,
    slot: u32,
    /// The key of a short piece.
    key: Key<2>,
}

/// What one thread works with.
#[derive(Debug)]
pub struct Work {
    /// The table.
    pub table: TallyTable,
    /// The most bytes of memory for the table.
    pub room: usize,
    ends: Box<Ends>,
    parts: [WaitingPiece; WAITING],
    waiting: usize,
    /// The bytes of all texts.
    pub bytes: u64,
    /// Pieces that were too long.
    pub long: LeftOut,
}

impl Work {
    /// Nothing done yet; the table may take so many bytes of memory.
    #[must_use]
    pub fn new(table: TallyTable, room: usize) -> Self {
        Self {
            table,
            room,
            ends: Box::default(),
            parts: [WaitingPiece::default(); WAITING],
            waiting: 0,
            bytes: 0,
            long: LeftOut::default(),
        }
    }

    /// Counts the pieces of a document, or of a part of one, that stands at `place`.
    ///
    /// # Errors
    /// Those of [`crate::count::counter::Counter::add`].
    pub fn document(&mut self, shared: &Shared, text: Text<'_>, place: (u64, u64), stop: &Stop) -> Result<()> {
        let window = Window::new(text.as_bytes());
        let mut ends = std::mem::take(&mut self.ends);
        let mut counting = Counting { shared, work: self, window, stop, place, at: 0 };
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        let split = counting.shared.splitter.ends(text, &bounds, &mut ends, |ends| {
            stop.check()?;
            counting.take(ends)
        });
        split.map_err(|error| error.searched_from(usize::try_from(place.1).unwrap_or(usize::MAX)))?;
        counting.drain()?;
        self.ends = ends;
        self.bytes += text.as_bytes().len() as u64;
        Ok(())
    }
}

/// The pieces of one text on their way into a table.
struct Counting<'c, 't> {
    shared: &'c Shared,
    work: &'c mut Work,
    window: Window<'t>,
    stop: &'c Stop,
    /// Where the text stands.
    place: (u64, u64),
    /// Where the next piece starts.
    at: usize,
}

impl Counting<'_, '_> {
    fn take(&mut self, mut ends: &[usize]) -> Result<()> {
        while !ends.is_empty() {
            ends = &ends[self.take_some(ends)..];
            if self.work.waiting == WAITING {
                self.drain()?;
            } else if let Some((&end, rest)) = ends.split_first() {
                let start = std::mem::replace(&mut self.at, end);
                self.add(start, end - start)?;
                ends = rest;
            }
        }
        Ok(())
    }

    /// Takes pieces until there is no more room or a long one comes, and says how many.
    fn take_some(&mut self, ends: &[usize]) -> usize {
        let Work { table, parts, waiting, .. } = &mut *self.work;
        let (before, short, wide) = (*waiting, table.short.view(), table.wide.view());
        for (part, &end) in parts[before..].iter_mut().zip(ends) {
            let len = end - self.at;
            if len > LONGEST {
                break;
            }
            *part = WaitingPiece { start: self.at, len: len as u32, slot: 0, key: [0; 2] };
            if len <= LONGEST_OF_TWO {
                part.key = self.window.key(self.at, len);
                part.slot = short.expect(&part.key) as u32;
            } else {
                part.slot = wide.expect(&self.window.key(self.at, len)) as u32;
            }
            self.at = end;
            *waiting += 1;
        }
        *waiting - before
    }

    fn drain(&mut self) -> Result<()> {
        let count = std::mem::take(&mut self.work.waiting);
        let mut done = 0;
        while done < count {
            done += self.drain_known(done, count);
            if done < count {
                self.resolve(done)?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Counts pieces until one comes that is not in its slot, and says how many.
    fn drain_known(&mut self, first: usize, count: usize) -> usize {
        let Work { table, parts, .. } = &mut *self.work;
        let (short, wide) = (table.short.slots(), table.wide.slots());
        for (known, part) in parts[first..count].iter().enumerate() {
            let (at, len) = (part.slot as usize, part.len as usize);
            let count = if len <= LONGEST_OF_TWO {
                let slot = &mut short[near(short, at, &part.key)];
                (slot[0] == part.key).then_some(&mut slot[1][0])
            } else {
                let slot = &mut wide[at];
                (slot[0] == self.window.key(part.start, len)).then_some(&mut slot[1][0])
            };
            let Some(count) = count else { return known };
            *count += 1;
        }
        count - first
    }

    /// Counts a piece that is not where its hash says, or nowhere.
    #[inline(never)]
    fn resolve(&mut self, number: usize) -> Result<()> {
        let WaitingPiece { start, len, .. } = self.work.parts[number];
        self.add(start, len as usize)
    }

    /// Counts the piece of `len` bytes that starts at `start`.
    fn add(&mut self, start: usize, len: usize) -> Result<()> {
        if self.shared.limits.longest.is_some_and(|longest| len > longest) {
            self.work.long.pieces += 1;
            self.work.long.bytes += len as u64;
            return Ok(());
        }
        if self.work.table.memory_with(len) > self.work.room && self.work.table.unique() > 0 {
            self.shared.spill(&mut self.work.table, self.stop)?;
        }
        let first = (self.place.0, self.place.1 + start as u64);
        self.work.table.add(&self.window, start, len, Tally { count: 1, first })
    }
}
