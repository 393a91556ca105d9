//! Converts Python ids (lists, arrays, iterables) to `u32`.

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toksmith_core::switches;

use crate::text::{items, items_room};
use crate::{errors, objects};

/// The origin of ids, for the errors.
#[derive(Clone, Copy)]
pub struct IdSource {
    /// The largest id + 1.
    pub vocab_size: usize,
    /// Their place in a batch.
    pub index: Option<usize>,
    /// Whether every id is converted by the interpreter's own rules, one after another.
    pub slow: bool,
}

impl IdSource {
    /// The argument's name, and the place in a batch.
    fn describe(&self) -> String {
        self.index.map_or_else(|| String::from("ids"), |index| format!("batch: sequence {index}"))
    }
}

/// Appends the ids of a list, array or iterable of integers.
pub fn extend(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>, origin: IdSource) -> PyResult<()> {
    switches::fault_point();
    let before = out.len();
    if !origin.slow {
        if let Ok(list) = ids.cast_exact::<PyList>() {
            if objects::read_list(list, out) {
                return Ok(());
            }
        } else if ids.is_instance_of::<PyUntypedArray>() && extend_from_array(out, ids) {
            return Ok(());
        }
        out.truncate(before);
    }
    extend_slowly(out, ids, origin)
}

/// The fast path of [`extend`] for one-dimensional arrays whose integers all fit; returns false for others.
fn extend_from_array(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>) -> bool {
    extend_from::<u32>(out, ids)
        .or_else(|| extend_from::<i64>(out, ids))
        .or_else(|| extend_from::<u16>(out, ids))
        .or_else(|| extend_from::<i32>(out, ids))
        .or_else(|| extend_from::<u64>(out, ids))
        .unwrap_or(false)
}

/// Appends an array of this type, and returns whether all integers fit; `None` for another type or a borrowed array.
fn extend_from<T: Element + Copy + TryInto<u32>>(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>) -> Option<bool> {
    let array = ids.cast::<PyArray1<T>>().ok()?.try_readonly().ok()?;
    let array = array.as_array();
    out.reserve(array.len());
    let mut fits = true;
    out.extend(array.iter().map(|&id| {
        id.try_into().unwrap_or_else(|_| {
            fits = false;
            0
        })
    }));
    Some(fits)
}

/// The twin of [`extend`] that uses the interpreter for every id, and names the first invalid one.
fn extend_slowly(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>, origin: IdSource) -> PyResult<()> {
    if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!("{}: expected ids (integers), not a text", origin.describe())));
    }
    out.reserve(items_room(ids));
    for (position, id) in items(ids, &origin.describe(), "ids (integers)")?.enumerate() {
        let id = id?;
        match id.extract::<u32>() {
            Ok(id) => out.push(id),
            Err(problem) if problem.is_instance_of::<PyTypeError>(ids.py()) => {
                let kind = id.get_type().qualname()?;
                let name = origin.describe();
                let problem = format!("{name}: position {position}: expected an integer id, not {kind}");
                return Err(PyTypeError::new_err(problem));
            }
            Err(_) => {
                let IdSource { vocab_size, index, .. } = origin;
                return Err(errors::new_exception(ids.py(), "UnknownId", (id, position, vocab_size, index))?);
            }
        }
    }
    Ok(())
}
