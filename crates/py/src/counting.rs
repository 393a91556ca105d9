//! `Counter` and `PieceCounts`: documents to piece counts, and what can be done with these.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use toksmith_core::Error;
use toksmith_core::alphabet::{characters, within};
use toksmith_core::arena::Arena;
use toksmith_core::count::{Facts, PieceCounts as CoreCounts, Tally, counter};
use toksmith_core::counter::{Counter as CoreCounter, LeftOut, Limits, Rare};
use toksmith_core::parallel::Stop;
use toksmith_core::split::{Splitter, Text as CoreText};
use toksmith_core::tsv;

use crate::call::{WATCHED, call};
use crate::errors;
use crate::text::{Errors, Text, look_up};

/// Pieces and bytes that were left out.
type Out = (u64, u64);
/// The same of rare pieces, and the most of one pair in them.
type RareOut = (u64, u64, u64);
/// The bytes of all pieces, where each ends, its count, and its first document and byte.
type Columns<'py> = (Bound<'py, PyBytes>, [Bound<'py, PyArray1<u64>>; 4]);

/// Counts documents.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Counter {
    counter: Mutex<Option<CoreCounter>>,
    splitter: Arc<Splitter>,
}

impl Counter {
    fn lock(&self) -> MutexGuard<'_, Option<CoreCounter>> {
        self.counter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call of the counter, which handles `size` bytes.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        size: usize,
        work: impl FnOnce(&mut CoreCounter, &Stop) -> toksmith_core::Result<T> + Send,
    ) -> PyResult<T> {
        let done = call(py, size, |stop| self.lock().as_mut().map(|counter| work(counter, stop)).transpose())?;
        done.ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))
    }

    fn get<T>(&self, get: impl FnOnce(&CoreCounter) -> T) -> PyResult<T> {
        self.lock().as_ref().map(get).ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))
    }
}

