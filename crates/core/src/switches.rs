//! Two switches for tests: the slow twin of everything that has a fast one, and faults on purpose.
//!
//! Only the feature `fault`, which no shipped build has, makes a point fail; otherwise a point does nothing.

#[cfg(feature = "fault")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether `TOKSMITH_SLOW=1` asks for the slow twin of everything that has one. No id depends on it. A build without the
/// feature `fast` always takes the slow twin.
#[must_use]
pub fn slow() -> bool {
    cfg!(not(feature = "fast")) || std::env::var_os("TOKSMITH_SLOW").is_some_and(|slow| slow == "1")
}

/// How many points are passed until one fails, that one included; 0 for none.
#[cfg(feature = "fault")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Lets the `number`th point from now on fail, once; 0 lets none fail.
#[cfg(feature = "fault")]
pub fn fail_at(number: usize) {
    LEFT.store(number, Ordering::SeqCst);
}

/// A place at which something may go wrong.
///
/// # Panics
/// With the feature `fault`, when `fail_at` says so.
#[inline(always)]
pub fn fault_point() {
    #[cfg(feature = "fault")]
    {
        let before = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(before != Ok(1), "a fault on purpose");
    }
}
