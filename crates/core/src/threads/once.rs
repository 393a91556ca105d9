//! Values that are made at first use.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that is made at first use. Two threads can both make it. No thread waits for another, because the
/// other can be missing in a forked child.
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
    /// An empty cell.
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
                // Only one thread enters here, so that `set` does not wait.
                let _ = self.value.set(new);
            }
        }
        self.value.get()
    }

    /// The value, if it is made.
    #[must_use]
    pub fn peek(&self) -> Option<&T> {
        self.value.get()
    }
}
