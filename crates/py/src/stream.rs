//! `TextStream` and `TextParts`: encode a file, fed blocks or a long text in memory part by part; and cuts of texts.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, TryLockError};

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use toksmith_core::encode::boundaries::StableCuts;
use toksmith_core::encode::files::Stream;
use toksmith_core::encode::long_text::{LongText, PART, encode_first};
use toksmith_core::split::Text;
use toksmith_core::split::special::Allow;
use toksmith_guard::guarded;

use crate::call::call;
use crate::column::TextBlock;
use crate::engine::Engine;
use crate::errors;

/// A text that is encoded part by part.
#[pyclass(frozen, module = "toksmith._core")]
pub struct TextStream {
    engine: Py<Engine>,
    allow: Allow,
    /// In a separate allocation: a search holds registers of 32 bytes, and the interpreter aligns objects to 16.
    stream: Box<Mutex<Stream>>,
}

#[guarded]
#[pymethods]
impl TextStream {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        engine: Bound<'_, Engine>,
        path: Option<PathBuf>,
        separator: &[u8],
        special: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let py = engine.py();
        let allow = engine.get().allow(special)?;
        let stream = match path {
            Some(path) => py.detach(|| Stream::open(&path, separator)).map_err(|problem| errors::to_py(py, problem))?,
            None => Stream::new(separator),
        };
        Ok(Self { engine: engine.unbind(), allow, stream: Box::new(Mutex::new(stream)) })
    }

    fn feed(&self, py: Python<'_>, text: &[u8], last: bool) -> PyResult<()> {
        let fed = py.detach(|| self.stream.lock().unwrap_or_else(PoisonError::into_inner).feed(text, last));
        fed.map_err(|problem| errors::to_py(py, problem))
    }

    #[getter]
    fn finished(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(py.detach(|| self.stream.lock().unwrap_or_else(PoisonError::into_inner).is_finished()))
    }

    #[allow(clippy::type_complexity)]
    fn read<'py>(
        &self,
        py: Python<'py>,
        limit: u64,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>)> {
        let mut stream = match self.stream.try_lock() {
            Ok(stream) => stream,
            Err(TryLockError::Poisoned(stream)) => stream.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(PyRuntimeError::new_err("the stream is being read already")),
        };
        let engine = self.engine.get();
        let (encoder, cuts) = engine.for_long_texts();
        let rules = LongText { encoder, cuts, allow: &self.allow, part: PART };
        let size = usize::try_from(stream.remaining_bytes()).unwrap_or(usize::MAX);
        let stream = &mut *stream;
        let ragged = call(py, size, |stop| stream.read(&rules, limit, threads, stop))?;
        Ok((ragged.ids.into_pyarray(py), ragged.ends.into_pyarray(py)))
    }
}

/// The ids of one text of a block, part by part.
#[pyclass(frozen, module = "toksmith._core")]
pub struct TextParts {
    engine: Py<Engine>,
    block: Py<TextBlock>,
    place: usize,
    allow: Allow,
    /// The start of the next part.
    start: Mutex<usize>,
}

impl TextParts {
    fn text<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        self.block.get().text_at(py, self.place).unwrap_or_default()
    }
}

#[guarded]
#[pymethods]
impl TextParts {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        engine: Bound<'_, Engine>,
        block: Bound<'_, TextBlock>,
        place: usize,
        special: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let allow = engine.get().allow(special)?;
        Ok(Self { engine: engine.unbind(), block: block.unbind(), place, allow, start: Mutex::new(0) })
    }

    #[getter]
    fn finished(&self, py: Python<'_>) -> PyResult<bool> {
        let size = self.text(py).len();
        Ok(py.detach(|| *self.start.lock().unwrap_or_else(PoisonError::into_inner) >= size))
    }

    /// The ids of the next `least` bytes or more, up to a cut. Offsets in errors are bytes of the text.
    fn read<'py>(&self, py: Python<'py>, least: usize, threads: usize) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let mut start = match self.start.try_lock() {
            Ok(start) => start,
            Err(TryLockError::Poisoned(start)) => start.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(PyRuntimeError::new_err("the text is being read already")),
        };
        let (encoder, cuts) = self.engine.get().for_long_texts();
        let rules = LongText { encoder, cuts, allow: &self.allow, part: PART };
        let (from, rest) = (*start, self.text(py).get(*start..).unwrap_or_default());
        let (ids, end) = call(py, rest.len(), |stop| {
            encode_first(&rules, Text::Bytes(rest), least, threads, stop).map_err(|error| error.shift_offset(from))
        })?;
        *start += end;
        Ok(ids.into_pyarray(py))
    }
}

/// A cut after `start` that changes no id: the first one in a complete text, or the last one that is valid whatever
/// follows.
#[guarded]
#[pyfunction]
pub fn find_cut(engine: &Bound<'_, Engine>, text: &[u8], start: usize, last: bool) -> PyResult<Option<usize>> {
    let (encoder, cuts) = engine.get().for_long_texts();
    let stable_cuts = StableCuts::new(encoder, cuts);
    call(engine.py(), text.len(), |_| {
        Ok(if last { stable_cuts.last_cut(text, start) } else { stable_cuts.first_cut(text, start) })
    })
}
