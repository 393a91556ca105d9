//! `Counter` and `CountedPieces`: counts the pieces of documents, and operations on the counts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString};
use toksmith_core::Error;
use toksmith_core::count::arena::Arena;
use toksmith_core::count::counter::Counter as CoreCounter;
use toksmith_core::count::dropped::{LeftOut, Rare};
use toksmith_core::count::rows::{self, CountRows};
use toksmith_core::count::worker::CountLimits;
use toksmith_core::count::{CountFacts, PieceCounts as CoreCounts, Tally, counter};
use toksmith_core::count::{jsonl, tsv};
use toksmith_core::split::Splitter;
use toksmith_core::split::text_source::TextSource;
use toksmith_core::threads::parallel::Stop;
use toksmith_core::train::alphabet::{characters, restrict_to};
use toksmith_guard::guarded;

use crate::batch_texts::{BatchText, ThreadText};
use crate::call::{WATCHED, call, counting_weight, table_weight};
use crate::column::{check_ends, texts_of};
use crate::errors;
use crate::guard::Arg;
use crate::text::{Errors, check_signals_at, items_room};

/// The left-out pieces and bytes.
type LeftOutSums = (u64, u64);
/// The same for rare pieces, and the most occurrences of one pair in them.
type RareLeftOut = (u64, u64, u64);
/// The bytes of all pieces, their ends, counts, and first documents and bytes.
type Columns<'py> = (Bound<'py, PyBytes>, [Bound<'py, PyArray1<u64>>; 4]);

/// Counts documents.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Counter {
    counter: Mutex<Option<CoreCounter>>,
    splitter: Arc<Splitter>,
}

impl Counter {
    /// Waits for the lock without the GIL, which the holder of the lock can need.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<CoreCounter>> {
        self.counter.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// One call of the counter, which handles `size` bytes.
    fn with_counter<T: Send>(
        &self,
        py: Python<'_>,
        size: usize,
        work: impl FnOnce(&mut CoreCounter, &Stop) -> toksmith_core::Result<T> + Send,
    ) -> PyResult<T> {
        let mut guard = self.lock(py);
        let counter = guard.as_mut().ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
        call(py, size, |stop| work(counter, stop))
    }

    fn read_counter<T>(&self, py: Python<'_>, get: impl FnOnce(&CoreCounter) -> T) -> PyResult<T> {
        self.lock(py).as_ref().map(get).ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))
    }
}

#[guarded]
#[pymethods]
impl Counter {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(
        py: Python<'_>,
        patterns: Arg<Vec<String>>,
        start: Arg<(u64, u64)>,
        memory: Option<usize>,
        folder: PathBuf,
        longest: Option<usize>,
    ) -> PyResult<Self> {
        let counter_and_splitter = counter(&patterns.0, CountLimits { memory, folder, longest }, start.0);
        let (counter, splitter) = counter_and_splitter.map_err(|error| errors::to_py(py, error))?;
        Ok(Self { counter: Mutex::new(Some(counter)), splitter })
    }

    fn add(&self, documents: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
        let py = documents.py();
        let mut items = Vec::with_capacity(items_room(documents));
        for (index, item) in documents.try_iter()?.enumerate() {
            items.push(item?);
            check_signals_at(py, index)?;
        }
        let text = |(index, item)| BatchText::new(item, Errors::Replace, index);
        let texts = items.iter().enumerate().map(text).collect::<PyResult<Vec<_>>>()?;
        let sources = texts.iter().map(BatchText::source).collect::<PyResult<Vec<_>>>()?;
        let size = sources.iter().map(ThreadText::size).sum();
        self.with_counter(py, counting_weight(sources.len(), size, self.splitter.uses_regex()), |counter, stop| {
            counter.add(&sources, threads, stop)
        })
    }

    /// Adds documents in one blob, given their ends.
    #[allow(clippy::needless_pass_by_value)]
    fn add_column(&self, py: Python<'_>, blob: &[u8], ends: PyReadonlyArray1<'_, u64>, threads: usize) -> PyResult<()> {
        let ends = &*ends.as_slice()?.to_vec();
        check_ends(blob, ends).map_err(|error| errors::to_py(py, error))?;
        let texts = texts_of(blob, ends);
        self.with_counter(py, counting_weight(texts.len(), blob.len(), self.splitter.uses_regex()), |counter, stop| {
            counter.add(&texts, threads, stop)
        })
    }

