//! Makes and reads Python objects directly: lists of ids, and texts. Each function has a safe twin below it, which an
//! engine made with `TOKSMITH_SLOW=1` uses.
//!
//! Lists hold shared `int` objects: one for each id that was ever in a list, made at first use and kept until the
//! process ends. `PyO3` refuses to be imported in a second interpreter, so that no object is shared between two.
#![allow(unsafe_code, reason = "the safe interface checks and converts what is known here to be right")]

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::string::PyStringData;
use pyo3::types::{PyBytes, PyList, PyString};
use toksmith_core::switches;

/// The ids that have a shared object; larger ones get a new object each time.
const MOST_SHARED: usize = 1 << 20;

/// By id, the shared object, to which the table owns a reference; null until it is made. Only written parts take
/// memory.
static SHARED: [AtomicPtr<ffi::PyObject>; MOST_SHARED] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST_SHARED];

pub fn list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    switches::fault_point();
    let len = isize::try_from(ids.len()).map_err(|_| PyOverflowError::new_err("the list would be too long"))?;
    // SAFETY: the interpreter is attached, and the result is an owned reference to a list, or null with an exception.
    let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(len))?.cast_into_unchecked::<PyList>() };
    for (place, &id) in (0..len).zip(ids) {
        let shared = SHARED.get(id as usize).map_or(ptr::null_mut(), |place| place.load(Ordering::Acquire));
        let int = if shared.is_null() { new_integer(py, id)? } else { shared };
        // SAFETY: the interpreter is attached. A shared object is kept alive by the table's reference, and the list
        // gets a separate one; the reference to a new object is passed on. The list is new and no other code has it,
        // `place` is below its length and holds null so far. A list that is dropped before it is full can hold nulls.
        unsafe {
            if !shared.is_null() {
                ffi::Py_INCREF(shared);
            }
            ffi::PyList_SET_ITEM(list.as_ptr(), place, int);
        }
    }
    Ok(list)
}

/// The twin of [`list`], with an object for each id.
pub fn list_slowly<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, ids)
}

/// A new reference to the object of an id that had none, which is shared from now on.
#[cold]
#[inline(never)]
fn new_integer(py: Python<'_>, id: u32) -> PyResult<*mut ffi::PyObject> {
    let int = id.into_pyobject(py)?.into_any();
    if let Some(place) = SHARED.get(id as usize) {
        let kept = int.clone().into_ptr();
        if place.compare_exchange(ptr::null_mut(), kept, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: `kept` is an owned reference that the table, which has one of another thread, did not take over.
            drop(unsafe { Bound::from_owned_ptr(py, kept) });
        }
    }
    Ok(int.into_ptr())
}

/// Appends the ids of a list to `out` if each is an `int` of 32 bits; otherwise `out` holds some of them, and the
/// caller must find the problem.
pub fn read_list(list: &Bound<'_, PyList>, out: &mut Vec<u32>) -> bool {
    with_critical_section(list, || {
        let len = list.len();
        out.reserve(len);
        (0..len).all(|place| {
            // SAFETY: the interpreter is attached and the list locked, and nothing in this loop runs code of Python
            // that could change it, so that `place` stays below its length and its items alive: an exact `int` does not
            // override `__index__`.
            let number = unsafe {
                let item = ffi::PyList_GET_ITEM(list.as_ptr(), place.cast_signed());
                if ffi::PyLong_CheckExact(item) != 0 { ffi::PyLong_AsLongLong(item) } else { -1 }
            };
            let id = u32::try_from(number);
            if let Ok(id) = id {
                out.push(id);
            } else if PyErr::occurred(list.py()) {
                drop(PyErr::take(list.py()));
            }
            id.is_ok()
        })
    })
}

/// The text of bytes; `errors` as in `bytes.decode`.
pub fn text<'py>(py: Python<'py>, bytes: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
    switches::fault_point();
    let len = isize::try_from(bytes.len()).map_err(|_| PyOverflowError::new_err("the text would be too long"))?;
    // SAFETY: the interpreter is attached, the bytes and the name live during the call, and the result is an owned
    // reference to a `str`, or null with an exception.
    unsafe {
        let text = ffi::PyUnicode_DecodeUTF8(bytes.as_ptr().cast(), len, errors.as_ptr());
        Ok(Bound::from_owned_ptr_or_err(py, text)?.cast_into_unchecked())
    }
}

/// The twin of [`text`], by way of a bytes object.
pub fn text_slowly<'py>(py: Python<'py>, bytes: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
    let text = PyBytes::new(py, bytes).call_method1("decode", ("utf-8", errors.to_string_lossy()))?;
    Ok(text.cast_into()?)
}

/// The characters of a text in Python's units; None if their UTF-8 also exists. The twin is `to_str`, for which Python
/// writes UTF-8 if need be.
pub fn units<'t>(text: &'t Bound<'_, PyString>) -> PyResult<Option<PyStringData<'t>>> {
    switches::fault_point();
    // SAFETY: a `str` that others can see never changes, and `text` holds it as long as its units are borrowed.
    let units = unsafe { text.data()? };
    let head = text.as_ptr();
    let place = match units {
        PyStringData::Ucs1(units) => units.as_ptr().addr(),
        PyStringData::Ucs2(units) => units.as_ptr().addr(),
        PyStringData::Ucs4(units) => units.as_ptr().addr(),
    };
    if place == head.addr() + size_of::<ffi::PyASCIIObject>() {
        return Ok(None);
    }
    // SAFETY: the object is a `str` that has the larger head, because only ASCII directly follows the smaller one.
    // Another thread can set the pointer meanwhile, hence the atomic load.
    let utf8 = unsafe { AtomicPtr::from_ptr(&raw mut (*head.cast::<ffi::PyCompactUnicodeObject>()).utf8) };
    Ok(utf8.load(Ordering::Relaxed).is_null().then_some(units))
}
