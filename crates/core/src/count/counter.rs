//! Documents to tallies, at the speed of splitting. Each thread has a table of its own; the tables are added up at the end.
//!
//! A table that has no more room within the limits becomes a run on disk ([`crate::count::spill`]). Threads and runs do not
//! change a result, because counts are sums and the first position is the least.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::count::arena::Arena;
use crate::count::jsonl::{self, Rows};
use crate::count::left_out::{Dropping, LeftOut, Rare};
use crate::count::ordered::in_order;
use crate::count::spill::Run;
use crate::count::tally::TallyTable;
use crate::count::worker::{Limits, Shared, Work};
use crate::encode::long_text::PART;
use crate::error::{Error, Result};
use crate::slots::key::Seeds;
use crate::split::special::AddedTokens;
use crate::split::text_cuts::{TextCuts, WINDOW};
use crate::split::text_source::{TextPart, TextSource};
use crate::split::{Splitter, Text};
use crate::threads::parallel::{Stop, locked, map};

/// Batches of fewer bytes are not worth a second thread.
const ALONE: usize = 1 << 16;

/// What has been counted, besides the pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountTotals {
    /// Documents.
    pub documents: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Pieces that were too long.
    pub long: LeftOut,
    /// Runs written to disk.
    pub runs: u64,
}

#[derive(Debug, Default)]
struct Sums {
    documents: AtomicU64,
    bytes: AtomicU64,
    long_pieces: AtomicU64,
    long_bytes: AtomicU64,
}

impl Sums {
    fn add(&self, work: &Work) {
        self.bytes.fetch_add(work.bytes, Ordering::Relaxed);
        self.long_pieces.fetch_add(work.long.pieces, Ordering::Relaxed);
        self.long_bytes.fetch_add(work.long.bytes, Ordering::Relaxed);
    }
}

/// The function that gets the number of a bad row's line in the block, and what is wrong with the row. If it returns an
/// error, counting ends.
pub type Refuse<'a> = dyn Fn(usize, &str) -> Result<()> + Sync + 'a;

/// What a thread counts at a time.
struct CountJob<'d, D> {
    document: &'d D,
    /// None for the whole document.
    part: Option<TextPart>,
    /// Where it is: document and byte.
    place: (u64, u64),
}

/// Counts the pieces of documents.
#[derive(Debug)]
pub struct Counter {
    shared: Shared,
    /// Where a long text can be cut.
    cuts: Option<TextCuts>,
    seeds: Seeds,
    tables: Mutex<Vec<TallyTable>>,
    sums: Sums,
    /// The position of the next document, or of the rest of the open one.
    next: (u64, u64),
    /// The rest of the open document. What came before it is counted, because no later text can change that.
    open: Vec<u8>,
}

impl Counter {
    /// A counter without documents. The first document has the position `start`: its number, and the byte in it.
    #[must_use]
    pub fn new(splitter: Arc<Splitter>, cuts: Option<TextCuts>, limits: Limits, start: (u64, u64)) -> Self {
        Self {
            shared: Shared { splitter, limits, runs: Mutex::default() },
            cuts,
            seeds: Seeds::default(),
            tables: Mutex::default(),
            sums: Sums::default(),
            next: start,
            open: Vec::new(),
        }
    }