    fn feed(&self, py: Python<'_>, text: &[u8], last: bool, threads: usize) -> PyResult<()> {
        // The end of a document can wait until all of it is counted.
        let size = if last { WATCHED } else { counting_weight(1, text.len(), self.splitter.uses_regex()) };
        self.with_counter(py, size, |counter, stop| counter.feed(text, last, threads, stop))
    }

    /// Calls `refuse` with the line number in the block and the problem of each row without a text; it raises, or the
    /// row is left out. Returns the number of lines.
    fn add_rows(
        &self,
        py: Python<'_>,
        block: &[u8],
        field: &str,
        refuse: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<usize> {
        let refuse = refuse.clone().unbind();
        let problems = Mutex::new(Vec::new());
        let tell = |row: usize, problem: &str| {
            Python::attach(|py| refuse.call1(py, (row, problem))).map(drop).map_err(|problem| {
                problems.lock().unwrap_or_else(PoisonError::into_inner).push((row, problem));
                Error::model("a row", None)
            })
        };
        let size = counting_weight(block.len(), block.len(), self.splitter.uses_regex());
        let counted =
            self.with_counter(py, size, |counter, stop| counter.add_rows((block, field), &tell, threads, stop));
        let problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
        match problems.into_iter().min_by_key(|(row, _)| *row) {
            Some((_, problem)) => Err(problem),
            None => counted,
        }
    }

    #[getter]
    fn documents(&self, py: Python<'_>) -> PyResult<u64> {
        self.read_counter(py, |counter| counter.totals().documents)
    }

    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.read_counter(py, |counter| counter.totals().bytes)
    }

    /// The position of the next document.
    #[getter]
    fn next(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.read_counter(py, CoreCounter::next_position)
    }

    fn finish(&self, py: Python<'_>, min_count: u64, threads: usize) -> PyResult<CountedPieces> {
        let counter = self.lock(py).take().ok_or_else(|| PyRuntimeError::new_err("the counter is finished"))?;
        let splitter = Arc::clone(&self.splitter);
        call(py, counting_weight(0, table_weight(counter.unsorted_bytes()), false), |stop| {
            CoreCounts::from_counter(counter, splitter, min_count, threads, stop)
        })
        .map(CountedPieces)
    }
}

/// The text in the field of a line of `.jsonl`; None for a blank line, `ValueError` for a bad one.
#[guarded]
#[pyfunction]
pub fn row_text<'py>(py: Python<'py>, line: &[u8], field: &str) -> PyResult<Option<Bound<'py, PyString>>> {
    if jsonl::is_blank(line) {
        return Ok(None);
    }
    let text = call(py, line.len(), |_| Ok(jsonl::row_text(line, field)))?;
    text.map(|text| Some(PyString::new(py, &text))).map_err(PyValueError::new_err)
}

/// The number of line feeds in a block. `bytes.count` takes longer and holds the GIL.
#[guarded]
#[pyfunction]
pub fn line_feeds(py: Python<'_>, block: &[u8]) -> PyResult<usize> {
    call(py, table_weight(block.len()), |_| Ok(jsonl::line_feeds(block)))
}

/// The distinct pieces of a corpus with their counts.
#[pyclass(frozen, module = "toksmith._core")]
pub struct CountedPieces(CoreCounts);

impl CountedPieces {
    pub fn core(&self) -> &CoreCounts {
        &self.0
    }

    /// The bytes of the pieces.
    fn size(&self) -> usize {
        self.0.arena().bytes.len()
    }
}

