//! The scheduler: runs jobs of one source on several threads and delivers results in order.
//!
//! Threads live for one call, so that nothing must be rebuilt after a fork. The source makes jobs one at a time, under
//! a lock. Only the caller's thread takes results, and it polls for signals. It also does jobs between two polls,
//! unless a job can take too long for that.
//!
//! Neither results nor errors depend on the number of threads. The returned error is that of the first failing job,
//! because every job before it was started and is finished. A panic of any thread reaches the caller.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

/// The polling interval of the caller's thread.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// The most started jobs whose results the sink does not have.
const IN_FLIGHT: usize = 1 << 10;

/// A flag that another thread raises to end a call early.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Requests the end of the call.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// [`Error::Interrupted`] once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// The settings of a run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The threads that do jobs, at least one.
    pub threads: usize,
    /// Whether a job can take so long that the caller's thread, which must poll, does none.
    pub watched: bool,
    /// Ends the call with [`Error::Interrupted`]. The scheduler raises it if the remaining jobs are not needed.
    pub stop: &'a Stop,
}

/// A job or a result, with the number of the job.
type Numbered<T> = (usize, Result<T>);

/// The jobs of one thread.
pub struct Jobs<'a, J, T> {
    /// Takes the result of the last job, and returns the next job.
    turn: &'a mut dyn FnMut(Option<Numbered<T>>) -> Option<Numbered<J>>,
    stop: &'a Stop,
}

impl<J, T> Jobs<'_, J, T> {
    /// Runs `work` for every job of this thread.
    pub fn for_each(&mut self, mut work: impl FnMut(J) -> Result<T>) {
        let mut result = None;
        while let Some((number, job)) = (self.turn)(result.take()) {
            result = Some((number, job.and_then(&mut work)));
        }
    }
}

impl<T> Jobs<'_, Range<usize>, Vec<T>> {
    /// Runs `work` for every item of every range of this thread.
    pub fn for_each_item(&mut self, mut work: impl FnMut(usize) -> Result<T>) {
        let stop = self.stop;
        self.for_each(|items| items.map(|item| stop.check().and_then(|()| work(item))).collect());
    }
}

/// The source of the jobs, and the finished results.
struct JobQueue<F, T> {
    next: F,
    started: usize,
    /// The number of results delivered to the sink.
    delivered: usize,
    /// The first job that is not done: the source ended there, or the job failed.
    end: usize,
    /// Results that wait for the sink.
    results: BTreeMap<usize, Result<T>>,
    /// The threads other than the caller's that can still deliver results.
    working: usize,
}

impl<F, T> JobQueue<F, T> {
    /// Whether the sink must get results before another job starts.
    fn is_full(&self) -> bool {
        self.started < self.end && self.started - self.delivered >= IN_FLIGHT
    }

    fn next_job<J>(&mut self, stop: &Stop) -> Option<Numbered<J>>
    where
        F: FnMut() -> Result<Option<J>>,
    {
        if self.started >= self.end {
            return None;
        }
        let next = stop.check().and_then(|()| (self.next)()).transpose();
        let number = self.started;
        self.started += usize::from(next.is_some());
        if !matches!(next, Some(Ok(_))) {
            self.end = self.started;
        }
        next.map(|job| (number, job))
    }

    /// The results that are next in order, the error that ends them, and the number of the job after them.
    fn take_ready(&mut self) -> (Vec<T>, Result<()>, usize) {
        let (mut ready, mut first) = (Vec::new(), self.delivered);
        while let Some(result) = self.results.remove(&first) {
            first += 1;
            match result {
                Ok(result) => ready.push(result),
                Err(error) => return (ready, Err(error), first),
            }
        }
        (ready, Ok(()), first)
    }
}

/// The state that all threads share.
struct Scheduler<'a, F, T> {
    queue: Mutex<JobQueue<F, T>>,
    /// Signalled when more jobs can start, or when none will.
    room: Condvar,
    /// Signalled when there is a result, or a thread ends.
    news: Condvar,
    stop: &'a Stop,
}

