//! Running one function over many items on several threads.
//!
//! Threads live for one call: nothing is left to rebuild after a fork. Results come back in order, and the error that
//! comes back is that of the first item that has one, so that neither depends on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

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

/// Items that a thread takes, a few at a time, until none is left.
#[derive(Debug)]
pub struct Items<'a, T> {
    count: usize,
    chunk: usize,
    next: &'a AtomicUsize,
    failed: &'a AtomicBool,
    done: Vec<(usize, Result<T>)>,
}

impl<T> Items<'_, T> {
    /// Does `work` for every item that this thread gets.
    pub fn each(&mut self, mut work: impl FnMut(usize) -> Result<T>) {
        while !self.failed.load(Ordering::Relaxed) {
            let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if start >= self.count {
                return;
            }
            for item in start..self.count.min(start + self.chunk) {
                let result = work(item);
                let failed = result.is_err();
                self.done.push((item, result));
                if failed {
                    return self.failed.store(true, Ordering::Relaxed);
                }
            }
        }
    }
}

/// The results for every item in `0..count`, in order. Each thread runs `work` once, which goes through its items. A
/// thread that the system refuses is done without.
///
/// # Errors
/// That of the first item (by number) that has one; items after it may not be tried.
pub fn map<T: Send>(count: usize, threads: usize, work: impl Fn(&mut Items<'_, T>) + Sync) -> Result<Vec<T>> {
    let threads = threads.clamp(1, count.max(1));
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    // Large enough that the counter is no bottleneck, small enough that the last chunks even out.
    let chunk = (count / (threads * 64)).clamp(1, 1024);
    let run = || {
        let mut items = Items { count, chunk, next: &next, failed: &failed, done: Vec::new() };
        work(&mut items);
        items.done
    };
    let mut done = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(item, _)| *item);
    done.into_iter().map(|(_, result)| result).collect()
}

/// What a mutex guards, also after a panic of another thread.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order_and_the_first_error_wins() {
        for threads in [1, 2, 7] {
            let squares = map(1000, threads, |items| items.each(|item| Ok(item * item))).unwrap();
            assert!(squares.iter().enumerate().all(|(item, &square)| square == item * item));
            let fail = |item: usize| if item % 300 == 299 { Err(Error::model(item.to_string(), None)) } else { Ok(()) };
            let failing = |items: &mut Items<'_, ()>| items.each(fail);
            assert_eq!(map(1000, threads, failing).unwrap_err(), Error::model("299", None));
            assert!(map(0, threads, failing).unwrap().is_empty());
        }
    }
}
