//! Running one function over many jobs on several threads, whose results are taken in order while others still work.
//!
//! The caller's thread takes the results, because it alone may do with them what has to be done; between two jobs of its
//! own, or when there is nothing else to do. It also looks up now and then, and so may not take a job that is heavy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::threads::parallel::Stop;

/// How long the caller's thread waits before it looks up.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is to be done.
pub struct Plan<'a> {
    /// How many jobs there are.
    pub jobs: usize,
    /// How many threads may work at a time; the caller's is one of them unless a job is heavy and there is no other.
    pub threads: usize,
    /// Whether a job takes too long for a thread that has to look up.
    pub heavy: &'a (dyn Fn(usize) -> bool + Sync),
    /// Raised when the rest need not be done.
    pub stop: &'a Stop,
}

/// Which jobs are next.
struct Course<'a> {
    plan: &'a Plan<'a>,
    /// Before which all jobs that are not heavy were taken, and before which all heavy ones.
    next: Mutex<[usize; 2]>,
    /// Jobs from this one on need not be done: it failed, and its error comes back unless one before has another.
    end: AtomicUsize,
}

impl Course<'_> {
    /// The first job that nobody took, if there is one; heavy ones are passed over unless `any` may be taken.
    fn take(&self, any: bool) -> Option<usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, next) in next.iter_mut().enumerate() {
            while *next < self.plan.jobs && usize::from((self.plan.heavy)(*next)) != kind {
                *next += 1;
            }
        }
        let kind = usize::from(any && next[1] < next[0]);
        let first = &mut next[kind];
        (*first < self.end.load(Ordering::Relaxed)).then(|| {
            *first += 1;
            *first - 1
        })
    }

    /// Ends the work at a job if it failed.
    fn note<T>(&self, job: usize, result: &Result<T>) {
        if result.is_err() {
            self.end.fetch_min(job, Ordering::Relaxed);
        }
    }
}

/// The jobs that one thread gets.
pub struct Jobs<'a, T> {
    take: &'a mut dyn FnMut() -> Option<usize>,
    done: &'a mut dyn FnMut(usize, Result<T>),
}

impl<T> Jobs<'_, T> {
    /// Does `work` for every job that this thread gets.
    pub fn each(&mut self, mut work: impl FnMut(usize) -> Result<T>) {
        while let Some(job) = (self.take)() {
            (self.done)(job, work(job));
        }
    }
}

/// Results that come in any order, on their way to the sink.
struct Order<'a, S, T> {
    plan: &'a Plan<'a>,
    /// By job; `None` while it is not done.
    results: Vec<Option<Result<T>>>,
    /// The first job whose result has not gone to the sink.
    first: usize,
    sink: S,
    outcome: Result<()>,
}

impl<T, S: FnMut(Vec<T>) -> Result<()>> Order<'_, S, T> {
    /// Gives the sink what is ready, which may be nothing. After an error it gets nothing more.
    fn hand_over(&mut self, course: &Course<'_>) {
        let mut ready = Vec::new();
        let mut failed = Ok(());
        while let Some(result) = self.results.get_mut(self.first).and_then(Option::take) {
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
                course.end.store(0, Ordering::Relaxed);
                self.plan.stop.raise();
            }
        }
    }

    /// Waits for results until every thread is done.
    fn wait(&mut self, course: &Course<'_>, receive: &Receiver<(usize, Result<T>)>) {
        loop {
            match receive.recv_timeout(LOOK_EVERY) {
                Ok((job, result)) => self.results[job] = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.hand_over(course),
            }
            self.results_of(receive);
            self.hand_over(course);
        }
    }

    /// Takes what others have finished.
    fn results_of(&mut self, receive: &Receiver<(usize, Result<T>)>) {
        for (job, result) in receive.try_iter() {
            self.results[job] = Some(result);
        }
    }
}

