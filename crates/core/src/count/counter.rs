//! Counts the pieces of documents on several threads. Each thread has its own table; the tables are added at the end.
//!
//! A table that exceeds the memory limit becomes a run on disk ([`crate::count::spill`]). Threads and runs do not
//! change a result: counts are sums, and the first position is the minimum.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::count::arena::Arena;
use crate::count::dropped::{LeftOut, Rare, RareCounter};
use crate::count::jsonl::{self, Rows};
use crate::count::sort::sort_pieces;
use crate::count::spill::Run;
use crate::count::tally::TallyTable;
use crate::count::worker::{CountLimits, CountShared, CountWorker};
use crate::encode::long_text::PART;
use crate::error::{Error, Result};
use crate::slots::key::Seeds;
use crate::split::special::AddedTokens;
use crate::split::text_cuts::{TextCuts, WINDOW};
use crate::split::text_source::{TextPart, TextSource};
use crate::split::{Splitter, Text};
use crate::threads::parallel::{Stop, lock, map_items};

/// Batches of fewer bytes are counted by one thread.
const ALONE: usize = 1 << 16;

/// The sums of a counter, without the pieces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountTotals {
    /// Documents.
    pub documents: u64,
    /// Bytes in the documents.
    pub bytes: u64,
    /// Pieces longer than the limit.
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
    fn add(&self, work: &CountWorker) {
        self.bytes.fetch_add(work.bytes, Ordering::Relaxed);
        self.long_pieces.fetch_add(work.long.pieces, Ordering::Relaxed);
        self.long_bytes.fetch_add(work.long.bytes, Ordering::Relaxed);
    }
}

/// Called with the line number of a bad row in the block and the problem. An error that it returns ends the counting.
pub type Refuse<'a> = dyn Fn(usize, &str) -> Result<()> + Sync + 'a;

/// A document, or a part of one, that a thread counts at a time.
struct CountJob<'d, D> {
    document: &'d D,
    /// None for the whole document.
    part: Option<TextPart>,
    /// Its position: document and byte.
    place: (u64, u64),
}

/// Counts the pieces of documents.
#[derive(Debug)]
pub struct Counter {
    shared: CountShared,
    /// The rule for cutting a long text.
    cuts: Option<TextCuts>,
    seeds: Seeds,
    tables: Mutex<Vec<TallyTable>>,
    sums: Sums,
    /// The position of the next document, or of the rest of the open one.
    next: (u64, u64),
    /// The rest of the open document. The text before it is counted, because no later text can change its pieces.
    open: Vec<u8>,
}

impl Counter {
    /// A counter without documents. `start` is the position of the first one: its number, and the byte in it.
    #[must_use]
    pub fn new(splitter: Arc<Splitter>, cuts: Option<TextCuts>, limits: CountLimits, start: (u64, u64)) -> Self {
        Self {
            shared: CountShared { splitter, limits, runs: Mutex::default() },
            cuts,
            seeds: Seeds::default(),
            tables: Mutex::default(),
            sums: Sums::default(),
            next: start,
            open: Vec::new(),
        }
    }

