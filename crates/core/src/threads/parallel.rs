//! The scheduler: jobs from one source, on several threads, whose results are taken in order.
//!
//! Threads live for one call, so that nothing has to be rebuilt after a fork. The source gives its jobs one at a time,
//! under a lock. The caller's thread works too, and it alone takes the results: between two jobs of its own, or when it
//! has nothing else to do. It has to look up now and then, and so leaves heavy jobs to others.
//!
//! Where a thread keeps what it learns for the next call, the plan may deal the jobs out in turn: each thread then gets the
//! same jobs in a second call, except for those that it is too late for.
//!
//! Neither results nor errors depend on the number of threads. The error that comes back is that of the first job that
//! has one, because every job before it was given out and is finished. A panic of any thread reaches the caller.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

/// How long the caller's thread waits before it looks up.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How many jobs may be given out whose results the sink does not have.
const IN_FLIGHT: usize = 1 << 10;
/// How many jobs for each thread may wait for another one whose turn it is.
const PATIENCE: usize = 4;

/// A flag that another thread raises to end a call early.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Asks the call to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// # Errors
    /// [`Error::Interrupted`] once the flag is raised.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// How jobs are done.
pub struct Plan<'a, J> {
    /// How many threads work at a time, at least one. The caller's is one of them, unless it may not take a job and there is
    /// no other.
    pub threads: usize,
    /// Which jobs take too long for a thread that has to look up; None if no job does.
    pub heavy: Option<&'a (dyn Fn(&J) -> bool + Sync)>,
    /// Whether the threads take turns: each job is for the next thread, unless that is far behind. The source may have to
    /// give a few jobs early.
    pub in_turn: bool,
    /// Ends the call with [`Error::Interrupted`]. The scheduler raises it when the rest need not be done.
    pub stop: &'a Stop,
}

/// A job or a result, with the number of the job.
type Numbered<T> = (usize, Result<T>);

/// A thread that takes jobs.
#[derive(Clone, Copy)]
struct Worker {
    /// 0 is the caller's.
    number: usize,
    /// Whether it may take heavy jobs.
    any: bool,
}

/// The jobs that one thread gets.
pub struct Jobs<'a, J, T> {
    thread: usize,
    /// Takes the result of the last job, and gives the next job.
    turn: &'a mut dyn FnMut(Option<Numbered<T>>) -> Option<Numbered<J>>,
    stop: &'a Stop,
}

impl<J, T> Jobs<'_, J, T> {
    /// The number of the thread; 0 is the caller's.
    #[must_use]
    pub fn thread(&self) -> usize {
        self.thread
    }

    /// Does `work` for every job that this thread gets.
    pub fn each(&mut self, mut work: impl FnMut(J) -> Result<T>) {
        let mut done = None;
        while let Some((number, job)) = (self.turn)(done.take()) {
            done = Some((number, job.and_then(&mut work)));
        }
    }
}

impl<T> Jobs<'_, Range<usize>, Vec<T>> {
    /// Does `work` for every item of every range that this thread gets.
    pub fn each_item(&mut self, mut work: impl FnMut(usize) -> Result<T>) {
        let stop = self.stop;
        self.each(|items| items.map(|item| stop.check().and_then(|()| work(item))).collect());
    }
}

/// The source of the jobs, and how far the work is.
struct Feed<'a, J, F> {
    plan: &'a Plan<'a, J>,
    next: F,
    /// Jobs that a thread left to others, by rising number.
    aside: VecDeque<(usize, J)>,
    /// How many jobs the source gave.
    given: usize,
    /// How many results the sink got.
    handed: usize,
    /// Jobs from this number on are not done: the source ended there, or the job failed.
    end: usize,
}

