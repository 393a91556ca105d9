//! Two switches for tests: the slow twins of all fast code, and injected faults.
//!
//! Only the feature `fault`, which no shipped build has, makes a point fail; otherwise a point has no effect.

#[cfg(feature = "fault")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether `TOKSMITH_SLOW=1` selects the slow twins of all fast code. No id depends on it. A build without the feature
/// `fast` always uses them.
#[must_use]
pub fn slow() -> bool {
    cfg!(not(feature = "fast")) || std::env::var_os("TOKSMITH_SLOW").is_some_and(|slow| slow == "1")
}

/// The points until the next failing one, inclusive; 0 for none.
#[cfg(feature = "fault")]
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Makes the `number`th point from now on fail, once; 0 cancels.
#[cfg(feature = "fault")]
pub fn fail_at(number: usize) {
    LEFT.store(number, Ordering::SeqCst);
}

/// A place that can be made to fail.
///
/// # Panics
/// With the feature `fault`, if `fail_at` selected this point.
#[inline(always)]
pub fn fault_point() {
    #[cfg(feature = "fault")]
    {
        let before = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(before != Ok(1), "a fault on purpose");
    }
}
