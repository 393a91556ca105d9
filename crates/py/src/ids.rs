//! Python ids (lists, arrays, iterables) to `u32`, and back to lists.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors;

/// The ids of a list, array or iterable of integers; `index` is its place in a batch.
pub fn from_py(ids: &Bound<'_, PyAny>, vocab_size: usize, index: Option<usize>) -> PyResult<Vec<u32>> {
    if let Ok(array) = ids.extract::<PyReadonlyArray1<'_, u32>>() {
        return Ok(array.as_array().to_vec());
    }
    if ids.is_instance_of::<PyString>() || ids.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("expected ids (integers), not a text"));
    }
    let mut out = Vec::with_capacity(ids.len().unwrap_or(0));
    for (position, id) in ids.try_iter()?.enumerate() {
        let id = id?;
        match id.extract::<u32>() {
            Ok(id) => out.push(id),
            Err(problem) if problem.is_instance_of::<PyTypeError>(ids.py()) => {
                let kind = id.get_type().qualname()?;
                return Err(PyTypeError::new_err(format!("position {position}: expected an integer id, not {kind}")));
            }
            Err(_) => {
                return Err(errors::new(ids.py(), "UnknownId", (id, position, vocab_size, index))?);
            }
        }
    }
    Ok(out)
}

/// A Python list of ids.
pub fn to_list<'py>(py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, ids)
}
