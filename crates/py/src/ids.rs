//! Python ids (lists, arrays, iterables) to `u32`.

use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use toksmith_core::switches;

use crate::text::{items, room};
use crate::{errors, objects};

/// Where ids come from, for the errors.
#[derive(Clone, Copy)]
pub struct Origin {
    /// The largest id + 1.
    pub vocab_size: usize,
    /// The place in a batch.
    pub index: Option<usize>,
    /// Whether every id is converted by the interpreter's own rules, one after another.
    pub slow: bool,
}

impl Origin {
    /// The argument, and the place in a batch.
    fn named(&self) -> String {
        self.index.map_or_else(|| String::from("ids"), |index| format!("batch: sequence {index}"))
    }
}

/// Appends the ids of a list, array or iterable of integers.
pub fn extend(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>, origin: Origin) -> PyResult<()> {
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

/// As [`extend`] for arrays of one dimension whose integers all fit; the others are left to it.
fn extend_from_array(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>) -> bool {
    extend_from::<u32>(out, ids)
        .or_else(|| extend_from::<i64>(out, ids))
        .or_else(|| extend_from::<u16>(out, ids))
        .or_else(|| extend_from::<i32>(out, ids))
        .or_else(|| extend_from::<u64>(out, ids))
        .unwrap_or(false)
}

/// Whether all integers of an array of this type fit; `None` if it is of another type, or borrowed elsewhere.
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

/// The twin of [`extend`] that asks the interpreter for every id, and says which one is none.
fn extend_slowly(out: &mut Vec<u32>, ids: &Bound<'_, PyAny>, origin: Origin) -> PyResult<()> {
    if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!("{}: expected ids (integers), not a text", origin.named())));
    }
    out.reserve(room(ids));
    for (position, id) in items(ids, &origin.named(), "ids (integers)")?.enumerate() {
        let id = id?;
        match id.extract::<u32>() {
            Ok(id) => out.push(id),
            Err(problem) if problem.is_instance_of::<PyTypeError>(ids.py()) => {
                let kind = id.get_type().qualname()?;
                let named = origin.named();
                let problem = format!("{named}: position {position}: expected an integer id, not {kind}");
                return Err(PyTypeError::new_err(problem));
            }
            Err(_) => {
                let Origin { vocab_size, index, .. } = origin;
                return Err(errors::new(ids.py(), "UnknownId", (id, position, vocab_size, index))?);
            }
        }
    }
    Ok(())
}