#[guarded]
#[pymethods]
impl CountedPieces {
    /// Counts from their columns; the positions of all pieces, or empty if unknown. `facts` are the documents, and the
    /// sums left out as too long and as too rare.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn from_columns(
        py: Python<'_>,
        patterns: Arg<Vec<String>>,
        blob: &[u8],
        columns: Arg<[PyReadonlyArray1<'_, u64>; 4]>,
        facts: Arg<(u64, LeftOutSums, RareLeftOut)>,
    ) -> PyResult<Self> {
        let splitter = Splitter::new(&patterns.0).map_err(|error| errors::to_py(py, error))?;
        let rows = rows_of(blob, &columns.0, 0)?;
        call(py, WATCHED, |stop| {
            let positions = rows.firsts.is_some() || rows.counts.is_empty();
            CoreCounts::from_arena(splitter, arena_of(&rows)?, facts_of(facts.0, positions), stop)
        })
        .map(Self)
    }

    /// Counts from lines; `first_line` is the number of the first.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn from_lines(
        py: Python<'_>,
        patterns: Arg<Vec<String>>,
        data: &[u8],
        first_line: usize,
        facts: Arg<(u64, LeftOutSums, RareLeftOut)>,
    ) -> PyResult<Self> {
        let splitter = Splitter::new(&patterns.0).map_err(|error| errors::to_py(py, error))?;
        call(py, WATCHED, |stop| {
            CoreCounts::from_arena(splitter, tsv::parse(data, first_line, stop)?, facts_of(facts.0, false), stop)
        })
        .map(Self)
    }

    /// The sum of all parts.
    #[staticmethod]
    #[allow(clippy::needless_pass_by_value)]
    fn sum(py: Python<'_>, parts: Arg<Vec<Bound<'_, Self>>>, comparable: bool) -> PyResult<Self> {
        let parts: Vec<&CoreCounts> = parts.0.iter().map(|part| part.get().core()).collect();
        call(py, WATCHED, |stop| CoreCounts::sum(&parts, comparable, stop)).map(Self)
    }

    fn drop_rare(&self, py: Python<'_>, min_count: u64) -> PyResult<Self> {
        call(py, WATCHED, |stop| self.0.drop_rare(min_count, stop)).map(Self)
    }

    fn characters(&self, py: Python<'_>) -> PyResult<Vec<(char, u64)>> {
        call(py, self.size(), |stop| characters(&self.0, stop))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn restrict_to(&self, py: Python<'_>, alphabet: Arg<Vec<char>>) -> PyResult<Self> {
        call(py, WATCHED, |stop| restrict_to(&self.0, &alphabet.0, stop)).map(Self)
    }

    /// The columns in the order of the pieces' bytes.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Columns<'py>> {
        let arena = self.0.arena();
        let sorted = call(py, self.size(), |stop| {
            let mut sorted = Arena::default();
            for number in arena.byte_order() {
                stop.check()?;
                sorted.push(arena.piece(number as usize), arena.tallies[number as usize]);
            }
            Ok(sorted)
        })?;
        Ok(columns_of(py, &sorted))
    }

    /// The lines in the order of the pieces' bytes.
    fn lines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let lines = call(py, self.size(), |stop| tsv::dump(self.0.arena(), &self.0.arena().byte_order(), stop))?;
        Ok(PyBytes::new(py, &lines))
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, u64)>> {
        let each = self.0.arena().iter().enumerate().map(|(number, (piece, tally))| {
            check_signals_at(py, number)?;
            Ok((PyBytes::new(py, piece), tally.count))
        });
        each.collect()
    }

    #[getter]
    fn documents(&self) -> PyResult<u64> {
        Ok(self.0.documents())
    }

    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        Ok(self.0.bytes())
    }

    #[getter]
    fn unique(&self) -> PyResult<usize> {
        Ok(self.0.unique())
    }

    #[getter]
    fn positions(&self) -> PyResult<bool> {
        Ok(self.0.positions())
    }

    #[getter]
    fn long(&self) -> PyResult<LeftOutSums> {
        Ok((self.0.long().pieces, self.0.long().bytes))
    }

    #[getter]
    fn rare(&self) -> PyResult<RareLeftOut> {
        let Rare { out, pair } = self.0.rare();
        Ok((out.pieces, out.bytes, pair))
    }

    #[getter]
    fn runs(&self) -> PyResult<u64> {
        Ok(self.0.runs())
    }

    #[getter]
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(format!("{:032x}", call(py, self.size(), |stop| self.0.digest(threads, stop))?))
    }
}