/// Does all jobs; `sink` gets the results in order on the caller's thread, some at a time, and is called (with none, if
/// need be) at least every 50 ms while no job of the caller's thread takes longer. Each thread runs `work` once.
///
/// # Errors
/// That of the first job (by number) that has one, or that of `sink`.
pub fn in_order<T: Send>(
    plan: &Plan<'_>,
    work: impl Fn(&mut Jobs<'_, T>) + Sync,
    sink: impl FnMut(Vec<T>) -> Result<()>,
) -> Result<()> {
    let course = Course { plan, next: Mutex::default(), end: AtomicUsize::new(plan.jobs) };
    let results = (0..plan.jobs).map(|_| None).collect();
    let mut order = Order { plan, results, first: 0, sink, outcome: Ok(()) };
    let threads = plan.threads.clamp(1, plan.jobs.max(1));
    let heavy = (0..plan.jobs).any(plan.heavy);
    std::thread::scope(|scope| {
        let (send, receive) = channel();
        let (course, work) = (&course, &work);
        let start = |_| {
            let send = send.clone();
            let run = move || {
                let done = &mut |job, result: Result<T>| {
                    course.note(job, &result);
                    // The receiver lives as long as any thread that sends.
                    let _ = send.send((job, result));
                };
                work(&mut Jobs { take: &mut || course.take(true), done });
            };
            std::thread::Builder::new().spawn_scoped(scope, run).ok()
        };
        let others: Vec<_> = (1..threads.max(1 + usize::from(heavy))).map_while(start).collect();
        drop(send);
        if threads > 1 || others.is_empty() {
            let done = &mut |job, result: Result<T>| {
                course.note(job, &result);
                order.results[job] = Some(result);
                order.results_of(&receive);
                order.hand_over(course);
            };
            work(&mut Jobs { take: &mut || course.take(others.is_empty()), done });
        }
        order.wait(course, &receive);
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    order.outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn plan<'a>(threads: usize, heavy: &'a (dyn Fn(usize) -> bool + Sync), stop: &'a Stop) -> Plan<'a> {
        Plan { jobs: 1000, threads, heavy, stop }
    }

    #[test]
    fn results_keep_their_order_whoever_takes_the_heavy_jobs() {
        let heavy: [&(dyn Fn(usize) -> bool + Sync); 3] = [&|_| false, &|job| job % 7 == 3, &|_| true];
        for threads in [1, 2, 7] {
            for heavy in heavy {
                let mut all = Vec::new();
                let sink = |ready: Vec<usize>| {
                    all.extend(ready);
                    Ok(())
                };
                in_order(&plan(threads, heavy, &Stop::default()), |jobs| jobs.each(|job| Ok(job * job)), sink).unwrap();
                assert!(all.len() == 1000 && all.iter().enumerate().all(|(job, &square)| square == job * job));
            }
        }
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
        in_order(&plan(2, &|job| job == 1, &Stop::default()), |jobs| jobs.each(work), |_| Ok(())).unwrap();
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
                if job == 1 || first_fails { Err(Error::model(job.to_string(), None)) } else { Ok(job) }
            };
            let outcome = in_order(&plan(2, &|job| job == 0, &Stop::default()), |jobs| jobs.each(work), |_| Ok(()));
            assert_eq!(outcome, Err(Error::model(failed, None)));
        }
    }

    #[test]
    fn the_first_error_wins_and_ends_the_work() {
        let fail = |job: usize| if job % 300 == 299 { Err(Error::model(job.to_string(), None)) } else { Ok(job) };
        for threads in [1, 2, 7] {
            let mut taken = 0;
            let sink = |ready: Vec<usize>| {
                taken += ready.len();
                Ok(())
            };
            let stop = Stop::default();
            let outcome = in_order(&plan(threads, &|_| false, &stop), |jobs| jobs.each(fail), sink);
            assert_eq!((outcome, taken), (Err(Error::model("299", None)), 299));
            let refusing = |ready: Vec<usize>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) };
            let stop = Stop::default();
            let outcome = in_order(&plan(threads, &|_| false, &stop), |jobs| jobs.each(fail), refusing);
            assert_eq!((outcome, stop.check()), (Err(Error::Interrupted), Err(Error::Interrupted)));
        }
    }

    #[test]
    #[should_panic(expected = "job 500")]
    fn a_panic_of_any_thread_is_the_callers() {
        let work = |job: usize| if job == 500 { panic!("job {job}") } else { Ok(job) };
        let _ = in_order(&plan(2, &|_| true, &Stop::default()), |jobs| jobs.each(work), |_: Vec<usize>| Ok(()));
    }

    #[test]
    fn no_jobs_are_done_at_once() {
        let plan = Plan { jobs: 0, threads: 3, heavy: &|_| true, stop: &Stop::default() };
        in_order(
            &plan,
            |jobs| jobs.each(Ok),
            |ready: Vec<usize>| if ready.is_empty() { Ok(()) } else { Err(Error::Interrupted) },
        )
        .unwrap();
    }
}
