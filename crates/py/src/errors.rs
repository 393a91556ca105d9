//! Core errors to the exceptions of `toksmith._errors`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use toksmith_core::Error;

/// The exception for an error of the core.
pub fn to_py(py: Python<'_>, error: Error) -> PyErr {
    raise(py, error, None).unwrap_or_else(|problem| problem)
}

fn raise(py: Python<'_>, error: Error, index: Option<usize>) -> PyResult<PyErr> {
    match error {
        Error::Model { invariant, id } => new(py, "ModelError", (invariant, id)),
        Error::Format { place, problem } => new(py, "FormatError", ("", place, problem)),
        Error::Option { argument, value, allowed } => new(py, "InvalidOption", (argument, value, allowed)),
        Error::Pattern { pattern, problem } => new(py, "PatternError", (pattern, problem)),
        Error::SpecialTokenInText { token, offset } => new(py, "SpecialTokenInText", (token, offset, index)),
        Error::UnknownId { id, position, vocab_size } => new(py, "UnknownId", (id, position, vocab_size, index)),
        Error::NotInVocabulary { content, offset } => match std::str::from_utf8(&content) {
            Ok(content) => new(py, "NotInVocabulary", (content, offset)),
            Err(_) => new(py, "NotInVocabulary", (PyBytes::new(py, &content), offset)),
        },
        Error::Corpus { path, problem } => new(py, "CorpusError", (path, None::<usize>, problem)),
        Error::InBatch { index, error } => raise(py, *error, Some(index)),
        Error::Interrupted => Ok(pyo3::exceptions::PyKeyboardInterrupt::new_err(())),
    }
}

/// An exception of `toksmith._errors` by name.
pub fn new<'py>(
    py: Python<'py>,
    name: &str,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
) -> PyResult<PyErr> {
    let class = py.import("toksmith._errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1(arguments.into_pyobject(py)?)?))
}

/// The exception with its offset in the unit of the caller's text: `convert` gets bytes and the text's place.
pub fn with_offset(py: Python<'_>, problem: &PyErr, convert: impl FnOnce(usize, Option<usize>) -> usize) -> PyErr {
    let class = py.import("toksmith._errors").and_then(|errors| errors.getattr("SpecialTokenInText"));
    let converted = class.and_then(|class| {
        let value = problem.value(py);
        if value.is_instance(&class)? {
            let token: String = value.getattr("token")?.extract()?;
            let index: Option<usize> = value.getattr("index")?.extract()?;
            let offset = convert(value.getattr("offset")?.extract()?, index);
            return new(py, "SpecialTokenInText", (token, offset, index));
        }
        Ok(problem.clone_ref(py))
    });
    converted.unwrap_or_else(|other| other)
}
