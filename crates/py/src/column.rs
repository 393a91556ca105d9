//! `TextBlock`: texts of a block, one after another, that the core reads without the interpreter's lock.

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::Error;
use toksmith_core::count::jsonl::column::Column;
use toksmith_core::split::Text as CoreText;
use toksmith_guard::guarded;

use crate::call::call;
use crate::errors;

/// The bytes of the texts.
enum Bytes {
    Own(Vec<u8>),
    Python(Py<PyBytes>),
}

/// Texts in one stretch of memory that nobody changes.
#[pyclass(frozen, module = "toksmith._core")]
pub struct TextBlock {
    bytes: Bytes,
    ends: Vec<u64>,
    lines: Vec<u64>,
    problems: Vec<(u64, String)>,
    count: u64,
}

impl TextBlock {
    fn bytes<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Python(bytes) => bytes.as_bytes(py),
        }
    }

    /// Each text as the core takes it.
    pub fn as_texts<'a>(&'a self, py: Python<'a>) -> Vec<CoreText<'a>> {
        texts_of(self.bytes(py), &self.ends)
    }
}

#[guarded]
#[pymethods]
impl TextBlock {
    /// The texts in the rows of a block of whole lines of `.jsonl`.
    #[staticmethod]
    fn of_rows(py: Python<'_>, block: &[u8], field: &str, threads: usize) -> PyResult<Self> {
        let read = call(py, block.len(), |stop| Column::new(block, field, threads, stop))?;
        let Column { texts, ends, lines, problems, count } = read;
        Ok(Self { bytes: Bytes::Own(texts), ends, lines, problems, count })
    }

    /// Texts that follow one another in `blob`, by where each ends.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn of_values(blob: Bound<'_, PyBytes>, ends: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        let ends = ends.as_slice()?.to_vec();
        check_ends(blob.as_bytes(), &ends).map_err(|error| errors::to_py(blob.py(), error))?;
        let count = ends.len() as u64;
        let lines = (0..count).collect();
        Ok(Self { bytes: Bytes::Python(blob.unbind()), ends, lines, problems: Vec::new(), count })
    }

    /// The first `count` texts.
    fn first(&self, py: Python<'_>, count: usize) -> PyResult<Self> {
        let ends = self.ends[..count.min(self.ends.len())].to_vec();
        let bytes = self.bytes(py)[..ends.last().map_or(0, |&end| end as usize)].to_vec();
        let lines = self.lines[..ends.len()].to_vec();
        Ok(Self { bytes: Bytes::Own(bytes), count: lines.len() as u64, ends, lines, problems: Vec::new() })
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.ends.len())
    }

    /// One text.
    fn text<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyBytes>> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Ok(PyBytes::new(py, &self.bytes(py)[start..self.ends[place] as usize]))
    }

    /// All texts, one after another.
    #[getter]
    fn texts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(match &self.bytes {
            Bytes::Own(bytes) => PyBytes::new(py, bytes),
            Bytes::Python(bytes) => bytes.bind(py).clone(),
        })
    }

    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.ends))
    }

    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.lines))
    }

    #[getter]
    fn problems(&self) -> PyResult<Vec<(u64, String)>> {
        Ok(self.problems.clone())
    }

    /// How many lines the block has, blank ones included.
    #[getter]
    fn count(&self) -> PyResult<u64> {
        Ok(self.count)
    }
}

/// Texts that follow one another, by where each ends.
pub fn texts_of<'a>(blob: &'a [u8], ends: &[u64]) -> Vec<CoreText<'a>> {
    let starts = std::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(&start, &end)| CoreText::Bytes(&blob[start as usize..end as usize])).collect()
}

/// Refuses ends that do not ascend to the end of the bytes.
pub fn check_ends(blob: &[u8], ends: &[u64]) -> toksmith_core::Result<()> {
    if ends.is_sorted() && ends.last().copied().unwrap_or(0) == blob.len() as u64 {
        return Ok(());
    }
    let problem = "the ends do not ascend to the end of the bytes".to_owned();
    Err(Error::Format { place: None, problem })
}
