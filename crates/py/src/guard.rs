//! Runs every entry from Python so that a panic becomes the project's error.
//!
//! [`guarded`](toksmith_guard::guarded) wraps the entries. An argument whose conversion, before the entry begins, does
//! more than look at an object is an [`Arg`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use pyo3::prelude::*;
use toksmith_core::switches;

use crate::errors;

/// The last panic: its message and its place.
static LAST: Mutex<Option<(String, String)>> = Mutex::new(None);

/// Returns the result of `work`; an error if it panics.
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
    let message_of_panic = panic_message(panic);
    let place = LAST.try_lock().ok().and_then(|mut last| last.take()).filter(|(last, _)| *last == message_of_panic);
    let place = place.map_or_else(String::new, |(_, place)| format!(" ({place})"));
    let message = format!("internal error, please report it: {message_of_panic}{place}");
    Python::attach(|py| errors::new_exception(py, "ToksmithError", (message,)).unwrap_or_else(|problem| problem))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("unknown").to_owned()
}

/// Hides this library's panics from the terminal, since each becomes an error with the same text; with `RUST_BACKTRACE`
/// they are printed as well. The hook belongs to this library's own Rust runtime: no other library shares it.
pub fn keep_quiet() {
    let print = std::panic::take_hook();
    let printed = std::env::var_os("RUST_BACKTRACE").is_some_and(|printed| printed != "0");
    std::panic::set_hook(Box::new(move |info| {
        if printed {
            print(info);
        }
        if let (Ok(mut last), Some(place)) = (LAST.try_lock(), info.location()) {
            *last = Some((panic_message(info.payload()), place.to_string()));
        }
    }));
}

/// An argument that is converted inside the guard, of a type whose conversion iterates over an object.
pub struct Arg<T>(pub T);

impl<'a, 'py, T: FromPyObject<'a, 'py>> FromPyObject<'a, 'py> for Arg<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        guard(|| object.extract::<T>().map(Self).map_err(Into::into))
    }
}