/// Refuses rows whose pieces do not follow `before` in byte order, or have no count; `number` rows come before.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn check_rows(
    py: Python<'_>,
    before: &[u8],
    number: usize,
    blob: &[u8],
    columns: Arg<[PyReadonlyArray1<'_, u64>; 4]>,
) -> PyResult<()> {
    let rows = rows_of(blob, &columns.0, 0)?;
    call(py, table_weight(blob.len()), |stop| check_columns(&rows)?.check(before, number, stop))
}

/// Some rows: the bytes of their pieces, the columns, and the number of rows that are merged.
type RowColumns<'py> = (Bound<'py, PyBytes>, [PyReadonlyArray1<'py, u64>; 4], usize);

/// The sums of all rows up to the least of the runs' last pieces, and the number of merged rows of each run.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn merge_rows<'py>(
    py: Python<'py>,
    runs: Arg<Vec<RowColumns<'py>>>,
    threads: usize,
) -> PyResult<(Columns<'py>, Vec<usize>)> {
    let runs = runs.0.iter().map(|(blob, columns, start)| rows_of(blob.as_bytes(), columns, *start));
    let runs = runs.collect::<PyResult<Vec<_>>>()?;
    let (sums, merged) = call(py, WATCHED, |stop| {
        runs.iter().try_for_each(|rows| check_columns(rows).map(drop))?;
        rows::merge_rows(&runs, threads, stop)
    })?;
    Ok((columns_of(py, &sums), merged))
}

fn rows_of<'a>(bytes: &'a [u8], columns: &'a [PyReadonlyArray1<'_, u64>; 4], start: usize) -> PyResult<CountRows<'a>> {
    let [ends, counts, documents, places] = columns;
    let firsts = (documents.as_slice()?, places.as_slice()?);
    let firsts = (!firsts.0.is_empty()).then_some(firsts);
    Ok(CountRows { bytes, ends: ends.as_slice()?, counts: counts.as_slice()?, firsts, start })
}

fn columns_of<'py>(py: Python<'py>, arena: &Arena) -> Columns<'py> {
    let column = |of: fn(&Tally) -> u64| {
        let known = arena.tallies.iter().map(of);
        PyArray1::from_iter(py, known)
    };
    let ends = PyArray1::from_slice(py, &arena.ends);
    let columns = [ends, column(|tally| tally.count), column(|tally| tally.first.0), column(|tally| tally.first.1)];
    (PyBytes::new(py, &arena.bytes), columns)
}

/// Refuses rows whose columns do not belong together.
fn check_columns<'r, 'a>(rows: &'r CountRows<'a>) -> toksmith_core::Result<&'r CountRows<'a>> {
    check_ends(rows.bytes, rows.ends)?;
    let firsts = rows.firsts.map_or([rows.ends.len(); 2], |(documents, bytes)| [documents.len(), bytes.len()]);
    if [rows.counts.len(), firsts[0], firsts[1]].iter().all(|&len| len == rows.ends.len()) {
        return Ok(rows);
    }
    let problem = "the columns do not belong together: their lengths differ".to_owned();
    Err(Error::Format { place: None, problem })
}

fn facts_of((documents, long, rare): (u64, LeftOutSums, RareLeftOut), positions: bool) -> CountFacts {
    let long = LeftOut { pieces: long.0, bytes: long.1 };
    let rare = Rare { out: LeftOut { pieces: rare.0, bytes: rare.1 }, pair: rare.2 };
    CountFacts { documents, positions, long, rare }
}

fn arena_of(rows: &CountRows<'_>) -> toksmith_core::Result<Arena> {
    let CountRows { bytes, ends, counts, firsts, .. } = check_columns(rows)?;
    let (documents, places) = firsts.unwrap_or((counts, counts));
    let firsts = documents.iter().zip(places).map(|(&document, &byte)| (document, byte));
    let tallies = counts.iter().zip(firsts).map(|(&count, first)| Tally { count, first }).collect();
    Ok(Arena { bytes: bytes.to_vec(), ends: ends.to_vec(), tallies })
}
