//! What calls have worked with, kept for the next ones: a bounded number, in bounded memory.
//!
//! The first thread of a call works with the first session, and holds its lock meanwhile, which costs a short call least.
//! If another call has that session, and for its other threads, a call takes one of the other sessions, or makes a new one,
//! and gives it back. A thread gets the session that the thread of the same number had last, if that is there: the same jobs
//! come to it in a second call. As many are kept as there are processors, because no more can work at a time. If there are more,
//! the largest stay, which know most. No call waits for a lock that is held elsewhere, as it may be for ever in a forked
//! child. The call then makes its own session, and drops it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::{available_parallelism, yield_now};

/// The bounds of how many are kept, whatever the machine has.
const FEWEST: usize = 4;
const MOST: usize = 64;
/// The most bytes of all but the first that are kept. The first is kept whatever its size, and one of the others.
const MOST_BYTES: usize = 512 << 20;
/// How often a lock that is held is tried again by calls that only ask or empty.
const TRIES: usize = 1 << 10;

/// Something that is worth keeping, because of what it knows.
pub trait Worth: Default {
    /// The memory that it holds.
    fn bytes(&self) -> usize;

    /// Gives back the memory that only rare calls need.
    fn shrink(&mut self);
}

/// See the module.
#[derive(Debug)]
pub struct Kept<S> {
    first: Mutex<Option<Box<S>>>,
    others: Mutex<Others<S>>,
}

#[derive(Debug)]
struct Others<S> {
    all: Vec<OneKept<S>>,
    /// Those of all.
    bytes: usize,
}

#[derive(Debug)]
struct OneKept<S> {
    session: Box<S>,
    bytes: usize,
    /// The number of the thread that had it.
    thread: usize,
}

impl<S> Default for Kept<S> {
    fn default() -> Self {
        Self { first: Mutex::new(None), others: Mutex::new(Others { all: Vec::new(), bytes: 0 }) }
    }
}

impl<S: Worth> Kept<S> {
    /// Runs `work` with what the thread of this number, or another one, left in an earlier call, or with something new.
    pub fn lend<T>(&self, thread: usize, work: impl FnOnce(&mut S) -> T) -> T {
        // The other threads of a call leave this lock alone, so that the first one finds it free.
        if thread == 0
            && let Some(mut first) = self.first()
        {
            let session = first.get_or_insert_default();
            let result = work(session);
            session.shrink();
            return result;
        }
        self.lend_other(thread, work)
    }

