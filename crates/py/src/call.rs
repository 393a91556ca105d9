//! One call of the core: without the GIL when it is worth it, stoppable by Ctrl-C, and never a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use toksmith_core::parallel::Stop;

use crate::errors;

/// Calls on fewer bytes than this keep the GIL: letting go of it would cost more than the call.
const KEEPS_GIL: usize = 1 << 10;
/// Calls on more bytes than this run on a thread of their own, while the caller's looks for signals.
pub const WATCHED: usize = 1 << 20;
/// How long a signal may wait.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The result of `work`, which handles `size` bytes.
pub fn call<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce(&Stop) -> toksmith_core::Result<T> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let guarded = || catch_unwind(AssertUnwindSafe(|| work(&stop)));
    let outcome = if size < KEEPS_GIL {
        guarded()
    } else if size < WATCHED {
        py.detach(guarded)
    } else {
        watched(py, &stop, guarded)?
    };
    match outcome {
        Ok(result) => result.map_err(|error| errors::to_py(py, error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let message = format!("internal error, please report it: {}", text.unwrap_or("unknown"));
            Err(errors::new(py, "ToksmithError", (message,))?)
        }
    }
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
