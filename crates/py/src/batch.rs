//! Runs many texts in one call as jobs, whose results become Python objects while other jobs run.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use toksmith_core::Error;
use toksmith_core::threads::parallel::{Jobs, Plan, Stop, run_ordered};

use crate::call::{WATCHED, call, check_signals, weight_of};

/// The approximate maximum of a job's bytes, unless one text has more.
const LARGEST_JOB: usize = 1 << 17;
/// The approximate minimum of a job's bytes: less is done sooner than a thread starts.
const SMALLEST_JOB: usize = 1 << 14;
/// The cost of a text, in bytes, in addition to its bytes.
const PER_TEXT: usize = 64;
/// The longest delay of a signal.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The division of a batch into jobs.
pub struct JobPlan {
    jobs: Vec<(Range<usize>, usize)>,
    size: usize,
    threads: usize,
    searches: bool,
}

impl JobPlan {
    /// Divides texts of these sizes, in bytes, among threads; `searches` is true if regexes search them.
    pub fn new(sizes: impl Iterator<Item = usize> + Clone, threads: usize, searches: bool) -> Self {
        let size: usize = sizes.clone().map(|size| size + PER_TEXT).sum();
        let enough = (size / threads.saturating_mul(16)).clamp(SMALLEST_JOB, LARGEST_JOB);
        let mut jobs = Vec::new();
        let (mut job, mut texts) = (0, 0..0);
        for text in sizes {
            texts.end += 1;
            job += text + PER_TEXT;
            if job >= enough {
                jobs.push((texts.clone(), job));
                (job, texts) = (0, texts.end..texts.end);
            }
        }
        if !texts.is_empty() {
            jobs.push((texts, job));
        }
        Self { jobs, size, threads, searches }
    }

    /// The texts of a job.
    pub fn texts(&self, job: usize) -> Range<usize> {
        self.jobs[job].0.clone()
    }

    /// The approximate bytes of a job's texts.
    pub fn size(&self, job: usize) -> usize {
        self.jobs[job].1
    }

    /// The approximate share of a job in the batch, as a part of [`WHOLE`].
    fn share(&self, job: usize) -> usize {
        (self.size(job) as u128 * WHOLE as u128 / self.size as u128) as usize
    }

    /// Runs `work` once on each thread, for the thread's jobs; `sink` gets the results in order, on this thread,
    /// without the GIL unless the batch is small.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&mut Jobs<'_, usize, T>, &Stop) + Sync,
        mut sink: impl FnMut(Vec<T>) -> PyResult<()> + Send,
    ) -> PyResult<()> {
        let mut refused = Ok(());
        let is_long = |job| weight_of(self.texts(job).len(), self.size(job), self.searches) >= WATCHED;
        let mut jobs = 0..self.jobs.len();
        let watched = jobs.clone().any(is_long);
        let outcome = call(py, self.size.min(WATCHED - 1), |stop| {
            let threads = self.threads.min(self.jobs.len());
            let plan = Plan { threads, watched, stop };
            let mut last_check = Instant::now();
            run_ordered(
                plan,
                || Ok(jobs.next()),
                |jobs| work(jobs, stop),
                |ready| {
                    refused = sink(ready).and_then(|()| poll_signals(&mut last_check));
                    if refused.is_ok() { Ok(()) } else { Err(Error::Interrupted) }
                },
            )
        });
        refused.and(outcome)
    }
}

/// Handles signals, if the last check is long enough ago.
fn poll_signals(last_check: &mut Instant) -> PyResult<()> {
    if last_check.elapsed() < LOOK_EVERY {
        return Ok(());
    }
    *last_check = Instant::now();
    check_signals()
}

/// The results of several texts, one after another, with their ends.
#[derive(Default)]
pub struct Parts<T> {
    pub all: Vec<T>,
    pub ends: Vec<usize>,
    /// The approximate share of these texts in the batch, as a part of [`WHOLE`].
    share: usize,
}

impl<T> Parts<T> {
    /// Drops all results and keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        self.ends.clear();
    }

    /// Ends the current text.
    pub fn end(&mut self) {
        self.ends.push(self.all.len());
    }

    /// The part of each text.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.all[start..end])
    }
}

/// Reusable buffers for results. A thread that frees much memory returns it to the system, and then gets new pages.
pub struct BufferPool<T>(Mutex<Vec<Parts<T>>>);

impl<T> BufferPool<T> {
    pub fn new() -> Self {
        Self(Mutex::default())
    }