    /// The first session, unless a call has it. One whose call panicked is dropped.
    #[inline]
    fn first(&self) -> Option<MutexGuard<'_, Option<Box<S>>>> {
        match self.first.try_lock() {
            Ok(first) => Some(first),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(first)) => {
                let mut first = first.into_inner();
                *first = None;
                self.first.clear_poison();
                Some(first)
            }
        }
    }

    #[inline(never)]
    fn lend_other<T>(&self, thread: usize, work: impl FnOnce(&mut S) -> T) -> T {
        let mut session = self.take(thread).unwrap_or_default();
        let result = work(&mut session);
        session.shrink();
        let bytes = session.bytes();
        // Memory is given back when the lock is no longer held.
        drop(self.put(OneKept { session, bytes, thread }, most() - 1, MOST_BYTES));
        result
    }

    fn take(&self, thread: usize) -> Option<Box<S>> {
        let mut waiting = self.others.try_lock().ok()?;
        let last = waiting.all.len().checked_sub(1)?;
        let at = waiting.all.iter().rposition(|kept| kept.thread == thread).unwrap_or(last);
        let OneKept { session, bytes, .. } = waiting.all.remove(at);
        waiting.bytes -= bytes;
        Some(session)
    }

    /// Keeps a session, and gives what is too much.
    fn put(&self, kept: OneKept<S>, most: usize, most_bytes: usize) -> Vec<OneKept<S>> {
        let Ok(mut waiting) = self.others.try_lock() else { return vec![kept] };
        waiting.bytes += kept.bytes;
        waiting.all.push(kept);
        let mut dropped = Vec::new();
        while waiting.all.len() > 1 && (waiting.all.len() > most || waiting.bytes > most_bytes) {
            let sizes = waiting.all.iter().map(|kept| kept.bytes).enumerate();
            let Some((smallest, bytes)) = sizes.min_by_key(|&(_, bytes)| bytes) else { break };
            dropped.push(waiting.all.remove(smallest));
            waiting.bytes -= bytes;
        }
        dropped
    }

    /// How many are kept that no call has, and their bytes.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        let first = self.first().and_then(|first| first.as_ref().map(|first| first.bytes()));
        let (count, bytes) = self.lock().map_or((0, 0), |waiting| (waiting.all.len(), waiting.bytes));
        (count + usize::from(first.is_some()), bytes + first.unwrap_or(0))
    }

    /// Drops all that are kept. Running calls still give theirs back.
    pub fn release(&self) {
        let first = self.first().and_then(|mut first| first.take());
        drop(first);
        let dropped = self.lock().map(|mut waiting| {
            waiting.bytes = 0;
            std::mem::take(&mut waiting.all)
        });
        drop(dropped);
    }

    /// The lock of the others, unless it is held for longer than any call here holds it.
    fn lock(&self) -> Option<MutexGuard<'_, Others<S>>> {
        (0..TRIES).find_map(|_| self.others.try_lock().map_err(|_| yield_now()).ok())
    }
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
            let dropped = kept.put(OneKept { session: Box::new(Bytes(vec![0; size])), bytes: size, thread: 0 }, 3, 100);
            dropped.iter().map(|kept| kept.bytes).collect::<Vec<_>>()
        };
        assert!([10, 30, 20].iter().all(|&size| put(size).is_empty()));
        assert_eq!(kept.held(), (3, 60));
        assert_eq!(put(5), [5]);
        assert_eq!(put(40), [10]);
        assert_eq!(kept.held(), (3, 90));
        assert_eq!(put(500), [20, 30, 40]);
        assert_eq!(kept.held(), (1, 500));
        assert_eq!(kept.take(0).map(|session| session.bytes()), Some(500));
        assert_eq!(kept.held(), (0, 0));
    }

    #[test]
    fn what_was_left_last_comes_first_and_is_shrunk() {
        let kept = Kept::<Bytes>::default();
        kept.lend(0, |session| {
            kept.lend(0, |other| other.0.resize(7, 0));
            session.0.resize(5000, 0);
        });
        assert_eq!(kept.held(), (2, 1007));
        kept.lend(0, |session| assert_eq!(session.0.len(), 1000));
        kept.release();
        assert_eq!(kept.held(), (0, 0));
    }

    #[test]
    fn a_thread_gets_what_it_had_last() {
        let kept = Kept::<Bytes>::default();
        kept.lend(1, |session| {
            kept.lend(0, |other| other.0.resize(7, 0));
            session.0.resize(8, 0);
        });
        for (thread, len) in [(0, 7), (1, 8), (0, 7), (1, 8), (2, 8), (1, 8), (0, 7)] {
            kept.lend(thread, |session| assert_eq!(session.0.len(), len, "{thread}"));
        }
    }

    #[test]
    fn a_lock_that_is_held_for_ever_is_not_waited_for() {
        let kept = Kept::<Bytes>::default();
        kept.lend(1, |session| session.0.push(1));
        let held = (kept.first.lock().unwrap(), kept.others.lock().unwrap());
        for thread in [0, 1] {
            kept.lend(thread, |session| assert!(session.0.is_empty()));
        }
        kept.release();
        assert_eq!(kept.held(), (0, 0));
        drop(held);
        assert_eq!(kept.held(), (1, 1));
    }

    #[test]
    fn a_session_whose_call_panicked_is_dropped() {
        for thread in [0, 1] {
            let kept = Kept::<Bytes>::default();
            kept.lend(thread, |session| session.0.push(1));
            let panics = |session: &mut Bytes| assert!(session.0.is_empty(), "it has what it learned");
            let call = || kept.lend(thread, panics);
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
            assert_eq!(kept.held(), (0, 0));
            kept.lend(thread, |session| assert!(session.0.is_empty()));
            assert_eq!(kept.held(), (1, 0));
        }
    }

    #[test]
    fn many_at_once_leave_as_many_as_there_are_processors() {
        let kept = Kept::<Bytes>::default();
        let barrier = std::sync::Barrier::new(2 * MOST);
        std::thread::scope(|scope| {
            for _ in 0..2 * MOST {
                scope.spawn(|| {
                    kept.lend(0, |session| {
                        session.0.push(1);
                        barrier.wait();
                    });
                });
            }
        });
        assert!((1..=most()).contains(&kept.held().0) && most() <= MOST);
    }
}
