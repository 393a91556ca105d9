//! One call of the core: without the GIL when it is worth it, and stoppable by Ctrl-C.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use toksmith_core::fault;
use toksmith_core::threads::parallel::Stop;

use crate::errors;

/// Calls on fewer bytes than this keep the GIL: letting go of it would cost more than the call.
const KEEPS_GIL: usize = 1 << 10;
/// Calls on more bytes than this run on a thread of their own, while the caller's looks for signals.
pub const WATCHED: usize = 1 << 20;
/// How long a signal may wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Calls that search with a regex take longer than their bytes let expect: from this many on they run so too.
const SEARCHED: usize = 1 << 12;

/// However short a text is, where a regex searches it, it counts as so many bytes at least.
const PER_SEARCH: usize = 1 << 10;

/// The bytes that a call counts as on a text of `size` bytes, which may search with a regex.
pub fn weight(size: usize, searches: bool) -> usize {
    weight_of(1, size, searches)
}

/// The same for so many texts.
pub fn weight_of(texts: usize, size: usize, searches: bool) -> usize {
    let long = size.max(texts.saturating_mul(PER_SEARCH)) >= SEARCHED;
    if searches && long { size.max(WATCHED) } else { size }
}

/// The result of `work`, which handles `size` bytes.
pub fn call<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce(&Stop) -> toksmith_core::Result<T> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let work = || {
        fault::point();
        work(&stop)
    };
    let outcome = if size < KEEPS_GIL {
        work()
    } else if size < WATCHED {
        py.detach(work)
    } else {
        watched(py, &stop, work)?
    };
    outcome.map_err(|error| errors::to_py(py, error))
}

fn watched<T: Send>(py: Python<'_>, stop: &Stop, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = channel::<()>();
            let worker = scope.spawn(move || {
                let result = work();
                drop(done);
                result
            });
            let mut signal = Ok(());
            while signal.is_ok() && wait.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                #[allow(
                    clippy::redundant_closure_for_method_calls,
                    reason = "the method is not general enough in its lifetime"
                )]
                let checked = Python::attach(|py| py.check_signals());
                signal = checked;
            }
            if signal.is_err() {
                stop.raise();
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            signal.map(|()| result)
        })
    })
}
