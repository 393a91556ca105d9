//! `TextBlock`: the texts of a block, one after another, readable without the GIL.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::Error;
use toksmith_core::count::jsonl::Fields;
use toksmith_core::count::jsonl::column::{BadRows, Column, RowNames, problem_of};
use toksmith_core::encode::template::Template;
use toksmith_core::measure::digests::digests;
use toksmith_core::split::Text as CoreText;
use toksmith_guard::guarded;

use crate::call::call;
use crate::errors;
use crate::guard::Arg;

/// The bytes of the texts.
enum Bytes {
    Own(Vec<u8>),
    Python(Py<PyBytes>),
}

/// A numpy array.
type Array<'py, T> = Bound<'py, PyArray1<T>>;
/// The bytes of all names, their ends, whether each exists, and the rows whose names the caller must read.
type Names<'py> = (Bound<'py, PyBytes>, Array<'py, u64>, Array<'py, bool>, Array<'py, u64>);

/// Texts in one immutable stretch of memory.
#[pyclass(frozen, module = "toksmith._core")]
pub struct TextBlock {
    bytes: Bytes,
    ends: Vec<u64>,
    lines: Vec<u64>,
    starts: Vec<u64>,
    names: Option<RowNames>,
    bad: BadRows,
    count: u64,
}

impl TextBlock {
    fn bytes<'a>(&'a self, py: Python<'a>) -> &'a [u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Python(bytes) => bytes.as_bytes(py),
        }
    }

    /// One text.
    pub fn text_at<'a>(&'a self, py: Python<'a>, place: usize) -> Option<&'a [u8]> {
        let start = place.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes(py).get(start as usize..*self.ends.get(place)? as usize)
    }

    /// The texts in the form of the core.
    pub fn as_texts<'a>(&'a self, py: Python<'a>) -> Vec<CoreText<'a>> {
        texts_of(self.bytes(py), &self.ends)
    }
}

#[guarded]
#[pymethods]
impl TextBlock {
    /// The texts in the rows of a block of whole lines of `.jsonl`, with the names in the field `name` if given.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn from_rows(
        py: Python<'_>,
        block: &[u8],
        field: &str,
        name: Option<Arg<String>>,
        threads: usize,
    ) -> PyResult<Self> {
        let name = name.as_ref().map(|name| name.0.as_str());
        let fields = Fields { text: field, name };
        let read = call(py, block.len(), |stop| Column::new(block, fields, threads, stop))?;
        let Column { texts, ends, lines, starts, names, bad, count } = read;
        let names = name.map(|_| names);
        Ok(Self { bytes: Bytes::Own(texts), ends, lines, starts, names, bad, count })
    }

    /// The problem of a row that has no text.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn problem_of(row: &[u8], field: &str, name: Option<Arg<String>>) -> PyResult<String> {
        let name = name.as_ref().map(|name| name.0.as_str());
        Ok(problem_of(row, Fields { text: field, name }).unwrap_or_default())
    }

    /// Texts one after another in `blob`, with their ends.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn from_values(blob: Bound<'_, PyBytes>, ends: PyReadonlyArray1<'_, u64>) -> PyResult<Self> {
        let ends = ends.as_slice()?.to_vec();
        check_ends(blob.as_bytes(), &ends).map_err(|error| errors::to_py(blob.py(), error))?;
        let count = ends.len() as u64;
        let lines = (0..count).collect();
        let bytes = Bytes::Python(blob.unbind());
        Ok(Self { bytes, ends, lines, starts: Vec::new(), names: None, bad: BadRows::default(), count })
    }

    /// The first `count` texts, without names and problems.
    fn first(&self, py: Python<'_>, count: usize) -> PyResult<Self> {
        let ends = self.ends[..count.min(self.ends.len())].to_vec();
        let bytes = Bytes::Own(self.bytes(py)[..ends.last().map_or(0, |&end| end as usize)].to_vec());
        let lines = self.lines[..ends.len()].to_vec();
        let starts = self.starts[..ends.len().min(self.starts.len())].to_vec();
        Ok(Self { bytes, count: lines.len() as u64, ends, lines, starts, names: None, bad: BadRows::default() })
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.ends.len())
    }

    /// One text; the same object if the block was made of that single text.
    fn text<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyBytes>> {
        if let (Bytes::Python(bytes), [_]) = (&self.bytes, self.ends.as_slice())
            && place == 0
        {
            return Ok(bytes.bind(py).clone());
        }
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        Ok(PyBytes::new(py, &self.bytes(py)[start..self.ends[place] as usize]))
    }

    /// The SHA-256 of each text, one after another.
    fn digests<'py>(&self, py: Python<'py>, threads: usize) -> PyResult<Bound<'py, PyBytes>> {
        let (bytes, texts) = (self.bytes(py), self.as_texts(py));
        Ok(PyBytes::new(py, &call(py, bytes.len(), |stop| digests(&texts, threads, stop))?))
    }

    #[getter]
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u64>> {
        Ok(PyArray1::from_slice(py, &self.ends))
    }

    /// The line number of each text in the block.
    #[getter]
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u64>> {
        Ok(PyArray1::from_slice(py, &self.lines))
    }

    /// The start of each text's row in the block; empty if the block is not of rows.
    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u64>> {
        Ok(PyArray1::from_slice(py, &self.starts))
    }

    /// The names of the texts; None if they were not requested.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Option<Names<'py>>> {
        let of = |names: &RowNames| {
            let (bytes, ends) = (PyBytes::new(py, &names.bytes), PyArray1::from_slice(py, &names.ends));
            (bytes, ends, PyArray1::from_slice(py, &names.known), PyArray1::from_slice(py, &names.unread))
        };
        Ok(self.names.as_ref().map(of))
    }

    /// The rows without a text: their line numbers, and their starts in the block.
    #[getter]
    fn bad<'py>(&self, py: Python<'py>) -> PyResult<(Array<'py, u64>, Array<'py, u64>)> {
        Ok((PyArray1::from_slice(py, &self.bad.lines), PyArray1::from_slice(py, &self.bad.starts)))
    }

    /// The number of lines in the block, blank ones included.
    #[getter]
    fn count(&self) -> PyResult<u64> {
        Ok(self.count)
    }
}

/// Ids with the ends of texts in them.
type Longer<'py> = (Array<'py, u32>, Array<'py, u64>);

/// Returns the ids with `first` before and `last` after each text's ids if the text ends in them, and the new ends.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn around<'py>(
    py: Python<'py>,
    ids: PyReadonlyArray1<'_, u32>,
    ends: PyReadonlyArray1<'_, u64>,
    first: Option<Arg<u32>>,
    last: Option<Arg<u32>>,
    which: Option<Arg<PyReadonlyArray1<'_, bool>>>,
) -> PyResult<Longer<'py>> {
    // The ends are checked in a copy, which no other thread can change.
    let (ids, ends) = (ids.as_slice()?, &*ends.as_slice()?.to_vec());
    let (first, last) = (first.map(|id| id.0), last.map(|id| id.0));
    let which = which.as_ref().map(|which| which.0.as_slice()).transpose()?;
    let fits = ends.is_sorted() && ends.last().is_none_or(|&last| last <= ids.len() as u64);
    if !fits || which.is_some_and(|which| which.len() != ends.len()) {
        let problem = "the ends do not ascend within the ids, or are not as many as texts".to_owned();
        return Err(errors::to_py(py, Error::Format { place: None, problem }));
    }
    let (ids, ends) = Template { first, last, which }.apply(ids, ends);
    Ok((ids.into_pyarray(py), ends.into_pyarray(py)))
}

/// The texts one after another in `blob`, given their ends.
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
