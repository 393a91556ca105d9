//! Threads within a call, and state that calls share.
//!
//! Reading order: [`parallel`], which has the flag that stops a call and the scheduler that every call uses;
//! [`sessions`], the pool of sessions for reuse; [`once`], for tables built at first use; [`mod@watched`], for work
//! during which the caller's thread checks for signals.
//!
//! Left out: a pool of threads, because threads live for one call; and the number of threads, which the caller chooses.

pub mod once;
pub mod parallel;
pub mod sessions;
pub mod watched;

use std::time::Instant;

/// The time; None if the system has no clock, as in a browser.
#[must_use]
pub fn now() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}