impl<F, T> Scheduler<'_, F, T> {
    /// Stores the result of a job. A failed one ends the run there.
    fn finish_job(&self, result_of_job: Option<Numbered<T>>) -> MutexGuard<'_, JobQueue<F, T>> {
        let mut queue = lock(&self.queue);
        if let Some((number, result)) = result_of_job {
            if result.is_err() {
                queue.end = queue.end.min(number);
                self.room.notify_all();
            }
            queue.results.insert(number, result);
            self.news.notify_all();
        }
        queue
    }

    /// Does jobs on a thread other than the caller's.
    fn run<J>(&self, work: &impl Fn(&mut Jobs<'_, J, T>))
    where
        F: FnMut() -> Result<Option<J>>,
    {
        let _ends = ThreadEnd(self, 1);
        let turn = &mut |done| {
            let queue = self.room.wait_while(self.finish_job(done), |queue| queue.is_full());
            queue.unwrap_or_else(PoisonError::into_inner).next_job(self.stop)
        };
        work(&mut Jobs { turn, stop: self.stop });
    }

    /// Ends the run, including jobs already started.
    fn abort(&self) {
        lock(&self.queue).end = 0;
        self.room.notify_all();
        self.stop.raise();
    }
}

/// On drop, records that a thread has ended, possibly by a panic. The caller's thread counts as zero threads.
struct ThreadEnd<'a, F, T>(&'a Scheduler<'a, F, T>, usize);

impl<F, T> Drop for ThreadEnd<'_, F, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
        lock(&self.0.queue).working -= self.1;
        self.0.news.notify_all();
    }
}