/// A text that is borrowed, or a copy that lives for one batch: a `str` keeps its own UTF-8 for good once it is asked.
enum Held<'py> {
    Text(Text<'py>),
    Utf8(Bound<'py, PyBytes>),
}

impl<'py> Held<'py> {
    fn new(item: &Bound<'py, PyAny>, index: usize) -> PyResult<Self> {
        if let Ok(text) = item.cast::<PyString>()
            && !text.call_method0(intern!(item.py(), "isascii"))?.is_truthy()?
            && let Ok(utf8) = text.encode_utf8()
        {
            return Ok(Self::Utf8(utf8));
        }
        Ok(Self::Text(Text::new(item, Errors::Replace, Some(index))?))
    }

    fn as_text(&self) -> PyResult<CoreText<'_>> {
        match self {
            Self::Text(text) => text.as_text(),
            Self::Utf8(bytes) => Ok(CoreText::Bytes(bytes.as_bytes())),
        }
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        patterns: Vec<String>,
        start: (u64, u64),
        memory: Option<usize>,
        folder: PathBuf,
        longest: Option<usize>,
    ) -> PyResult<Self> {
        let made = counter(&patterns, Limits { memory, folder, longest }, start);
        let (counter, splitter) = made.map_err(|error| errors::to_py(py, error))?;
        Ok(Self { counter: Mutex::new(Some(counter)), splitter })
    }

    fn add(&self, documents: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
        let py = documents.py();
        let mut held = Vec::with_capacity(documents.len().unwrap_or(0));
        for (index, item) in documents.try_iter()?.enumerate() {
            held.push(Held::new(&item?, index)?);
            look_up(py, index)?;
        }
        let texts = held.iter().map(Held::as_text).collect::<PyResult<Vec<_>>>()?;
        let size = texts.iter().map(|text| text.as_bytes().len()).sum();
        self.with(py, size, |counter, stop| counter.add(&texts, threads, stop))
    }

    /// Documents that lie in one blob, by where each ends.
    #[allow(clippy::needless_pass_by_value)]
    fn add_column(&self, py: Python<'_>, blob: &[u8], ends: PyReadonlyArray1<'_, u64>, threads: usize) -> PyResult<()> {
        let ends = ends.as_slice()?;
        check_ends(blob, ends).map_err(|error| errors::to_py(py, error))?;
        let starts = std::iter::once(&0).chain(ends);
        let texts: Vec<_> =
            starts.zip(ends).map(|(&start, &end)| CoreText::Bytes(&blob[start as usize..end as usize])).collect();
        self.with(py, blob.len(), |counter, stop| counter.add(&texts, threads, stop))
    }

    fn feed(&self, py: Python<'_>, text: &[u8], last: bool, threads: usize) -> PyResult<()> {
        self.with(py, WATCHED, |counter, stop| counter.feed(text, last, threads, stop))
    }

    /// `resolve` gets the number of the line in the block and the bytes of each row that is not understood, and gives its
    /// text or None. Gives the number of lines.
    fn add_rows(
        &self,
        py: Python<'_>,
        block: &[u8],
        field: &str,
        resolve: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<usize> {
        let resolve = resolve.clone().unbind();
        let problems = Mutex::new(Vec::new());
        let ask = |row: usize, line: &[u8]| {
            let asked = Python::attach(|py| {
                let answer = resolve.bind(py).call1((row, PyBytes::new(py, line)))?;
                if answer.is_none() {
                    Ok(None)
                } else {
                    Ok(Some(Held::new(&answer, row)?.as_text()?.as_bytes().to_vec()))
                }
            });
            asked.map_err(|problem: PyErr| {
                problems.lock().unwrap_or_else(PoisonError::into_inner).push((row, problem));
                Error::model("a row", None)
            })
        };
        let counted = self.with(py, block.len(), |counter, stop| counter.add_rows((block, field), &ask, threads, stop));
        let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
        match problems.into_iter().min_by_key(|(row, _)| *row) {
            Some((_, problem)) => Err(problem),
            None => counted,
        }
    }

    #[getter]
    fn documents(&self) -> PyResult<u64> {
        self.get(|counter| counter.totals().documents)
    }

    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        self.get(|counter| counter.totals().bytes)
    }

    /// The position of the next document.
    #[getter]
    fn next(&self) -> PyResult<(u64, u64)> {
        self.get(CoreCounter::next)
    }

    fn finish(&self, py: Python<'_>, min_count: u64, threads: usize) -> PyResult<PieceCounts> {
        let counter = self.lock().take().ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
        let splitter = Arc::clone(&self.splitter);
        call(py, WATCHED, |stop| CoreCounts::of(counter, splitter, min_count, threads, stop)).map(PieceCounts)
    }
}

/// The distinct pieces of a corpus with their counts.
#[pyclass(frozen, module = "toksmith._core")]
pub struct PieceCounts(CoreCounts);

impl PieceCounts {
    /// The counts of the core.
    pub fn core(&self) -> &CoreCounts {
        &self.0
    }
}

#[pymethods]
impl PieceCounts {
    /// Counts from their columns; the positions are those of all pieces, or empty where none is known. `facts` are the
    /// documents, and what was left out as too long and as too rare.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn kept(
        py: Python<'_>,
        patterns: Vec<String>,
        blob: &[u8],
        columns: [PyReadonlyArray1<'_, u64>; 4],
        facts: (u64, Out, RareOut),
    ) -> PyResult<Self> {
        let splitter = Splitter::new(&patterns).map_err(|error| errors::to_py(py, error))?;
        let [ends, counts, documents, bytes] = &columns;
        let [ends, counts, documents, bytes] =
            [ends.as_slice()?, counts.as_slice()?, documents.as_slice()?, bytes.as_slice()?];
        call(py, WATCHED, |_| {
            let positions = !documents.is_empty() || counts.is_empty();
            let arena = arena_of(blob, ends, counts, positions.then_some((documents, bytes)))?;
            CoreCounts::kept(splitter, arena, facts_of(facts, positions))
        })
        .map(Self)
    }

