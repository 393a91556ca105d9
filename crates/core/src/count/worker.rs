//! The work of one counting thread: a sink of the piece walk ([`PieceWalk`]) that counts in a table, and spills a full
//! table to disk.
//!
//! Most pieces are in their expected slot, and their count goes up by one. The slow path adds the others.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::count::arena::Arena;
use crate::count::dropped::LeftOut;
use crate::count::spill::{Run, Runs};
use crate::count::tally::{Tally, TallyTable};
use crate::error::Result;
use crate::slots::key::{LONGEST_OF_TWO, Window};
use crate::slots::keyed::{SlotTables, find_near};
use crate::slots::piece_walk::{PiecePart, PieceSink, PieceWalk, WaitingParts};
use crate::split::scan::Ends;
use crate::split::{Splitter, Text};
use crate::text::bounds::Bounds;
use crate::threads::parallel::{Stop, lock};

/// The limits of counting.
#[derive(Debug, Clone, Default)]
pub struct CountLimits {
    /// The memory of all tables in bytes; None for no limit.
    pub memory: Option<usize>,
    /// The folder of the runs on disk.
    pub folder: PathBuf,
    /// The longest piece, in bytes, that gets a count.
    pub longest: Option<usize>,
}

/// The state that all counting threads share.
#[derive(Debug)]
pub struct CountShared {
    /// The splitter of texts.
    pub splitter: Arc<Splitter>,
    /// The limits of counting.
    pub limits: CountLimits,
    /// The runs on disk.
    pub runs: Mutex<Runs>,
}

impl CountShared {
    /// Writes a table to disk and empties it.
    ///
    /// # Errors
    /// [`crate::Error::Corpus`] for a full disk, and [`crate::Error::Interrupted`].
    pub fn spill(&self, table: &mut TallyTable, stop: &Stop) -> Result<()> {
        let run = Run::write(&Arena::from_table(table), &self.limits.folder)?;
        lock(&self.runs).push(run, stop)?;
        table.clear();
        Ok(())
    }
}

/// The state of one thread.
#[derive(Debug)]
pub struct CountWorker {
    /// The table.
    pub table: TallyTable,
    /// The most bytes of memory for the table.
    pub room: usize,
    ends: Box<Ends>,
    waiting: WaitingParts,
    /// The bytes of all texts.
    pub bytes: u64,
    /// Pieces longer than the limit.
    pub long: LeftOut,
}

impl CountWorker {
    /// A state without counts; the table can take `room` bytes of memory.
    #[must_use]
    pub fn new(table: TallyTable, room: usize) -> Self {
        Self { table, room, ends: Box::default(), waiting: WaitingParts::default(), bytes: 0, long: LeftOut::default() }
    }

    /// Counts the pieces of a document, or of a part of one, whose position is `place`.
    ///
    /// # Errors
    /// As [`crate::count::counter::Counter::add`].
    pub fn count_document(
        &mut self,
        shared: &CountShared,
        text: Text<'_>,
        place: (u64, u64),
        stop: &Stop,
    ) -> Result<()> {
        let Self { table, room, ends, waiting, long, .. } = self;
        let sink = CountSink { shared, table, room: *room, long, stop, place };
        let mut pieces = PieceWalk::new(text.as_bytes(), sink, waiting, stop);
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        let split = shared.splitter.split_ends(text, &bounds, ends, |ends| pieces.take_pieces(ends));
        split.map_err(|error| error.with_search_start(usize::try_from(place.1).unwrap_or(usize::MAX)))?;
        pieces.drain()?;
        self.bytes += text.as_bytes().len() as u64;
        Ok(())
    }
}

/// The sink that counts the pieces of one text in a table.
struct CountSink<'c> {
    shared: &'c CountShared,
    table: &'c mut TallyTable,
    room: usize,
    long: &'c mut LeftOut,
    stop: &'c Stop,
    /// The position of the text.
    place: (u64, u64),
}

impl PieceSink for CountSink<'_> {
    #[inline(always)]
    fn tables(&self) -> SlotTables<'_> {
        (self.table.short.view(), self.table.wide.view())
    }

    /// Counts the pieces that are in their slots, up to the first that is not.
    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize {
        let TallyTable { short, wide, .. } = &mut *self.table;
        let (short, wide) = (short.slots(), wide.slots());
        for (known, part) in parts.iter().enumerate() {
            let (at, len) = (part.slot as usize, part.len as usize);
            let count = if len <= LONGEST_OF_TWO {
                let slot = &mut short[find_near(short, at, &part.key)];
                (slot[0] == part.key).then_some(&mut slot[1][0])
            } else {
                let slot = &mut wide[at];
                (slot[0] == window.wide_key(part)).then_some(&mut slot[1][0])
            };
            let Some(count) = count else { return known };
            *count += 1;
        }
        parts.len()
    }

    #[inline(never)]
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()> {
        let part = parts[0];
        self.add(window, part.start, part.len as usize)
    }

    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        self.add(window, start, end - start)
    }

    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()> {
        walk.sink.add(&walk.window, start, end - start)
    }
}

impl CountSink<'_> {
    /// Counts the piece of `len` bytes that starts at `start`.
    fn add(&mut self, window: &Window<'_>, start: usize, len: usize) -> Result<()> {
        if self.shared.limits.longest.is_some_and(|longest| len > longest) {
            self.long.pieces += 1;
            self.long.bytes += len as u64;
            return Ok(());
        }
        if self.table.memory_with(len) > self.room && self.table.unique() > 0 {
            self.shared.spill(self.table, self.stop)?;
        }
        let first = (self.place.0, self.place.1 + start as u64);
        self.table.add(window, start, len, Tally { count: 1, first })
    }
}