    /// Counts documents that come after all documents before. Several threads count the parts of a long one.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`], [`crate::Error::Interrupted`], [`crate::Error::Corpus`] for a full disk. Some of the documents
    /// may then be counted.
    pub fn add<D: TextSource>(&mut self, documents: &[D], threads: usize, stop: &Stop) -> Result<()> {
        let (mut jobs, mut bytes) = (Vec::with_capacity(documents.len()), 0);
        for document in documents {
            let size = document.size();
            self.jobs((document, size), threads, &mut jobs);
            bytes += size;
            self.next = (self.next.0 + 1, 0);
        }
        self.count((&jobs, bytes), threads, stop)?;
        self.sums.documents.fetch_add(documents.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Adds text to a document that comes in parts; `last` ends it.
    ///
    /// # Errors
    /// Those of [`Self::add`].
    pub fn feed(&mut self, text: &[u8], last: bool, threads: usize, stop: &Stop) -> Result<()> {
        Error::if_no_room(&mut self.open, text.len(), "")?;
        let mut open = std::mem::take(&mut self.open);
        open.extend_from_slice(text);
        let end = if last { open.len() } else { self.last_cut(&open, text.len()).unwrap_or(0) };
        let mut jobs = Vec::new();
        let text = Text::Bytes(&open[..end]);
        self.jobs((&text, end), threads, &mut jobs);
        self.count((&jobs, end), threads, stop)?;
        open.drain(..end);
        self.open = open;
        self.next.1 += end as u64;
        if last {
            self.next = (self.next.0 + 1, 0);
            self.sums.documents.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts the documents in the rows of a block, which has whole lines only, and says how many lines. A row that is
    /// skipped has a number too.
    ///
    /// # Errors
    /// Those of [`Self::add`] and of `refuse`, of the first row that has one.
    pub fn add_rows(
        &mut self,
        (block, field): (&[u8], &str),
        refuse: &Refuse<'_>,
        threads: usize,
        stop: &Stop,
    ) -> Result<usize> {
        let rows = Rows::new(block);
        let (count, next) = (rows.places.len(), self.next);
        self.each(count, (usable(threads, block.len()), stop), |row, work, _| {
            let place = (next.0 + row as u64, if row == 0 { next.1 } else { 0 });
            match jsonl::text(rows.row(row), field) {
                Ok(text) => {
                    self.sums.documents.fetch_add(1, Ordering::Relaxed);
                    work.document(&self.shared, Text::Str(&text), place, stop)
                }
                Err(problem) => refuse(rows.places[row].line as usize, &problem),
            }
        })?;
        if count > 0 {
            self.next = (next.0 + count as u64, 0);
        }
        Ok(rows.lines as usize)
    }

    /// The parts of a document of about so many bytes, each with its position. One thread counts it whole.
    fn jobs<'d, D: TextSource>(
        &self,
        (document, size): (&'d D, usize),
        threads: usize,
        jobs: &mut Vec<CountJob<'d, D>>,
    ) {
        if threads == 1 || size <= PART {
            jobs.push(CountJob { document, part: None, place: self.next });
            return;
        }
        let (number, before) = self.next;
        jobs.extend(document.parts(self.cuts.as_ref(), PART).into_iter().map(|part| CountJob {
            document,
            part: Some(part),
            place: (number, before + part.byte as u64),
        }));
    }

    /// The last cut of a text that goes on, whose last `new` bytes have not been searched.
    fn last_cut(&self, text: &[u8], new: usize) -> Option<usize> {
        let cuts = self.cuts.as_ref()?;
        let first = text.len().saturating_sub(new + 2 * WINDOW);
        let windows = (first..=text.len().checked_sub(WINDOW)?).rev().step_by(WINDOW);
        windows.into_iter().find_map(|from| cuts.find(text, from, &AddedTokens::default()))
    }

    /// Counts the jobs of documents that have so many bytes together.
    fn count<D: TextSource>(
        &self,
        (jobs, bytes): (&[CountJob<'_, D>], usize),
        threads: usize,
        stop: &Stop,
    ) -> Result<()> {
        self.each(jobs.len(), (usable(threads, bytes), stop), |job, work, room| {
            let CountJob { document, part, place } = jobs[job];
            let text = match part {
                Some(part) => document.read_part(part, room),
                None => document.read(room),
            };
            work.document(&self.shared, text, place, stop)
        })
    }

    /// Does `work` for every job, with a table and room for a text for each thread.
    fn each(
        &self,
        jobs: usize,
        (threads, stop): (usize, &Stop),
        work: impl Fn(usize, &mut Work, &mut Vec<u8>) -> Result<()> + Sync,
    ) -> Result<()> {
        let most = self.tables_for(threads);
        map(jobs, most, stop, |items| {
            let mut room = Vec::new();
            self.with_table(most, |own| items.each_item(|job| work(job, own, &mut room)));
        })?;
        Ok(())
    }

    /// How many threads may have a table.
    fn tables_for(&self, threads: usize) -> usize {
        self.shared.limits.memory.map_or(threads, |memory| threads.min(memory >> 20).max(1))
    }

    /// Does `work` with the table of a thread, one of `most`.
    fn with_table(&self, most: usize, work: impl FnOnce(&mut Work)) {
        let table = locked(&self.tables).pop().unwrap_or_else(|| TallyTable::new(self.seeds));
        let room = self.shared.limits.memory.map_or(usize::MAX, |memory| memory / most / 2);
        let mut own = Work::new(table, room);
        work(&mut own);
        self.sums.add(&own);
        locked(&self.tables).push(own.table);
    }

    /// What was counted so far.
    #[must_use]
    pub fn totals(&self) -> CountTotals {
        let get = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        CountTotals {
            documents: get(&self.sums.documents),
            bytes: get(&self.sums.bytes),
            long: LeftOut { pieces: get(&self.sums.long_pieces), bytes: get(&self.sums.long_bytes) },
            runs: locked(&self.shared.runs).count,
        }
    }

    /// About how many bytes of pieces [`Self::finish`] puts in order.
    #[must_use]
    pub fn unordered(&self) -> usize {
        if locked(&self.shared.runs).count > 0 {
            return usize::MAX;
        }
        locked(&self.tables).iter().map(TallyTable::memory).sum()
    }

    /// The position of the next document.
    #[must_use]
    pub fn next(&self) -> (u64, u64) {
        self.next
    }

    /// All pieces that occur at least `min_count` times, and those left out.
    ///
    /// # Errors
    /// [`crate::Error::Corpus`] for a full disk and [`crate::Error::Interrupted`].
    pub fn finish(self, min_count: u64, threads: usize, stop: &Stop) -> Result<(Arena, Rare)> {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Shared { limits, runs, .. } = self.shared;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut rare = Dropping::default();
        if runs.count == 0 {
            let table = together(tables, threads, stop)?;
            if min_count > 1 {
                table.each(|piece, tally| {
                    if tally.count < min_count {
                        rare.add(piece, tally.count);
                    }
                    Ok(())
                })?;
            }
            return Ok((in_order(&table, min_count, threads, stop)?, rare.done()));
        }
        for table in tables {
            runs.push(Run::write(&Arena::of(&table), &limits.folder)?, stop)?;
        }
        let mut arena = Arena::default();
        runs.merge(stop, |piece, tally| {
            if tally.count >= min_count {
                arena.push(piece, tally);
            } else {
                rare.add(piece, tally.count);
            }
            Ok(())
        })?;
        Ok((arena.by_position(), rare.done()))
    }
}

/// One table with the tallies of all. Pairs of tables are added up, several pairs at a time.
fn together(mut tables: Vec<TallyTable>, threads: usize, stop: &Stop) -> Result<TallyTable> {
    while tables.len() > 1 {
        stop.check()?;
        // A large table takes over a small one.
        tables.sort_by_key(TallyTable::unique);
        let pairs: Vec<_> = (0..tables.len() / 2).map(|_| Mutex::new((tables.pop(), tables.remove(0)))).collect();
        map(pairs.len(), threads, stop, |items| {
            items.each_item(|pair| {
                let (large, small) = &mut *locked(&pairs[pair]);
                large.as_mut().map_or(Ok(()), |large| large.absorb(small))
            });
        })?;
        let done = pairs.into_iter().filter_map(|pair| pair.into_inner().unwrap_or_else(PoisonError::into_inner).0);
        tables.extend(done);
    }
    Ok(tables.pop().unwrap_or_else(|| TallyTable::new(Seeds::default())))
}

fn usable(threads: usize, bytes: usize) -> usize {
    if bytes < ALONE { 1 } else { threads }
}