    /// A buffer for the results of a job, with room for about `room` of them.
    pub fn take(&self, load: &JobPlan, job: usize, room: usize) -> Parts<T> {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || Parts { all: Vec::with_capacity(room), ends: Vec::with_capacity(load.texts(job).len()), share: 0 };
        Parts { share: load.share(job), ..used.unwrap_or_else(new) }
    }

    /// Takes buffers back, except buffers of very long texts.
    pub fn give(&self, results: impl IntoIterator<Item = Parts<T>>) {
        let usual = results.into_iter().filter(|parts| parts.all.capacity() <= 2 * LARGEST_JOB);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(usual.map(|mut parts| {
            parts.clear();
            parts
        }));
    }
}

/// The unit of shares: a whole batch.
const WHOLE: usize = 1 << 24;
const ENOUGH: usize = WHOLE / 8;

/// The ids of several texts, one after another, with their ends.
#[derive(Default)]
pub struct JoinedIds {
    pub ids: Vec<u32>,
    pub ends: Vec<u64>,
    /// The approximate share of the batch that has arrived, as a part of [`WHOLE`].
    share: usize,
}

impl JoinedIds {
    /// Appends results. The first is taken over without a copy.
    fn take(&mut self, parts: &mut [Parts<u32>]) {
        for part in parts {
            self.ends.extend(part.ends.iter().map(|&end| (self.ids.len() + end) as u64));
            self.share += part.share;
            if self.ids.is_empty() {
                std::mem::swap(&mut self.ids, &mut part.all);
            } else {
                self.make_room(part.all.len());
                self.ids.extend_from_slice(&part.all);
            }
        }
    }

    /// A sink that appends results in order and returns their buffers.
    pub fn sink<'a>(
        &'a mut self,
        spare: &'a BufferPool<u32>,
    ) -> impl FnMut(Vec<Parts<u32>>) -> PyResult<()> + Send + 'a {
        |mut parts| {
            self.take(&mut parts);
            spare.give(parts);
            Ok(())
        }
    }

    /// Makes room for `more` ids. Once enough of the batch has arrived, makes room for the expected rest: each time the
    /// ids move to more memory, the system must provide new pages.
    fn make_room(&mut self, more: usize) {
        let (here, needed) = (self.ids.len(), self.ids.len() + more);
        if needed > self.ids.capacity() && self.share >= ENOUGH {
            let whole = needed as u128 * WHOLE as u128 / self.share as u128;
            let room = (whole + whole / 8) as usize;
            // If the expected memory is not available, later calls request what they need.
            let _ = self.ids.try_reserve_exact(room.saturating_sub(here));
        }
    }
}

/// Ids in memory that is at most twice as large as needed.
pub fn shrink_ids(mut ids: Vec<u32>) -> Vec<u32> {
    if ids.len() < ids.capacity() / 2 {
        ids.shrink_to_fit();
    }
    ids
}

/// Results that wait until there are enough of them to take the GIL and make Python objects.
pub struct ObjectSink<'s, T, F> {
    waiting: Vec<Parts<T>>,
    spare: &'s BufferPool<T>,
    count: usize,
    made: Vec<Py<PyAny>>,
    make: F,
}

/// The waiting ids or bytes at which the GIL is taken.
const WAITING: usize = 1 << 16;

impl<'s, T, F: for<'py> Fn(Python<'py>, &[T]) -> PyResult<Bound<'py, PyAny>>> ObjectSink<'s, T, F> {
    /// An empty list; `make` makes an object of each part, and `spare` gets the buffers.
    pub fn new(make: F, spare: &'s BufferPool<T>) -> Self {
        Self { waiting: Vec::new(), spare, count: 0, made: Vec::new(), make }
    }

    pub fn take(&mut self, results: Vec<Parts<T>>) -> PyResult<()> {
        self.count += results.iter().map(|parts| parts.all.len()).sum::<usize>();
        self.waiting.extend(results);
        if self.count < WAITING { Ok(()) } else { Python::attach(|py| self.make_all(py)) }
    }

    fn make_all(&mut self, py: Python<'_>) -> PyResult<()> {
        self.count = 0;
        for part in self.waiting.iter().flat_map(Parts::iter) {
            self.made.push((self.make)(py, part)?.unbind());
        }
        self.spare.give(self.waiting.drain(..));
        Ok(())
    }

    /// All objects, in order.
    pub fn finish(mut self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.make_all(py)?;
        Ok(self.made)
    }
}
