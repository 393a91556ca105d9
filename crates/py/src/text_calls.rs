//! The fast calls on one text: the base class of `toksmith.Tokenizer`.
//!
//! Most calls pass no keyword, or only `special`. They run here, where arguments are parsed once and no Python frame is
//! made. All other calls go to the Python method of the same name with an underscore in front, the slow twin.

use std::sync::OnceLock;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use toksmith_guard::guarded;

use crate::engine::Engine;

/// The base class of `toksmith.Tokenizer`.
#[pyclass(name = "TextCalls", subclass, frozen, module = "toksmith._core")]
pub struct Calls {
    engine: OnceLock<Py<Engine>>,
}

/// An argument that can be left out. None is a value like any other.
pub struct Given<'py>(Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(object.to_owned())))
    }
}

struct Arguments<'a, 'py> {
    text: Given<'py>,
    more: &'a Bound<'py, PyTuple>,
    special: Given<'py>,
    errors: Given<'py>,
    others: Option<Bound<'py, PyDict>>,
}

#[guarded]
#[pymethods]
#[allow(clippy::doc_markdown, reason = "these are texts of Python")]
impl Calls {
    #[new]
    #[pyo3(signature = (*_more, **_others))]
    fn new(_more: &Bound<'_, PyTuple>, _others: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Ok(Self { engine: OnceLock::new() })
    }

    /// Sets the engine.
    fn _begin(&self, engine: Py<Engine>) -> PyResult<()> {
        self.engine.get_or_init(|| engine);
        Ok(())
    }

    /// The ids of a text.
    ///
    /// Args:
    ///     threads: At least 1; None uses all processors for a text longer
    ///         than 1 MiB, else one. The ids do not depend on it. A pattern
    ///         that is not in `toksmith.patterns()` uses one thread.
    /// Raises:
    ///     SpecialTokenInText: The text contains a special token that
    ///         `special` does not allow.
    ///     NotInVocabulary: A character or word has no id; never for
    ///         byte-level models.
    ///     PatternError: A regex of the model takes more steps than a text has
    ///         (`docs/spec.md`, *Bounds*).
    ///     TextTooLong: A step makes the text longer than 64 times its length
    ///         plus 1 MiB.
    /// Cost: time grows at worst as n log n with the length of the text, and
    ///     linearly with the number of its pieces.
    #[pyo3(
        signature = (text=Given(None), *more, special=Given(None), errors=Given(None), **others),
        text_signature = "($self, text, *, special='raise', errors='replace', threads=None, add_special_tokens=False)"
    )]
    fn encode<'py>(
        slf: &Bound<'py, Self>,
        text: Given<'py>,
        more: &Bound<'py, PyTuple>,
        special: Given<'py>,
        errors: Given<'py>,
        others: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { text, more, special, errors, others };
        arguments.run(slf, intern!(slf.py(), "_encode"), |engine, text, special, errors| {
            Ok(engine.encode(text, special, errors, None)?.into_any())
        })
    }

    /// The ids of a text as an array; `threads` as in `encode`.
    ///
    /// Args:
    ///     dtype: An integer type that holds every id: uint32, or int64 as
    ///         models take it.
    /// Returns: shape (n,).
    /// Raises: as `encode`; InvalidOption for a type that does not hold an id.
    #[pyo3(
        signature = (text=Given(None), *more, special=Given(None), errors=Given(None), **others),
        text_signature = "($self, text, *, special='raise', errors='replace', threads=None, add_special_tokens=False, dtype='uint32')"
    )]
    fn encode_array<'py>(
        slf: &Bound<'py, Self>,
        text: Given<'py>,
        more: &Bound<'py, PyTuple>,
        special: Given<'py>,
        errors: Given<'py>,
        others: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments { text, more, special, errors, others };
        arguments.run(slf, intern!(slf.py(), "_encode_array"), |engine, text, special, errors| {
            Ok(engine.encode_array(text, special, errors, None)?.into_any())
        })
    }
}

impl<'py> Arguments<'_, 'py> {
    /// The result of `fast`, or of its Python twin for other arguments.
    #[inline]
    fn run(
        self,
        tokenizer: &Bound<'py, Calls>,
        twin: &Bound<'py, PyString>,
        fast: impl FnOnce(
            &Engine,
            &Bound<'py, PyAny>,
            &Bound<'py, PyAny>,
            &Bound<'py, PyAny>,
        ) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = tokenizer.py();
        let (Some(engine), Some(text), None, true) =
            (tokenizer.get().engine.get(), &self.text.0, &self.others, self.more.is_empty())
        else {
            return self.run_twin(tokenizer, twin);
        };
        let special = self.special.0.as_ref().unwrap_or_else(|| intern!(py, "raise").as_any());
        let errors = self.errors.0.as_ref().unwrap_or_else(|| intern!(py, "replace").as_any());
        fast(engine.get(), text, special, errors).map_err(|error| with_advice(tokenizer, error, text))
    }

    #[cold]
    fn run_twin(self, tokenizer: &Bound<'py, Calls>, twin: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let keywords = self.others.unwrap_or_else(|| PyDict::new(tokenizer.py()));
        for (name, Given(value)) in [("special", self.special), ("errors", self.errors)] {
            if let Some(value) = value {
                keywords.set_item(name, value)?;
            }
        }
        let placed: Vec<_> = self.text.0.into_iter().chain(self.more.iter()).collect();
        tokenizer.call_method(twin, PyTuple::new(tokenizer.py(), placed)?, Some(&keywords))
    }
}

/// The error, with advice for the caller.
#[cold]
fn with_advice<'py>(slf: &Bound<'py, Calls>, error: PyErr, text: &Bound<'py, PyAny>) -> PyErr {
    let py = slf.py();
    let value = error.into_value(py);
    match slf.call_method1(intern!(py, "_with_advice"), (value, text)) {
        Ok(advised) => PyErr::from_value(advised),
        Err(problem) => problem,
    }
}