/// Does the jobs of `next` until it returns None; `sink` gets the results in order on the caller's thread, some at a
/// time. It is called (with none, if need be) at least every 50 ms while no job of the caller's thread takes longer.
/// Each thread runs `work` once. If the system refuses a thread, the run goes on without it.
///
/// # Errors
/// That of the first failing job (by number), from `next` or from `work`; or that of `sink`.
pub fn run_ordered<J: Send, T: Send>(
    plan: Plan<'_>,
    next: impl FnMut() -> Result<Option<J>> + Send,
    work: impl Fn(&mut Jobs<'_, J, T>) + Sync,
    mut sink: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<()> {
    let Plan { threads, watched, stop } = plan;
    let queue = JobQueue { next, started: 0, delivered: 0, end: usize::MAX, results: BTreeMap::new(), working: 0 };
    let scheduler = &Scheduler { queue: Mutex::new(queue), room: Condvar::new(), news: Condvar::new(), stop };
    let mut outcome = Ok(());
    std::thread::scope(|scope| {
        let work = &work;
        let _panics = ThreadEnd(scheduler, 0);
        let start = |_| {
            lock(&scheduler.queue).working += 1;
            let started = std::thread::Builder::new().spawn_scoped(scope, move || scheduler.run(work)).ok();
            lock(&scheduler.queue).working -= usize::from(started.is_none());
            started
        };
        let count = if watched { threads.max(1) } else { threads.saturating_sub(1) };
        let others: Vec<_> = (0..count).map_while(start).collect();
        // Passes the finished results to the sink, perhaps none; after an error, nothing more. Returns whether more can
        // come.
        let mut hand_over = |waits: bool| {
            let mut queue = lock(&scheduler.queue);
            if waits {
                let nothing =
                    |queue: &mut JobQueue<_, T>| queue.working > 0 && !queue.results.contains_key(&queue.delivered);
                let waited = scheduler.news.wait_timeout_while(queue, POLL_EVERY, nothing);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let (more, (ready, failed, first)) = (queue.working > 0, queue.take_ready());
            drop(queue);
            if outcome.is_ok() {
                outcome = sink(ready).and(failed);
                if outcome.is_err() {
                    scheduler.abort();
                }
            }
            lock(&scheduler.queue).delivered = first;
            scheduler.room.notify_all();
            more
        };
        if !watched || others.is_empty() {
            let turn = &mut |done: Option<Numbered<T>>| {
                if done.is_some() {
                    drop(scheduler.finish_job(done));
                    hand_over(false);
                }
                loop {
                    let mut queue = lock(&scheduler.queue);
                    if !queue.is_full() {
                        return queue.next_job(stop);
                    }
                    drop(queue);
                    hand_over(true);
                }
            };
            work(&mut Jobs { turn, stop });
        }
        // Without other threads there is nothing to wait for, and perhaps no clock.
        while !others.is_empty() && hand_over(true) {}
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    outcome
}

/// Returns the results for every item in `0..count`, in order. Each thread takes ranges of items, which can be small.
///
/// # Errors
/// That of the first failing item (by number); items after it can be left undone.
pub fn map_items<T: Send>(
    count: usize,
    threads: usize,
    stop: &Stop,
    work: impl Fn(&mut Jobs<'_, Range<usize>, Vec<T>>) + Sync,
) -> Result<Vec<T>> {
    let threads = threads.clamp(1, count.max(1));
    // Large enough that the lock is not a bottleneck, small enough that the last ranges even out.
    let size = (count / (threads * 64)).clamp(1, 1024);
    let mut starts = (0..count).step_by(size);
    let next = || Ok(starts.next().map(|start| start..count.min(start + size)));
    let mut all = Vec::with_capacity(count);
    run_ordered(Plan { threads, watched: false, stop }, next, work, |ready| {
        all.extend(ready.into_iter().flatten());
        Ok(())
    })?;
    Ok(all)
}

/// Locks a mutex, also after a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Numbers of threads, and whether the caller's thread only polls.
    const THREADS: [(usize, bool); 5] = [(1, false), (1, true), (2, true), (7, false), (7, true)];

    /// A thousand jobs, each its number.
    fn run_thousand<T: Send>(
        (threads, watched): (usize, bool),
        stop: &Stop,
        work: impl Fn(usize) -> Result<T> + Sync,
        sink: impl FnMut(Vec<T>) -> Result<()>,
    ) -> Result<()> {
        let mut jobs = 0..1000;
        run_ordered(Plan { threads, watched, stop }, || Ok(jobs.next()), |jobs| jobs.for_each(&work), sink)
    }

    fn fail_at(places: impl Fn(usize) -> bool) -> impl Fn(usize) -> Result<usize> {
        move |job| if places(job) { Err(Error::model(job.to_string(), None)) } else { Ok(job) }
    }

    #[test]
    fn results_keep_their_order() {
        for threads in THREADS {
            let mut all = Vec::new();
            let sink = |ready: Vec<usize>| {
                all.extend(ready);
                Ok(())
            };
            run_thousand(threads, &Stop::default(), |job| Ok(job * job), sink).unwrap();
            assert!(all.len() == 1000 && all.iter().enumerate().all(|(job, &square)| square == job * job));
        }
    }

    #[test]
    fn the_callers_thread_does_no_job_of_a_watched_call() {
        let caller = std::thread::current().id();
        for (threads, watched) in THREADS {
            let work = |_| Ok(std::thread::current().id() == caller);
            let sink = |ready: Vec<bool>| {
                assert!(ready.iter().all(|&own| if watched { !own } else { own || threads > 1 }));
                Ok(())
            };
            run_thousand((threads, watched), &Stop::default(), work, sink).unwrap();
        }
    }

    #[test]
    fn the_sink_is_called_during_a_long_job() {
        let looked = AtomicUsize::new(0);
        let work = |job| {
            while job == 0 && looked.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            Ok(job)
        };
        let sink = |_: Vec<usize>| {
            looked.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        run_thousand((1, true), &Stop::default(), work, sink).unwrap();
    }

    #[test]
    fn an_error_waits_for_the_jobs_before_it() {
        for (first_fails, failed) in [(false, "1"), (true, "0")] {
            let late = AtomicUsize::new(0);
            let work = |job: usize| {
                // The second job fails before the first is done.
                while job == 0 && late.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                late.fetch_add(usize::from(job == 1), Ordering::Relaxed);
                fail_at(|job| job == 1 || first_fails)(job)
            };
            let outcome = run_thousand((2, false), &Stop::default(), work, |_| Ok(()));
            assert_eq!(outcome, Err(Error::model(failed, None)));
        }
    }

    #[test]
    fn the_first_error_wins_and_ends_the_work() {
        let fail = fail_at(|job| job % 300 == 299);
        for threads in THREADS {
            let mut taken = 0;
            let sink = |ready: Vec<usize>| {
                taken += ready.len();
                Ok(())
            };
            let outcome = run_thousand(threads, &Stop::default(), &fail, sink);
            assert_eq!((outcome, taken), (Err(Error::model("299", None)), 299));
            let refusing = |ready: Vec<usize>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) };
            let stop = Stop::default();
            let outcome = run_thousand(threads, &stop, &fail, refusing);
            assert_eq!((outcome, stop.check()), (Err(Error::Interrupted), Err(Error::Interrupted)));
            let items = map_items(1000, threads.0, &Stop::default(), |items| items.for_each_item(&fail));
            assert_eq!(items, Err(Error::model("299", None)));
        }
    }

    #[test]
    fn a_raised_stop_and_an_error_of_the_source_end_the_work() {
        for (threads, watched) in THREADS {
            let stop = Stop::default();
            let raise = |job| {
                if job == 300 {
                    stop.raise();
                }
                Ok(job)
            };
            assert_eq!(run_thousand((threads, watched), &stop, raise, |_| Ok(())), Err(Error::Interrupted));
            let (mut given, mut taken) = (0, 0);
            let next = || {
                given += 1;
                if given > 300 { Err(Error::model("source", None)) } else { Ok(Some(given)) }
            };
            let plan = Plan { threads, watched, stop: &Stop::default() };
            let sink = |ready: Vec<usize>| {
                taken += ready.len();
                Ok(())
            };
            let outcome = run_ordered(plan, next, |jobs| jobs.for_each(Ok), sink);
            assert_eq!((outcome, given, taken), (Err(Error::model("source", None)), 301, 300));
        }
    }

    #[test]
    fn the_number_of_undelivered_jobs_is_bounded() {
        let (given, handed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let next = || {
            let number = given.fetch_add(1, Ordering::Relaxed);
            assert!(number < handed.load(Ordering::Relaxed) + IN_FLIGHT);
            Ok(Some(number).filter(|&number| number < 4 * IN_FLIGHT))
        };
        let work = |number| {
            // All jobs that can start do, and some time passes in which others could start.
            while number == 0 && given.load(Ordering::Relaxed) < IN_FLIGHT {
                std::thread::yield_now();
            }
            (0..1000).filter(|_| number == 0).for_each(|_| std::thread::yield_now());
            Ok(())
        };
        let plan = Plan { threads: 3, watched: false, stop: &Stop::default() };
        let sink = |ready: Vec<()>| {
            handed.fetch_add(ready.len(), Ordering::Relaxed);
            Ok(())
        };
        run_ordered(plan, next, |jobs| jobs.for_each(work), sink).unwrap();
        assert_eq!(handed.into_inner(), 4 * IN_FLIGHT);
    }

    #[test]
    fn a_panic_of_any_thread_reaches_the_caller() {
        for (threads, watched) in THREADS {
            let mut jobs = 0..4 * IN_FLIGHT;
            let work = |job: usize| if job == 500 { panic!("job {job}") } else { Ok(job) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let plan = Plan { threads, watched, stop: &Stop::default() };
                run_ordered(plan, || Ok(jobs.next()), |jobs| jobs.for_each(work), |_: Vec<usize>| Ok(()))
            }));
            assert_eq!(outcome.unwrap_err().downcast_ref::<String>().unwrap(), "job 500");
        }
    }

    #[test]
    fn a_run_without_jobs_ends() {
        let stop = Stop::default();
        let plan = Plan { threads: 3, watched: true, stop: &stop };
        let sink = |ready: Vec<()>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) };
        run_ordered(plan, || Ok(None), |jobs| jobs.for_each(Ok), sink).unwrap();
        assert!(map_items(0, 3, &stop, |items| items.for_each_item(Ok)).unwrap().is_empty());
    }
}
