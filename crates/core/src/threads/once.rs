//! Values that are made when they are needed first.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that is made when it is needed first. Two threads may both make it. No thread waits for another, because that
/// may no longer exist in a forked child.
#[derive(Debug)]
pub struct Once<T> {
    value: OnceLock<T>,
    taken: AtomicBool,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Once<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: OnceLock::new(), taken: AtomicBool::new(false) }
    }

    /// The value; `None` while another thread stores it.
    #[inline]
    pub fn get(&self, make: impl FnOnce() -> T) -> Option<&T> {
        if self.value.get().is_none() {
            let new = make();
            if !self.taken.swap(true, Ordering::Relaxed) {
                // Only one thread ever comes here, so that `set` does not wait.
                let _ = self.value.set(new);
            }
        }
        self.value.get()
    }

    /// The value, if it was made.
    #[must_use]
    pub fn made(&self) -> Option<&T> {
        self.value.get()
    }
}
