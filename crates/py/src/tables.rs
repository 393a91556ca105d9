//! Parses and writes the token tables of files.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::table::{self, Tokens};
use toksmith_guard::guarded;

use crate::call::{call, table_weight};
use crate::errors;
use crate::memory::Memory;

/// The token bytes, their ends and ids.
pub type Buffers<'py> = (Bound<'py, PyBytes>, Memory, Memory);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_tiktoken, module)?)?;
    module.add_function(wrap_pyfunction!(refuse_repeats, module)?)?;
    module.add_function(wrap_pyfunction!(parse_token_lines, module)?)?;
    module.add_function(wrap_pyfunction!(dump_token_lines, module)?)?;
    module.add_function(wrap_pyfunction!(parse_merge_lines, module)?)?;
    module.add_function(wrap_pyfunction!(parse_number_lines, module)?)?;
    module.add_function(wrap_pyfunction!(dump_number_lines, module)?)?;
    module.add_function(wrap_pyfunction!(sha256, module)?)
}

/// The SHA-256 of `data[:end]`, in hex. `hashlib` takes longer to import than most files take to load.
#[guarded]
#[pyfunction]
fn sha256(py: Python<'_>, data: &[u8], end: usize) -> PyResult<String> {
    call(py, table_weight(end), |_| Ok(table::sha256(&data[..end.min(data.len())])))
}

#[guarded]
#[pyfunction]
fn parse_tiktoken<'py>(py: Python<'py>, data: &[u8], path: &str) -> PyResult<Buffers<'py>> {
    Ok(buffers(py, parse(py, data, path, table::parse_tiktoken)?))
}

#[guarded]
#[pyfunction]
fn refuse_repeats(py: Python<'_>, data: &[u8], path: &str) -> PyResult<()> {
    parse(py, data, path, table::refuse_repeats)
}

/// Parses the token lines, and computes the SHA-256 of `data[:signed]`.
#[guarded]
#[pyfunction]
fn parse_token_lines<'py>(
    py: Python<'py>,
    data: &[u8],
    start: usize,
    count: usize,
    path: &str,
    signed: usize,
) -> PyResult<(Buffers<'py>, usize, String)> {
    let signed = &data[..signed.min(data.len())];
    let both = |data: &[u8]| {
        let (tokens, next) = table::parse_token_lines(data, start, count)?;
        Ok((tokens, next, table::sha256(signed)))
    };
    let (tokens, next, digest) = parse(py, data, path, both)?;
    Ok((buffers(py, tokens), next, digest))
}

#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn dump_token_lines<'py>(
    py: Python<'py>,
    blob: &[u8],
    ends: PyReadonlyArray1<'py, u32>,
    ids: PyReadonlyArray1<'py, u32>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (ends, ids) = (ends.as_slice()?, ids.as_slice()?);
    let lines = call(py, blob.len() + ids.len(), |_| table::dump_token_lines(blob, ends, ids))?;
    Ok(PyBytes::new(py, &lines))
}

#[guarded]
#[pyfunction]
fn parse_merge_lines(py: Python<'_>, data: &[u8], start: usize, count: usize, path: &str) -> PyResult<(Memory, usize)> {
    let (numbers, next) = parse(py, data, path, |data| table::parse_number_lines(data, start, count, 3))?;
    // No token has the largest id, so that a vocabulary refuses a merge with a larger one.
    let ids: Vec<u32> = numbers.into_iter().map(|number| u32::try_from(number).unwrap_or(u32::MAX)).collect();
    Ok((ids.into(), next))
}

/// The two columns of a table of numbers, and the end of its lines.
#[guarded]
#[pyfunction]
fn parse_number_lines(
    py: Python<'_>,
    data: &[u8],
    start: usize,
    count: usize,
    path: &str,
) -> PyResult<(Memory, Memory, usize)> {
    let (numbers, next) = parse(py, data, path, |data| table::parse_number_lines(data, start, count, 2))?;
    let (left, right): (Vec<u64>, Vec<u64>) = numbers.as_chunks().0.iter().map(|&[left, right]| (left, right)).unzip();
    Ok((left.into(), right.into(), next))
}

#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
fn dump_number_lines<'py>(py: Python<'py>, table: PyReadonlyArray2<'py, u64>) -> PyResult<Bound<'py, PyBytes>> {
    let (numbers, columns) = (table.as_slice()?, table.as_array().ncols());
    let lines = call(py, numbers.len() * 8, |_| Ok(table::dump_number_lines(numbers, columns)))?;
    Ok(PyBytes::new(py, &lines))
}

/// The result of a parser; its errors get the file's path, and line numbers become integers.
fn parse<T: Send>(
    py: Python<'_>,
    data: &[u8],
    path: &str,
    parser: impl FnOnce(&[u8]) -> toksmith_core::Result<T> + Send,
) -> PyResult<T> {
    // The core's error is kept until the path can be added.
    match call(py, table_weight(data.len()), |_| Ok(parser(data)))? {
        Err(toksmith_core::Error::Format { place, problem }) => {
            let line = place.as_ref().and_then(|place| place.parse::<u64>().ok());
            Err(match line {
                Some(line) => errors::new_exception(py, "FormatError", (path, line, problem))?,
                None => errors::new_exception(py, "FormatError", (path, place, problem))?,
            })
        }
        result => result.map_err(|error| errors::to_py(py, error)),
    }
}

/// The buffers, all immutable, so that a model keeps them without a copy.
pub fn buffers(py: Python<'_>, tokens: Tokens) -> Buffers<'_> {
    (PyBytes::new(py, &tokens.blob), tokens.ends.into(), tokens.ids.into())
}
