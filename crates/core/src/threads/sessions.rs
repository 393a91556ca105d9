//! A pool of sessions that calls reuse: bounded in number and memory.
//!
//! Each thread of a call takes the session returned last, or makes a new one, and returns it. The pool holds as many as
//! there are processors, because no more can work at a time. Beyond that, the largest stay, which remember most. The
//! lock is held only while a session is taken or returned. No call waits for long, as the lock can stay locked forever
//! in a forked child: the call then makes a session, and drops it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{available_parallelism, yield_now};

/// The bounds of the number of sessions, whatever the machine has.
const FEWEST: usize = 4;
const MOST: usize = 64;
/// The most bytes of all sessions. One is kept whatever its size.
const MOST_BYTES: usize = 512 << 20;
/// The attempts to take a held lock.
const TRIES: usize = 1 << 10;

/// The bytes of buffers above which a session frees them: only a very long piece needs more.
pub const MOST_BUFFERS: usize = 16 << 20;

/// A reusable cache with a size.
pub trait Reusable: Default {
    /// Its memory in bytes.
    fn bytes(&self) -> usize;

    /// Frees the memory that only rare calls need.
    fn shrink(&mut self);
}

/// Idle sessions with their bytes, the last returned one at the end.
type IdleSessions<S> = Vec<(usize, Box<S>)>;

/// A pool of sessions.
#[derive(Debug)]
pub struct Pool<S>(Mutex<IdleSessions<S>>);

impl<S> Default for Pool<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Reusable> Pool<S> {
    /// Runs `work` with an idle or a new session. A session is dropped if `work` panics.
    pub fn with_session<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let last = self.lock().and_then(|mut idle| idle.pop());
        let mut session = last.map_or_else(Box::default, |(_, session)| session);
        let result = work(&mut session);
        session.shrink();
        // Memory is freed after the lock is released.
        drop(self.give_back(session, max_sessions(), MOST_BYTES));
        result
    }

    /// Returns a session to the pool, and returns the sessions that exceed the bounds.
    fn give_back(&self, session: Box<S>, most: usize, most_bytes: usize) -> Vec<Box<S>> {
        let bytes = session.bytes();
        let Some(mut idle) = self.lock() else { return vec![session] };
        idle.push((bytes, session));
        let mut dropped = Vec::new();
        while idle.len() > 1 && (idle.len() > most || bytes_of(&idle) > most_bytes) {
            let smallest = (0..idle.len()).min_by_key(|&at| idle[at].0).unwrap_or(0);
            dropped.push(idle.remove(smallest).1);
        }
        dropped
    }

    /// The number of idle sessions, and their bytes.
    #[must_use]
    pub fn idle(&self) -> (usize, usize) {
        self.lock().map_or((0, 0), |idle| (idle.len(), bytes_of(&idle)))
    }

    /// Drops the idle sessions. Running calls still return theirs.
    pub fn release(&self) {
        let all = self.lock().map(|mut idle| std::mem::take(&mut *idle));
        drop(all);
    }

    /// The lock, unless it is held for longer than any call here holds it.
    fn lock(&self) -> Option<MutexGuard<'_, IdleSessions<S>>> {
        (0..TRIES).find_map(|_| self.0.try_lock().map_err(|_| yield_now()).ok())
    }
}

fn bytes_of<S>(idle: &[(usize, Box<S>)]) -> usize {
    idle.iter().map(|(bytes, _)| bytes).sum()
}

/// The bound of the number of sessions, requested once, because the system's answer takes longer than many calls.
fn max_sessions() -> usize {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let known = FOUND.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let most = available_parallelism().map_or(FEWEST, |count| count.get().clamp(FEWEST, MOST));
    FOUND.store(most, Ordering::Relaxed);
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Bytes(Vec<u8>);

    impl Reusable for Bytes {
        fn bytes(&self) -> usize {
            self.0.len()
        }

        fn shrink(&mut self) {
            self.0.truncate(1000);
        }
    }

    #[test]
    fn the_largest_sessions_stay_within_the_bounds() {
        let kept = Pool::<Bytes>::default();
        let put = |size: usize| {
            let dropped = kept.give_back(Box::new(Bytes(vec![0; size])), 3, 100);
            dropped.iter().map(|session| session.bytes()).collect::<Vec<_>>()
        };
        assert!([10, 30, 20].iter().all(|&size| put(size).is_empty()));
        assert_eq!(kept.idle(), (3, 60));
        assert_eq!(put(5), [5]);
        assert_eq!(put(40), [10]);
        assert_eq!(kept.idle(), (3, 90));
        assert_eq!(put(500), [20, 30, 40]);
        assert_eq!(kept.idle(), (1, 500));
    }

    #[test]
    fn the_session_returned_last_comes_first_and_is_shrunk() {
        let kept = Pool::<Bytes>::default();
        kept.with_session(|session| {
            kept.with_session(|other| other.0.resize(7, 0));
            session.0.resize(5000, 0);
        });
        assert_eq!(kept.idle(), (2, 1007));
        kept.with_session(|session| assert_eq!(session.0.len(), 1000));
        kept.release();
        assert_eq!(kept.idle(), (0, 0));
    }

    #[test]
    fn no_call_waits_for_a_lock_that_stays_held() {
        let kept = Pool::<Bytes>::default();
        kept.with_session(|session| session.0.push(1));
        let held = kept.0.lock().unwrap();
        kept.with_session(|session| assert!(session.0.is_empty()));
        kept.release();
        assert_eq!(kept.idle(), (0, 0));
        drop(held);
        assert_eq!(kept.idle(), (1, 1));
    }

    #[test]
    fn a_session_whose_call_panicked_is_dropped() {
        let kept = Pool::<Bytes>::default();
        kept.with_session(|session| session.0.push(1));
        let panics = |session: &mut Bytes| assert!(session.0.is_empty(), "it has what it learned");
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kept.with_session(panics))).is_err());
        assert_eq!(kept.idle(), (0, 0));
        kept.with_session(|session| assert!(session.0.is_empty()));
        assert_eq!(kept.idle(), (1, 0));
    }

    #[test]
    fn many_calls_leave_at_most_one_session_for_each_processor() {
        let kept = Pool::<Bytes>::default();
        let barrier = std::sync::Barrier::new(2 * MOST);
        std::thread::scope(|scope| {
            for _ in 0..2 * MOST {
                scope.spawn(|| {
                    kept.with_session(|session| {
                        session.0.push(1);
                        barrier.wait();
                    });
                });
            }
        });
        assert!((1..=max_sessions()).contains(&kept.idle().0) && max_sessions() <= MOST);
    }
}