impl<J, F: FnMut() -> Result<Option<J>>> Feed<'_, J, F> {
    /// The next job of a thread, if there is one that may be given out now.
    fn take(&mut self, worker: Worker) -> Option<Numbered<J>> {
        let mut job = self.waiting(worker, true);
        while job.is_none() && self.given < self.end && !self.is_full() {
            let Some(next) = self.plan.stop.check().and_then(|()| (self.next)()).transpose() else {
                self.end = self.given;
                break;
            };
            let number = self.given;
            self.given += 1;
            match next {
                Ok(next) if self.suits(worker, number, &next, true) => return Some((number, Ok(next))),
                Ok(next) => self.aside.push_back((number, next)),
                Err(error) => {
                    self.end = self.given;
                    return Some((number, Err(error)));
                }
            }
            if self.aside.len() > PATIENCE * self.plan.threads {
                job = self.waiting(worker, false);
            }
        }
        job.or_else(|| self.waiting(worker, false))
    }

    /// The first job that was left for this thread; or for any other too, unless `own` ones are asked for.
    fn waiting(&mut self, worker: Worker, own: bool) -> Option<Numbered<J>> {
        let at = self.aside.iter().position(|(number, job)| self.suits(worker, *number, job, own))?;
        self.aside.remove(at).map(|(number, job)| (number, Ok(job)))
    }

    /// Whether a thread may take a job; an `own` one only if it is its turn.
    fn suits(&self, worker: Worker, number: usize, job: &J, own: bool) -> bool {
        let heavy = self.plan.heavy.is_some_and(|heavy| heavy(job));
        let threads = self.plan.threads.max(1);
        let is_turn = number % threads == worker.number % threads;
        number < self.end && (worker.any || !heavy) && (!own || !self.plan.in_turn || is_turn || heavy)
    }

    /// Whether the sink has to get results before another job is given out.
    fn is_full(&self) -> bool {
        self.given - self.handed >= IN_FLIGHT
    }

    /// Whether [`Self::take`] will give nothing more.
    fn is_over(&self, worker: Worker) -> bool {
        self.given >= self.end && !self.aside.iter().any(|(number, job)| self.suits(worker, *number, job, false))
    }
}

/// What all threads share.
struct Course<'a, J, F> {
    feed: Mutex<Feed<'a, J, F>>,
    /// Signalled when more jobs may be given out, or no more will be.
    moved: Condvar,
}

impl<J, F: FnMut() -> Result<Option<J>>> Course<'_, J, F> {
    /// The next job of a thread that is not the caller's.
    fn take(&self, number: usize) -> Option<Numbered<J>> {
        let (mut feed, worker) = (locked(&self.feed), Worker { number, any: true });
        loop {
            let job = feed.take(worker);
            if job.is_some() || feed.is_over(worker) {
                return job;
            }
            feed = self.moved.wait(feed).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says how many results the sink got. Threads wait for that only where as many jobs as may be are given out.
    fn hand(&self, results: usize) {
        let mut feed = locked(&self.feed);
        let was_full = feed.is_full();
        feed.handed = results;
        if was_full {
            self.moved.notify_all();
        }
    }

    /// Ends the work at a job.
    fn end_at(&self, number: usize) {
        let mut feed = locked(&self.feed);
        feed.end = feed.end.min(number);
        self.moved.notify_all();
    }

    /// Ends the work, also that of jobs that have begun.
    fn give_up(&self) {
        self.end_at(0);
        locked(&self.feed).plan.stop.raise();
    }

    /// Ends the work at a job if it failed.
    fn note<T>(&self, (number, result): &Numbered<T>) {
        if result.is_err() {
            self.end_at(*number);
        }
    }
}

/// Calls a function if its thread panics, so that nobody waits for a result that never comes.
struct OnPanic<E: Fn()>(E);

impl<E: Fn()> Drop for OnPanic<E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// Results that come in any order, on their way to the sink.
struct Order<'a, J, F, S, T> {
    course: &'a Course<'a, J, F>,
    stop: &'a Stop,
    receive: Receiver<Numbered<T>>,
    /// Results whose turn has not come.
    early: BTreeMap<usize, Result<T>>,
    /// The first job whose result has not gone to the sink.
    first: usize,
    sink: S,
    outcome: Result<()>,
}