    /// Counts documents that follow all documents before. Several threads count the parts of a long one.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`], [`crate::Error::Interrupted`], [`crate::Error::Corpus`] for a full disk. Some of the
    /// documents can then be counted already.
    pub fn add<D: TextSource>(&mut self, documents: &[D], threads: usize, stop: &Stop) -> Result<()> {
        let (mut jobs, mut bytes) = (Vec::with_capacity(documents.len()), 0);
        for document in documents {
            let size = document.size();
            self.push_jobs((document, size), threads, &mut jobs);
            bytes += size;
            self.next = (self.next.0 + 1, 0);
        }
        self.count_jobs((&jobs, bytes), threads, stop)?;
        self.sums.documents.fetch_add(documents.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Adds text to a document that comes in parts; `last` marks its last part.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn feed(&mut self, text: &[u8], last: bool, threads: usize, stop: &Stop) -> Result<()> {
        Error::reserve(&mut self.open, text.len(), "")?;
        let mut open = std::mem::take(&mut self.open);
        open.extend_from_slice(text);
        let end = if last { open.len() } else { self.last_cut(&open, text.len()).unwrap_or(0) };
        let mut jobs = Vec::new();
        let text = Text::Bytes(&open[..end]);
        self.push_jobs((&text, end), threads, &mut jobs);
        self.count_jobs((&jobs, end), threads, stop)?;
        open.drain(..end);
        self.open = open;
        self.next.1 += end as u64;
        if last {
            self.next = (self.next.0 + 1, 0);
            self.sums.documents.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Counts the documents in a block of whole lines, and returns the number of lines. A skipped row has a number too.
    ///
    /// # Errors
    /// As [`Self::add`], and the errors of `refuse`, for the first row that has one.
    pub fn add_rows(
        &mut self,
        (block, field): (&[u8], &str),
        refuse: &Refuse<'_>,
        threads: usize,
        stop: &Stop,
    ) -> Result<usize> {
        let rows = Rows::new(block);
        let (count, next) = (rows.places.len(), self.next);
        self.run_jobs(count, (threads_for(threads, block.len()), stop), |row, work, _| {
            let place = (next.0 + row as u64, if row == 0 { next.1 } else { 0 });
            match jsonl::row_text(rows.row(row), field) {
                Ok(text) => {
                    self.sums.documents.fetch_add(1, Ordering::Relaxed);
                    work.count_document(&self.shared, Text::Str(&text), place, stop)
                }
                Err(problem) => refuse(rows.places[row].line as usize, &problem),
            }
        })?;
        if count > 0 {
            self.next = (next.0 + count as u64, 0);
        }
        Ok(rows.lines as usize)
    }

    /// Splits a document of `size` bytes into jobs with their positions. One thread counts it whole.
    fn push_jobs<'d, D: TextSource>(
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

    /// The last cut of an unfinished text whose last `new` bytes have not been searched.
    fn last_cut(&self, text: &[u8], new: usize) -> Option<usize> {
        let cuts = self.cuts.as_ref()?;
        let first = text.len().saturating_sub(new + 2 * WINDOW);
        let windows = (first..=text.len().checked_sub(WINDOW)?).rev().step_by(WINDOW);
        windows.into_iter().find_map(|from| cuts.find(text, from, &AddedTokens::default()))
    }

    /// Counts the jobs; `bytes` is the size of their documents together.
    fn count_jobs<D: TextSource>(
        &self,
        (jobs, bytes): (&[CountJob<'_, D>], usize),
        threads: usize,
        stop: &Stop,
    ) -> Result<()> {
        self.run_jobs(jobs.len(), (threads_for(threads, bytes), stop), |job, work, room| {
            let CountJob { document, part, place } = jobs[job];
            let text = match part {
                Some(part) => document.read_part(part, room),
                None => document.read(room),
            };
            work.count_document(&self.shared, text, place, stop)
        })
    }

    /// Runs `work` for every job, with a table and a text buffer for each thread.
    fn run_jobs(
        &self,
        jobs: usize,
        (threads, stop): (usize, &Stop),
        work: impl Fn(usize, &mut CountWorker, &mut Vec<u8>) -> Result<()> + Sync,
    ) -> Result<()> {
        let most = self.tables_for(threads);
        map_items(jobs, most, stop, |items| {
            let mut room = Vec::new();
            self.with_table(most, |worker| items.for_each_item(|job| work(job, worker, &mut room)));
        })?;
        Ok(())
    }

    /// The number of threads that can have a table within the memory limit.
    fn tables_for(&self, threads: usize) -> usize {
        self.shared.limits.memory.map_or(threads, |memory| threads.min(memory >> 20).max(1))
    }

    /// Runs `work` with a separate table, one of `most`.
    fn with_table(&self, most: usize, work: impl FnOnce(&mut CountWorker)) {
        let table = lock(&self.tables).pop().unwrap_or_else(|| TallyTable::new(self.seeds));
        let room = self.shared.limits.memory.map_or(usize::MAX, |memory| memory / most / 2);
        let mut worker = CountWorker::new(table, room);
        work(&mut worker);
        self.sums.add(&worker);
        lock(&self.tables).push(worker.table);
    }

    /// The sums so far.
    #[must_use]
    pub fn totals(&self) -> CountTotals {
        let get = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        CountTotals {
            documents: get(&self.sums.documents),
            bytes: get(&self.sums.bytes),
            long: LeftOut { pieces: get(&self.sums.long_pieces), bytes: get(&self.sums.long_bytes) },
            runs: lock(&self.shared.runs).count,
        }
    }

    /// The approximate bytes of the pieces that [`Self::finish`] must sort.
    #[must_use]
    pub fn unsorted_bytes(&self) -> usize {
        if lock(&self.shared.runs).count > 0 {
            return usize::MAX;
        }
        lock(&self.tables).iter().map(TallyTable::memory).sum()
    }

    /// The position of the next document.
    #[must_use]
    pub fn next_position(&self) -> (u64, u64) {
        self.next
    }

    /// All pieces that occur at least `min_count` times, and the sums of the rare ones.
    ///
    /// # Errors
    /// [`crate::Error::Corpus`] for a full disk and [`crate::Error::Interrupted`].
    pub fn finish(self, min_count: u64, threads: usize, stop: &Stop) -> Result<(Arena, Rare)> {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        let CountShared { limits, runs, .. } = self.shared;
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut rare = RareCounter::default();
        if runs.count == 0 {
            let table = merge_tables(tables, threads, stop)?;
            if min_count > 1 {
                table.for_each(|piece, tally| {
                    if tally.count < min_count {
                        rare.add(piece, tally.count);
                    }
                    Ok(())
                })?;
            }
            return Ok((sort_pieces(&table, min_count, threads, stop)?, rare.finish()));
        }
        for table in tables {
            runs.push(Run::write(&Arena::from_table(&table), &limits.folder)?, stop)?;
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
        Ok((arena.sort_by_position(), rare.finish()))
    }
}

/// Adds all tables into one, several pairs of tables at a time.
fn merge_tables(mut tables: Vec<TallyTable>, threads: usize, stop: &Stop) -> Result<TallyTable> {
    while tables.len() > 1 {
        stop.check()?;
        // The larger table of a pair absorbs the smaller one.
        tables.sort_by_key(TallyTable::unique);
        let pairs: Vec<_> = (0..tables.len() / 2).map(|_| Mutex::new((tables.pop(), tables.remove(0)))).collect();
        map_items(pairs.len(), threads, stop, |items| {
            items.for_each_item(|pair| {
                let (large, small) = &mut *lock(&pairs[pair]);
                large.as_mut().map_or(Ok(()), |large| large.absorb(small))
            });
        })?;
        let sums = pairs.into_iter().filter_map(|pair| pair.into_inner().unwrap_or_else(PoisonError::into_inner).0);
        tables.extend(sums);
    }
    Ok(tables.pop().unwrap_or_else(|| TallyTable::new(Seeds::default())))
}

fn threads_for(threads: usize, bytes: usize) -> usize {
    if bytes < ALONE { 1 } else { threads }
}
