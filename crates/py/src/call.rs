//! Runs one call of the core: without the GIL unless it is short, and stoppable by Ctrl-C.

use pyo3::prelude::*;
use toksmith_core::threads::parallel::Stop;
use toksmith_core::threads::watched::run_watched;
use toksmith_core::{Error, switches};

use crate::errors;

/// Calls on fewer bytes keep the GIL: releasing it would cost more than the call.
const KEEPS_GIL: usize = 1 << 10;
/// Calls on more bytes run on a separate thread, while the caller's thread polls for signals.
pub const WATCHED: usize = 1 << 20;
/// Calls with a regex take longer than their bytes suggest: they run on a separate thread from this many bytes on.
const SEARCHED: usize = 1 << 12;

/// Blocks of a corpus with this many bytes take too long for a signal to wait.
const LARGE_BLOCK: usize = 32 << 20;

/// The minimum bytes that a text with a regex counts as.
const PER_SEARCH: usize = 1 << 10;

/// The bytes that a call counts as, for a text of `size` bytes and with or without a regex.
pub fn weight(size: usize, searches: bool) -> usize {
    weight_of(1, size, searches)
}

/// The same for several texts.
pub fn weight_of(texts: usize, size: usize, searches: bool) -> usize {
    let long = size.max(texts.saturating_mul(PER_SEARCH)) >= SEARCHED;
    if searches && long { size.max(WATCHED) } else { size }
}

/// The same for counting pieces. A block of a corpus is not watched: Python checks for signals after each block, and
/// with an additional thread for each, the system can make two threads share a processor.
pub fn counting_weight(texts: usize, size: usize, searches: bool) -> usize {
    let weight = weight_of(texts, size, searches);
    if searches || size >= LARGE_BLOCK { weight } else { weight.min(WATCHED - 1) }
}

/// The bytes that work on a table counts as, which takes far less time per byte than encoding.
pub fn table_weight(bytes: usize) -> usize {
    bytes / 8
}

/// Runs `work`, which handles `size` bytes.
pub fn call<T: Send>(
    py: Python<'_>,
    size: usize,
    work: impl FnOnce(&Stop) -> toksmith_core::Result<T> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let work = |stop: &Stop| {
        switches::fault_point();
        work(stop)
    };
    let outcome = if size < KEEPS_GIL {
        work(&stop)
    } else if size < WATCHED {
        py.detach(|| work(&stop))
    } else {
        let mut signal = Ok(());
        let look = || {
            signal = check_signals();
            if signal.is_ok() { Ok(()) } else { Err(Error::Interrupted) }
        };
        let outcome = py.detach(|| run_watched(&stop, work, look));
        signal?;
        outcome
    };
    outcome.map_err(|error| errors::to_py(py, error))
}

/// Handles signals in a call that does not hold the GIL.
pub fn check_signals() -> PyResult<()> {
    #[allow(clippy::redundant_closure_for_method_calls, reason = "the method is not general enough in its lifetime")]
    Python::attach(|py| py.check_signals())
}