    /// Counts from lines, of which the first has this number.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn of_lines(
        py: Python<'_>,
        patterns: Vec<String>,
        data: &[u8],
        first_line: usize,
        facts: (u64, Out, RareOut),
    ) -> PyResult<Self> {
        let splitter = Splitter::new(&patterns).map_err(|error| errors::to_py(py, error))?;
        call(py, WATCHED, |_| CoreCounts::kept(splitter, tsv::parse(data, first_line)?, facts_of(facts, false)))
            .map(Self)
    }

    /// All of them together.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn sum(py: Python<'_>, parts: Vec<Bound<'_, Self>>, comparable: bool) -> PyResult<Self> {
        let parts: Vec<&CoreCounts> = parts.iter().map(|part| part.get().core()).collect();
        call(py, WATCHED, |_| CoreCounts::sum(&parts, comparable)).map(Self)
    }

    fn filtered(&self, py: Python<'_>, min_count: u64) -> PyResult<Self> {
        call(py, WATCHED, |_| self.0.filtered(min_count)).map(Self)
    }

    fn characters(&self, py: Python<'_>) -> Vec<(char, u64)> {
        py.detach(|| characters(&self.0))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn within(&self, py: Python<'_>, alphabet: Vec<char>) -> PyResult<Self> {
        call(py, WATCHED, |_| within(&self.0, &alphabet)).map(Self)
    }

    /// The columns in the order of the pieces' bytes.
    fn columns<'py>(&self, py: Python<'py>) -> Columns<'py> {
        let arena = self.0.arena();
        let sorted = py.detach(|| {
            let mut sorted = Arena::default();
            for number in arena.by_bytes() {
                sorted.push(arena.piece(number as usize), arena.tallies[number as usize]);
            }
            sorted
        });
        let column = |of: fn(&Tally) -> u64| {
            let known = sorted.tallies.iter().map(of);
            PyArray1::from_iter(py, known)
        };
        let ends = PyArray1::from_slice(py, &sorted.ends);
        let columns = [ends, column(|tally| tally.count), column(|tally| tally.first.0), column(|tally| tally.first.1)];
        (PyBytes::new(py, &sorted.bytes), columns)
    }

    /// The lines in the order of the pieces' bytes.
    fn lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| tsv::dump(self.0.arena(), &self.0.arena().by_bytes()));
        PyBytes::new(py, &lines)
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        self.0.in_order().into_iter().map(|(piece, tally)| (PyBytes::new(py, piece), tally.count)).collect()
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.0.documents()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    #[getter]
    fn unique(&self) -> usize {
        self.0.unique()
    }

    #[getter]
    fn positions(&self) -> bool {
        self.0.positions()
    }

    #[getter]
    fn long(&self) -> Out {
        (self.0.long().pieces, self.0.long().bytes)
    }

    #[getter]
    fn rare(&self) -> RareOut {
        let Rare { out, pair } = self.0.rare();
        (out.pieces, out.bytes, pair)
    }

    #[getter]
    fn runs(&self) -> u64 {
        self.0.runs()
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> String {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        format!("{:032x}", py.detach(|| self.0.digest_on(threads)))
    }
}

fn facts_of((documents, long, rare): (u64, Out, RareOut), positions: bool) -> Facts {
    let long = LeftOut { pieces: long.0, bytes: long.1 };
    let rare = Rare { out: LeftOut { pieces: rare.0, bytes: rare.1 }, pair: rare.2 };
    Facts { documents, positions, long, rare }
}

fn check_ends(blob: &[u8], ends: &[u64]) -> toksmith_core::Result<()> {
    if ends.is_sorted() && ends.last().copied().unwrap_or(0) == blob.len() as u64 {
        return Ok(());
    }
    let problem = "the ends do not ascend to the end of the bytes".to_owned();
    Err(Error::Format { place: None, problem })
}

fn arena_of(
    blob: &[u8],
    ends: &[u64],
    counts: &[u64],
    positions: Option<(&[u64], &[u64])>,
) -> toksmith_core::Result<Arena> {
    let (documents, bytes) = positions.unwrap_or((counts, counts));
    check_ends(blob, ends)?;
    if [counts.len(), documents.len(), bytes.len()].iter().any(|&len| len != ends.len()) {
        let problem = "the columns do not belong together: their lengths differ".to_owned();
        return Err(Error::Format { place: None, problem });
    }
    let firsts = documents.iter().zip(bytes).map(|(&document, &byte)| (document, byte));
    let tallies = counts.iter().zip(firsts).map(|(&count, first)| Tally { count, first }).collect();
    Ok(Arena { bytes: blob.to_vec(), ends: ends.to_vec(), tallies })
}
