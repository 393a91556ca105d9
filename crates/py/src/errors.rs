//! Converts core errors to the exceptions of `toksmith.errors`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use toksmith_core::{Error, switches};

/// The exception for an error of the core.
pub fn to_py(py: Python<'_>, error: Error) -> PyErr {
    raise(py, error, None).unwrap_or_else(|problem| problem)
}

fn raise(py: Python<'_>, error: Error, index: Option<usize>) -> PyResult<PyErr> {
    switches::fault_point();
    match error {
        Error::Model { invariant, id } => new_exception(py, "ModelError", (invariant, id)),
        Error::Format { place, problem } => new_exception(py, "FormatError", ("", place, problem)),
        Error::Option { argument, value, allowed } => new_exception(py, "InvalidOption", (argument, value, allowed)),
        Error::Pattern { pattern, problem, offset } => {
            new_exception(py, "PatternError", (pattern, problem, offset, index))
        }
        Error::TooLong { step, limit } => new_exception(py, "TextTooLong", (step, limit, index)),
        Error::SpecialTokenInText { token, offset } => new_exception(py, "SpecialTokenInText", (token, offset, index)),
        Error::UnknownId { id, position, vocab_size } => {
            new_exception(py, "UnknownId", (id, position, vocab_size, index))
        }
        Error::NotInVocabulary { content, offset } => match std::str::from_utf8(&content) {
            Ok(content) => new_exception(py, "NotInVocabulary", (content, offset, index)),
            Err(_) => new_exception(py, "NotInVocabulary", (PyBytes::new(py, &content), offset, index)),
        },
        Error::Corpus { path, problem } => {
            let path = Some(path).filter(|path| !path.is_empty());
            new_exception(py, "CorpusError", (path, None::<usize>, problem))
        }
        Error::InBatch { index, error } => raise(py, *error, Some(index)),
        Error::Interrupted => Ok(pyo3::exceptions::PyKeyboardInterrupt::new_err(())),
        // A new kind needs a row here.
        other => Ok(pyo3::exceptions::PyRuntimeError::new_err(other.to_string())),
    }
}

/// An exception of `toksmith.errors` by name.
pub fn new_exception<'py>(
    py: Python<'py>,
    name: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<PyErr> {
    let class = py.import("toksmith.errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1(arguments.into_pyobject(py)?)?))
}

/// The exception with its offset in the unit of the caller's text; `convert` gets the bytes and the place in a batch.
pub fn with_offset(py: Python<'_>, problem: &PyErr, convert: impl FnOnce(usize, Option<usize>) -> usize) -> PyErr {
    let converted = || {
        switches::fault_point();
        let value = problem.value(py);
        let classes = py.import("toksmith.errors")?.getattr("OF_A_PLACE")?;
        if !value.is_instance(&classes)? {
            return Ok(problem.clone_ref(py));
        }
        let index: Option<usize> = value.getattr("index")?.extract()?;
        let Some(offset) = value.getattr("offset")?.extract()? else { return Ok(problem.clone_ref(py)) };
        Ok(PyErr::from_value(value.call_method1("at", (convert(offset, index), index))?))
    };
    converted().unwrap_or_else(|other| other)
}

/// The same for an error in one of `texts`; `offset` converts.
pub fn with_batch_offset<T>(
    py: Python<'_>,
    problem: &PyErr,
    texts: &[T],
    offset: impl Fn(&T, usize) -> usize,
) -> PyErr {
    with_offset(py, problem, |bytes, index| {
        index.and_then(|index| texts.get(index)).map_or(bytes, |text| offset(text, bytes))
    })
}
