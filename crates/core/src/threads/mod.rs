//! Threads, and what calls share: several processors in one call, and what one call leaves for the next.
//!
//! Reading order: [`parallel`], which has the flag that stops a call and the scheduler that every call uses;
//! [`sessions`], which keeps what calls have worked with; [`once`], for tables that are made when they are needed
//! first; [`mod@watched`], for work during which the caller's thread looks for signals.
//!
//! Left out: a pool of threads, because threads live for one call; and how many threads a call gets, which the caller
//! says.

pub mod once;
pub mod parallel;
pub mod sessions;
pub mod watched;

use std::time::Instant;

/// The time; None where the system has no clock, as in a browser.
#[must_use]
pub fn now() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}
