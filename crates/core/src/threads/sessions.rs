//! What calls have worked with, kept for the next ones: a bounded number, in bounded memory.
//!
//! Each thread of a call takes the session that was given back last, or makes a new one, and gives it back. As many are kept
//! as there are processors, because no more can work at a time. If there are more, the largest stay, which know most. The lock
//! is held only while a session is taken or given back. No call waits for long, as the lock may be held for ever in a
//! forked child: the call then makes its own session, and drops it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread::{available_parallelism, yield_now};

/// The bounds of how many are kept, whatever the machine has.
const FEWEST: usize = 4;
const MOST: usize = 64;
/// The most bytes of all that are kept. One is kept whatever its size.
const MOST_BYTES: usize = 512 << 20;
/// How often a lock that is held is tried again.
const TRIES: usize = 1 << 10;

/// More bytes of buffers than this are given back when a call ends: only a very long piece needs them.
pub const MOST_BUFFERS: usize = 16 << 20;

/// Something that is worth keeping, because of what it knows.
pub trait Worth: Default {
    /// The memory that it holds.
    fn bytes(&self) -> usize;

    /// Gives back the memory that only rare calls need.
    fn shrink(&mut self);
}

/// Sessions that no call has, each with its bytes; the last was given back last.
type Waiting<S> = Vec<(usize, Box<S>)>;

/// See the module.
#[derive(Debug)]
pub struct Kept<S>(Mutex<Waiting<S>>);

impl<S> Default for Kept<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Worth> Kept<S> {
    /// Runs `work` with what an earlier call left, or with something new. What a call leaves that panics is dropped.
    pub fn lend<T>(&self, work: impl FnOnce(&mut S) -> T) -> T {
        let last = self.lock().and_then(|mut kept| kept.pop());
        let mut session = last.map_or_else(Box::default, |(_, session)| session);
        let result = work(&mut session);
        session.shrink();
        // Memory is given back when the lock is no longer held.
        drop(self.put(session, most(), MOST_BYTES));
        result
    }

    /// Keeps a session, and gives what is too much.
    fn put(&self, session: Box<S>, most: usize, most_bytes: usize) -> Vec<Box<S>> {
        let bytes = session.bytes();
        let Some(mut kept) = self.lock() else { return vec![session] };
        kept.push((bytes, session));
        let mut dropped = Vec::new();
        while kept.len() > 1 && (kept.len() > most || bytes_of(&kept) > most_bytes) {
            let smallest = (0..kept.len()).min_by_key(|&at| kept[at].0).unwrap_or(0);
            dropped.push(kept.remove(smallest).1);
        }
        dropped
    }

    /// How many are kept that no call has, and their bytes.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        self.lock().map_or((0, 0), |kept| (kept.len(), bytes_of(&kept)))
    }

    /// Drops all that are kept. Running calls still give theirs back.
    pub fn release(&self) {
        let all = self.lock().map(|mut kept| std::mem::take(&mut *kept));
        drop(all);
    }

    /// The lock, unless it is held for longer than any call here holds it.
    fn lock(&self) -> Option<MutexGuard<'_, Waiting<S>>> {
        (0..TRIES).find_map(|_| self.0.try_lock().map_err(|_| yield_now()).ok())
    }
}

fn bytes_of<S>(kept: &[(usize, Box<S>)]) -> usize {
    kept.iter().map(|(bytes, _)| bytes).sum()
}

/// How many are kept: asked of the system once, because asking takes longer than many a call.
fn most() -> usize {
    static FOUND: AtomicUsize = AtomicUsize::new(0);
    let found = FOUND.load(Ordering::Relaxed);
    if found > 0 {
        return found;
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

    impl Worth for Bytes {
        fn bytes(&self) -> usize {
            self.0.len()
        }

        fn shrink(&mut self) {
            self.0.truncate(1000);
        }
    }

    #[test]
    fn the_largest_are_kept_and_no_more_than_there_is_room_for() {
        let kept = Kept::<Bytes>::default();
        let put = |size: usize| {
            let dropped = kept.put(Box::new(Bytes(vec![0; size])), 3, 100);
            dropped.iter().map(|session| session.bytes()).collect::<Vec<_>>()
        };
        assert!([10, 30, 20].iter().all(|&size| put(size).is_empty()));
        assert_eq!(kept.held(), (3, 60));
        assert_eq!(put(5), [5]);
        assert_eq!(put(40), [10]);
        assert_eq!(kept.held(), (3, 90));
        assert_eq!(put(500), [20, 30, 40]);
        assert_eq!(kept.held(), (1, 500));
    }

    #[test]
    fn what_was_left_last_comes_first_and_is_shrunk() {
        let kept = Kept::<Bytes>::default();
        kept.lend(|session| {
            kept.lend(|other| other.0.resize(7, 0));
            session.0.resize(5000, 0);
        });
        assert_eq!(kept.held(), (2, 1007));
        kept.lend(|session| assert_eq!(session.0.len(), 1000));
        kept.release();
        assert_eq!(kept.held(), (0, 0));
    }

    #[test]
    fn a_lock_that_is_held_for_ever_is_not_waited_for() {
        let kept = Kept::<Bytes>::default();
        kept.lend(|session| session.0.push(1));
        let held = kept.0.lock().unwrap();
        kept.lend(|session| assert!(session.0.is_empty()));
        kept.release();
        assert_eq!(kept.held(), (0, 0));
        drop(held);
        assert_eq!(kept.held(), (1, 1));
    }

    #[test]
    fn a_session_whose_call_panicked_is_dropped() {
        let kept = Kept::<Bytes>::default();
        kept.lend(|session| session.0.push(1));
        let panics = |session: &mut Bytes| assert!(session.0.is_empty(), "it has what it learned");
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kept.lend(panics))).is_err());
        assert_eq!(kept.held(), (0, 0));
        kept.lend(|session| assert!(session.0.is_empty()));
        assert_eq!(kept.held(), (1, 0));
    }

    #[test]
    fn many_at_once_leave_as_many_as_there_are_processors() {
        let kept = Kept::<Bytes>::default();
        let barrier = std::sync::Barrier::new(2 * MOST);
        std::thread::scope(|scope| {
            for _ in 0..2 * MOST {
                scope.spawn(|| {
                    kept.lend(|session| {
                        session.0.push(1);
                        barrier.wait();
                    });
                });
            }
        });
        assert!((1..=most()).contains(&kept.held().0) && most() <= MOST);
    }
}
