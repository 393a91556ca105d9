//! Running one function over many items on several threads.
//!
//! Threads live for one call: nothing is left to rebuild after a fork. Results come back in order, and the error that
//! comes back is that of the first item that has one, so that neither depends on the number of threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// The results of `work` for every item in `0..count`, in order. Each thread has one state, made by `state`.
///
/// # Errors
/// That of the first item (by number) for which `work` fails; items after it may not be tried.
pub fn map<S, T: Send>(
    count: usize,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = threads.clamp(1, count.max(1));
    if threads == 1 {
        let mut state = state();
        return (0..count).map(|item| work(&mut state, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    // Large enough that the counter is no bottleneck, small enough that the last chunks even out.
    let chunk = (count / (threads * 64)).clamp(1, 1024);
    let run = || {
        let mut state = state();
        let mut done = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let start = next.fetch_add(chunk, Ordering::Relaxed);
            if start >= count {
                break;
            }
            for item in start..count.min(start + chunk) {
                let result = work(&mut state, item);
                let stop = result.is_err();
                done.push((item, result));
                if stop {
                    failed.store(true, Ordering::Relaxed);
                    return done;
                }
            }
        }
        done
    };
    let mut done: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(item, _)| *item);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order_and_the_first_error_wins() {
        for threads in [1, 2, 7] {
            let squares = map(1000, threads, || (), |(), item| Ok(item * item)).unwrap();
            assert!(squares.iter().enumerate().all(|(item, &square)| square == item * item));
            let failing = |(): &mut (), item: usize| {
                if item % 300 == 299 { Err(Error::model(item.to_string(), None)) } else { Ok(()) }
            };
            assert_eq!(map(1000, threads, || (), failing).unwrap_err(), Error::model("299", None));
            assert!(map(0, threads, || (), failing).unwrap().is_empty());
        }
    }
}
