//! What every entry from Python runs in: a panic becomes the project's own error.
//!
//! [`guarded`](toksmith_guard::guarded) puts the entries in it. What is converted before an entry begins, and can do more
//! than look at an object, is an [`Arg`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use pyo3::prelude::*;
use toksmith_core::switches;

use crate::errors;

/// The last panic: what it said, and where it was.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// What `work` gives; if it panics, an error.
///
/// # Errors
/// That of `work`, and `ToksmithError` for a panic.
#[inline]
pub fn guard<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        switches::fault_point();
        work()
    }));
    outcome.unwrap_or_else(|panic| Err(internal(&*panic)))
}

#[cold]
fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let said = said(panic);
    let place = LAST.try_lock().ok().and_then(|mut last| last.take()).filter(|(last, _)| *last == said);
    let place = place.map_or_else(String::new, |(_, place)| format!(" ({place})"));
    let message = format!("internal error, please report it: {said}{place}");
    Python::attach(|py| errors::new(py, "ToksmithError", (message,)).unwrap_or_else(|problem| problem))
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("unknown").to_owned()
}

/// Keeps panics of this library from the terminal, since each becomes an error that says the same; with
/// `RUST_BACKTRACE` they are printed as well. The hook is that of this library's own runtime: no other has it.
pub fn keep_quiet() {
    let print = std::panic::take_hook();
    let wanted = std::env::var_os("RUST_BACKTRACE").is_some_and(|wanted| wanted != "0");
    std::panic::set_hook(Box::new(move |info| {
        if wanted {
            print(info);
        }
        if let (Ok(mut last), Some(place)) = (LAST.try_lock(), info.location()) {
            *last = Some((said(info.payload()), place.to_string()));
        }
    }));
}

/// An argument that is converted inside the guard: of a type that asks an object for its items.
pub struct Arg<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Arg<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        guard(|| object.extract::<T>().map(Self).map_err(Into::into))
    }
}