impl<J, F: FnMut() -> Result<Option<J>>, S: FnMut(Vec<T>) -> Result<()>, T> Order<'_, J, F, S, T> {
    /// Gives the sink what is ready, which may be nothing. After an error it gets nothing more.
    fn hand_over(&mut self) {
        self.early.extend(self.receive.try_iter());
        let (mut ready, mut failed) = (Vec::new(), Ok(()));
        while let Some(result) = self.early.remove(&self.first) {
            self.first += 1;
            match result {
                Ok(result) => ready.push(result),
                Err(error) => {
                    failed = Err(error);
                    break;
                }
            }
        }
        if self.outcome.is_ok() {
            self.outcome = (self.sink)(ready).and(failed);
            if self.outcome.is_err() {
                self.course.end_at(0);
                self.stop.raise();
            }
        }
        self.course.hand(self.first);
    }

    /// Waits for a result for a while, and says whether there may be more.
    fn wait(&mut self) -> bool {
        let received = self.receive.recv_timeout(LOOK_EVERY);
        let more = !matches!(received, Err(RecvTimeoutError::Disconnected));
        self.early.extend(received.ok());
        self.hand_over();
        more
    }

    /// Takes the result of a job of the caller's thread, and gives it the next; a heavy one only if `any` may be taken.
    fn turn(&mut self, done: Option<Numbered<T>>, any: bool) -> Option<Numbered<J>> {
        let worker = Worker { number: 0, any };
        if let Some(done) = done {
            self.course.note(&done);
            self.early.extend([done]);
            self.hand_over();
        }
        loop {
            let mut feed = locked(&self.course.feed);
            let job = feed.take(worker);
            if job.is_some() || feed.is_over(worker) {
                return job;
            }
            drop(feed);
            self.wait();
        }
    }
}

