//! Many texts in one call: jobs of several texts each, whose results become Python objects while others are worked on.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use toksmith_core::Error;
use toksmith_core::threads::parallel::{Jobs, Plan, Stop, in_order};

use crate::call::{WATCHED, call, signals, weight_of};

/// A job has at most about as many bytes, unless one text has more.
const LARGEST_JOB: usize = 1 << 17;
/// A job has at least about as many bytes: less is done sooner than a thread starts.
const SMALLEST_JOB: usize = 1 << 14;
/// What a text costs, in bytes, beside its bytes.
const PER_TEXT: usize = 64;
/// How long a signal may wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How a batch is divided.
pub struct Load {
    jobs: Vec<(Range<usize>, usize)>,
    size: usize,
    threads: usize,
    searches: bool,
}

impl Load {
    /// Divides texts of these sizes, in bytes, among threads; whether regexes search in them.
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

    /// About how many bytes the texts of a job have.
    pub fn size(&self, job: usize) -> usize {
        self.jobs[job].1
    }

    /// About how much of the batch a job is, of [`WHOLE`].
    fn share(&self, job: usize) -> usize {
        (self.size(job) as u128 * WHOLE as u128 / self.size as u128) as usize
    }

    /// Runs `work` once on each thread, for the jobs that it gets; `sink` gets the results in order, in this thread,
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
            let mut looked = Instant::now();
            in_order(
                plan,
                || Ok(jobs.next()),
                |jobs| work(jobs, stop),
                |ready| {
                    refused = sink(ready).and_then(|()| look(&mut looked));
                    if refused.is_ok() { Ok(()) } else { Err(Error::Interrupted) }
                },
            )
        });
        refused.and(outcome)
    }
}

/// Lets signals interrupt the call, if they have waited long enough.
fn look(looked: &mut Instant) -> PyResult<()> {
    if looked.elapsed() < LOOK_EVERY {
        return Ok(());
    }
    *looked = Instant::now();
    signals()
}

/// The results of several texts, one after another, and where each ends.
#[derive(Default)]
pub struct Parts<T> {
    pub all: Vec<T>,
    pub ends: Vec<usize>,
    /// About how much of the batch these texts are, of [`WHOLE`].
    share: usize,
}

impl<T> Parts<T> {
    /// Drops all results and keeps the room.
    pub fn clear(&mut self) {
        self.all.clear();
        self.ends.clear();
    }

    /// Ends a text here.
    pub fn end(&mut self) {
        self.ends.push(self.all.len());
    }

    /// The part of each text.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.all[start..end])
    }
}

/// Room for results that was used and is free again. A thread that frees much memory gives it back to the system, and then
/// takes new pages.
pub struct Spare<T>(Mutex<Vec<Parts<T>>>);

impl<T> Spare<T> {
    /// None so far.
    pub fn new() -> Self {
        Self(Mutex::default())
    }

    /// Room for the results of a job, and for about so many of them.
    pub fn take(&self, load: &Load, job: usize, room: usize) -> Parts<T> {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || Parts { all: Vec::with_capacity(room), ends: Vec::with_capacity(load.texts(job).len()), share: 0 };
        Parts { share: load.share(job), ..used.unwrap_or_else(new) }
    }

    /// Takes back what was read, except for what very long texts took.
    pub fn give(&self, results: impl IntoIterator<Item = Parts<T>>) {
        let usual = results.into_iter().filter(|parts| parts.all.capacity() <= 2 * LARGEST_JOB);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(usual.map(|mut parts| {
            parts.clear();
            parts
        }));
    }
}

impl Spare<u32> {
    /// Room for the ids of a job.
    pub fn for_ids(&self, load: &Load, job: usize) -> Parts<u32> {
        self.take(load, job, load.size(job) / 3)
    }
}

/// A whole batch, and the share of it that says how many ids the rest has.
const WHOLE: usize = 1 << 24;
const ENOUGH: usize = WHOLE / 8;

/// The ids of several texts, one after another, and where those of each end.
#[derive(Default)]
pub struct Joined {
    pub ids: Vec<u32>,
    pub ends: Vec<u64>,
    /// About how much of the batch is here, of [`WHOLE`].
    share: usize,
}

impl Joined {
    /// Takes results in. The first may be all that there is, and is not in memory twice.
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

    /// Takes results in as they come, and gives their room back.
    pub fn sink<'a>(&'a mut self, spare: &'a Spare<u32>) -> impl FnMut(Vec<Parts<u32>>) -> PyResult<()> + Send + 'a {
        |mut parts| {
            self.take(&mut parts);
            spare.give(parts);
            Ok(())
        }
    }

    /// Makes room for so many ids. Once enough is here, makes room for all that will come if the rest of the batch is like
    /// it: each time the ids move to more memory, the system has to give new pages.
    fn make_room(&mut self, more: usize) {
        let (here, needed) = (self.ids.len(), self.ids.len() + more);
        if needed > self.ids.capacity() && self.share >= ENOUGH {
            let whole = needed as u128 * WHOLE as u128 / self.share as u128;
            let room = (whole + whole / 8) as usize;
            // If there is no room for what may come, the ids have to ask for what they need.
            let _ = self.ids.try_reserve_exact(room.saturating_sub(here));
        }
    }
}

/// Ids in memory that is at most twice as large as they need.
pub fn fitting(mut ids: Vec<u32>) -> Vec<u32> {
    if ids.len() < ids.capacity() / 2 {
        ids.shrink_to_fit();
    }
    ids
}

/// Results that wait until making Python objects of them is worth taking the GIL.
pub struct Objects<'s, T, F> {
    waiting: Vec<Parts<T>>,
    spare: &'s Spare<T>,
    count: usize,
    made: Vec<Py<PyAny>>,
    make: F,
}

/// How many ids or bytes wait before the GIL is taken.
const WAITING: usize = 1 << 16;

impl<'s, T, F: for<'py> Fn(Python<'py>, &[T]) -> PyResult<Bound<'py, PyAny>>> Objects<'s, T, F> {
    /// Nothing so far; `make` makes an object of each part, and `spare` gets the room.
    pub fn new(make: F, spare: &'s Spare<T>) -> Self {
        Self { waiting: Vec::new(), spare, count: 0, made: Vec::new(), make }
    }

    /// Takes results in.
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