/// Does the jobs that `next` gives until it gives None; `sink` gets the results in order on the caller's thread, some at
/// a time. It is called (with none, if need be) at least every 50 ms while no job of the caller's thread takes longer.
/// Each thread runs `work` once. A thread that the system refuses is done without.
///
/// # Errors
/// That of the first job (by number) that has one, be it in making it or in doing it; or that of `sink`.
pub fn in_order<J: Send, T: Send>(
    plan: &Plan<'_, J>,
    next: impl FnMut() -> Result<Option<J>> + Send,
    work: impl Fn(&mut Jobs<'_, J, T>) + Sync,
    sink: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<()> {
    let feed = Feed { plan, next, aside: VecDeque::new(), given: 0, handed: 0, end: usize::MAX };
    let course = &Course { feed: Mutex::new(feed), moved: Condvar::new() };
    std::thread::scope(|scope| {
        let work = &work;
        let _panics = OnPanic(|| course.give_up());
        let (send, receive) = channel();
        let start = |thread| {
            let send = send.clone();
            let run = move || {
                let _panics = OnPanic(|| course.give_up());
                let turn = &mut |done: Option<Numbered<T>>| {
                    if let Some(done) = done {
                        course.note(&done);
                        // The receiver lives as long as any thread that sends.
                        let _ = send.send(done);
                    }
                    course.take(thread)
                };
                work(&mut Jobs { thread, turn, stop: plan.stop });
            };
            std::thread::Builder::new().spawn_scoped(scope, run).ok()
        };
        let threads = plan.threads.max(1 + usize::from(plan.heavy.is_some()));
        let others: Vec<_> = (1..threads).map_while(start).collect();
        drop(send);
        let early = BTreeMap::new();
        let mut order = Order { course, stop: plan.stop, receive, early, first: 0, sink, outcome: Ok(()) };
        if plan.threads > 1 || others.is_empty() {
            let turn = &mut |done| order.turn(done, others.is_empty());
            work(&mut Jobs { thread: 0, turn, stop: plan.stop });
        }
        while order.wait() {}
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        order.outcome
    })
}

/// The results for every item in `0..count`, in order, whose number is known and which may be small: each thread takes
/// ranges of them.
///
/// # Errors
/// That of the first item (by number) that has one; items after it may not be tried.
pub fn map<T: Send>(
    count: usize,
    threads: usize,
    stop: &Stop,
    work: impl Fn(&mut Jobs<'_, Range<usize>, Vec<T>>) + Sync,
) -> Result<Vec<T>> {
    let threads = threads.clamp(1, count.max(1));
    // Large enough that the lock is no bottleneck, small enough that the last ranges even out.
    let size = (count / (threads * 64)).clamp(1, 1024);
    let mut starts = (0..count).step_by(size);
    let next = || Ok(starts.next().map(|start| start..count.min(start + size)));
    let mut all = Vec::with_capacity(count);
    in_order(&Plan { threads, heavy: None, in_turn: false, stop }, next, work, |ready| {
        all.extend(ready.into_iter().flatten());
        Ok(())
    })?;
    Ok(all)
}

/// What a mutex guards, also after a panic of another thread.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    type Heavy<'a> = Option<&'a (dyn Fn(&usize) -> bool + Sync)>;

    /// Numbers of threads, and whether they take turns.
    const THREADS: [(usize, bool); 5] = [(1, false), (1, true), (2, true), (7, false), (7, true)];

    /// A thousand jobs, each its number.
    fn thousand<T: Send>(
        (threads, in_turn, heavy, stop): (usize, bool, Heavy<'_>, &Stop),
        work: impl Fn(usize) -> Result<T> + Sync,
        sink: impl FnMut(Vec<T>) -> Result<()>,
    ) -> Result<()> {
        let mut jobs = 0..1000;
        in_order(&Plan { threads, heavy, in_turn, stop }, || Ok(jobs.next()), |jobs| jobs.each(&work), sink)
    }

    fn fails_at(places: impl Fn(usize) -> bool) -> impl Fn(usize) -> Result<usize> {
        move |job| if places(job) { Err(Error::model(job.to_string(), None)) } else { Ok(job) }
    }

    #[test]
    fn results_keep_their_order_whoever_takes_the_heavy_jobs() {
        let heavy: [Heavy<'_>; 4] = [None, Some(&|_| false), Some(&|job| job % 7 == 3), Some(&|_| true)];
        for (threads, in_turn) in THREADS {
            for heavy in heavy {
                let mut all = Vec::new();
                let sink = |ready: Vec<usize>| {
                    all.extend(ready);
                    Ok(())
                };
                thousand((threads, in_turn, heavy, &Stop::default()), |job| Ok(job * job), sink).unwrap();
                assert!(all.len() == 1000 && all.iter().enumerate().all(|(job, &square)| square == job * job));
            }
        }
    }

    #[test]
    fn threads_that_are_equally_fast_take_turns() {
        let (mut jobs, pair) = (0..1000, std::sync::Barrier::new(2));
        let plan = Plan { threads: 2, heavy: None, in_turn: true, stop: &Stop::default() };
        let work = |jobs: &mut Jobs<'_, usize, usize>| {
            let thread = jobs.thread();
            jobs.each(|_| {
                pair.wait();
                Ok(thread)
            });
        };
        let mut threads = Vec::new();
        in_order(
            &plan,
            || Ok(jobs.next()),
            work,
            |ready| {
                threads.extend(ready);
                Ok(())
            },
        )
        .unwrap();
        assert!(threads.iter().enumerate().all(|(job, thread)| job % 2 == *thread), "{threads:?}");
    }

    #[test]
    fn a_thread_that_is_far_behind_loses_its_turns() {
        let done = AtomicUsize::new(0);
        let work = |job| {
            while job == 1 && done.load(Ordering::Relaxed) < 999 {
                std::thread::yield_now();
            }
            done.fetch_add(1, Ordering::Relaxed);
            Ok(job)
        };
        thousand((2, true, None, &Stop::default()), work, |_| Ok(())).unwrap();
    }

    #[test]
    fn a_heavy_job_keeps_the_callers_thread_from_no_other() {
        let (caller, done) = (std::thread::current().id(), AtomicUsize::new(0));
        let work = |job: usize| {
            let own = std::thread::current().id() == caller;
            assert!(!own || job != 1);
            // Nothing but the caller can do the others while the heavy one waits for them.
            while job == 1 && done.load(Ordering::Relaxed) < 998 {
                std::thread::yield_now();
            }
            done.fetch_add(usize::from(own), Ordering::Relaxed);
            Ok(job)
        };
        for in_turn in [false, true] {
            done.store(0, Ordering::Relaxed);
            thousand((2, in_turn, Some(&|job| *job == 1), &Stop::default()), work, |_| Ok(())).unwrap();
        }
    }

    #[test]
    fn a_heavy_job_waits_for_no_turn() {
        let (mut jobs, heavy, first) = (0..1000, |job: &usize| *job == 0, Mutex::new(None));
        let plan = Plan { threads: 2, heavy: Some(&heavy), in_turn: true, stop: &Stop::default() };
        let work = |jobs: &mut Jobs<'_, usize, ()>| {
            let thread = jobs.thread();
            jobs.each(|job| {
                if thread == 1 {
                    locked(&first).get_or_insert(job);
                }
                Ok(())
            });
        };
        in_order(&plan, || Ok(jobs.next()), work, |_| Ok(())).unwrap();
        assert_eq!(*locked(&first), Some(0));
    }

    #[test]
    fn an_error_waits_for_the_heavy_jobs_before_it() {
        for (first_fails, failed) in [(false, "1"), (true, "0")] {
            let late = AtomicUsize::new(0);
            let work = |job: usize| {
                // The caller's thread fails before the heavy job is done, or taken.
                while job == 0 && late.load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                late.fetch_add(usize::from(job == 1), Ordering::Relaxed);
                fails_at(|job| job == 1 || first_fails)(job)
            };
            let outcome = thousand((2, first_fails, Some(&|job| *job == 0), &Stop::default()), work, |_| Ok(()));
            assert_eq!(outcome, Err(Error::model(failed, None)));
        }
    }

    #[test]
    fn the_first_error_wins_and_ends_the_work() {
        let fail = fails_at(|job| job % 300 == 299);
        for (threads, in_turn) in THREADS {
            let mut taken = 0;
            let sink = |ready: Vec<usize>| {
                taken += ready.len();
                Ok(())
            };
            let outcome = thousand((threads, in_turn, None, &Stop::default()), &fail, sink);
            assert_eq!((outcome, taken), (Err(Error::model("299", None)), 299));
            let refusing = |ready: Vec<usize>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) };
            let stop = Stop::default();
            let outcome = thousand((threads, in_turn, None, &stop), &fail, refusing);
            assert_eq!((outcome, stop.check()), (Err(Error::Interrupted), Err(Error::Interrupted)));
            let items = map(1000, threads, &Stop::default(), |items| items.each_item(&fail));
            assert_eq!(items, Err(Error::model("299", None)));
        }
    }

    #[test]
    fn a_raised_stop_and_an_error_of_the_source_end_the_work() {
        for (threads, in_turn) in THREADS {
            let stop = Stop::default();
            let raise = |job| {
                if job == 300 {
                    stop.raise();
                }
                Ok(job)
            };
            assert_eq!(thousand((threads, in_turn, None, &stop), raise, |_| Ok(())), Err(Error::Interrupted));
            let (mut given, mut taken) = (0, 0);
            let next = || {
                given += 1;
                if given > 300 { Err(Error::model("source", None)) } else { Ok(Some(given)) }
            };
            let outcome = in_order(
                &Plan { threads, heavy: None, in_turn, stop: &Stop::default() },
                next,
                |jobs| jobs.each(Ok),
                |ready| {
                    taken += ready.len();
                    Ok(())
                },
            );
            assert_eq!((outcome, given, taken), (Err(Error::model("source", None)), 301, 300));
        }
    }

    #[test]
    fn no_more_than_so_many_jobs_wait_for_the_first() {
        let (given, handed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let next = || {
            let number = given.fetch_add(1, Ordering::Relaxed);
            assert!(number < handed.load(Ordering::Relaxed) + IN_FLIGHT);
            Ok(Some(number).filter(|&number| number < 4 * IN_FLIGHT))
        };
        let work = |number| {
            // As many jobs as may be given out are, and some time passes in which others could be.
            while number == 0 && given.load(Ordering::Relaxed) < IN_FLIGHT {
                std::thread::yield_now();
            }
            (0..1000).filter(|_| number == 0).for_each(|_| std::thread::yield_now());
            Ok(())
        };
        let stop = Stop::default();
        in_order(
            &Plan { threads: 3, heavy: None, in_turn: false, stop: &stop },
            next,
            |jobs| jobs.each(work),
            |ready| {
                handed.fetch_add(ready.len(), Ordering::Relaxed);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(handed.into_inner(), 4 * IN_FLIGHT);
    }

    #[test]
    fn a_panic_of_any_thread_is_the_callers() {
        for heavy in [None, Some(&(|_: &usize| true) as &(dyn Fn(&usize) -> bool + Sync))] {
            let mut jobs = 0..4 * IN_FLIGHT;
            let work = |job: usize| if job == 500 { panic!("job {job}") } else { Ok(job) };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let plan = Plan { threads: 3, heavy, in_turn: true, stop: &Stop::default() };
                in_order(&plan, || Ok(jobs.next()), |jobs| jobs.each(work), |_: Vec<usize>| Ok(()))
            }));
            assert_eq!(outcome.unwrap_err().downcast_ref::<String>().unwrap(), "job 500");
        }
    }

    #[test]
    fn no_jobs_are_done_at_once() {
        let stop = Stop::default();
        let plan = Plan { threads: 3, heavy: Some(&|(): &()| true), in_turn: true, stop: &stop };
        let sink = |ready: Vec<()>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) };
        in_order(&plan, || Ok(None), |jobs| jobs.each(Ok), sink).unwrap();
        assert!(map(0, 3, &stop, |items| items.each_item(Ok)).unwrap().is_empty());
    }
}
