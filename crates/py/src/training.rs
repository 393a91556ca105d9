//! `PieceCounts` and `train`.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::count::PieceCounts as CoreCounts;
use toksmith_core::split::Splitter;
use toksmith_core::train::{Alphabet, Options, Stopped, Ties, Trained};

use crate::call::call;
use crate::errors;
use crate::text::{Errors, as_texts, texts};

/// The distinct pieces of a corpus with their counts.
#[pyclass(frozen, module = "toksmith._core")]
pub struct PieceCounts(Mutex<CoreCounts>);

impl PieceCounts {
    fn lock(&self) -> MutexGuard<'_, CoreCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PieceCounts {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(py: Python<'_>, patterns: Vec<String>) -> PyResult<Self> {
        let splitter = Splitter::new(&patterns).map_err(|error| errors::to_py(py, error))?;
        Ok(Self(Mutex::new(CoreCounts::new(splitter))))
    }

    fn add(&self, documents: &Bound<'_, PyAny>, threads: usize) -> PyResult<()> {
        let texts = texts(documents, Errors::Replace)?;
        let core_texts = as_texts(&texts)?;
        let size = core_texts.iter().map(|text| text.as_bytes().len()).sum();
        call(documents.py(), size, |stop| self.lock().add(&core_texts, threads, stop))
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let counts = self.lock();
        counts.in_order().into_iter().map(|(piece, tally)| (PyBytes::new(py, piece), tally.count)).collect()
    }

    #[getter]
    fn documents(&self) -> u64 {
        self.lock().documents()
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.lock().bytes()
    }

    #[getter]
    fn unique(&self) -> usize {
        self.lock().unique()
    }

    #[getter]
    fn digest(&self) -> String {
        format!("{:032x}", self.lock().digest())
    }
}

/// What training learned.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Merges(Trained);

#[pymethods]
impl Merges {
    #[getter]
    fn symbols(&self) -> u64 {
        self.0.symbols
    }

    #[getter]
    fn pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let flat: Vec<u32> = self.0.pairs.iter().flat_map(|&(left, right)| [left, right]).collect();
        flat.into_pyarray(py).reshape([self.0.pairs.len(), 2])
    }

    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.counts)
    }

    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.0.left)
    }

    #[getter]
    fn stopped(&self) -> &'static str {
        match self.0.stopped {
            Stopped::Limit => "limit",
            Stopped::NoPairs => "no_pairs",
            Stopped::MinCount => "min_count",
            Stopped::Interrupted => "interrupted",
        }
    }
}

/// The merges of counted pieces. Ctrl-C ends training with the merges so far; `progress` gets their number.
#[pyfunction]
#[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)]
pub fn train(
    py: Python<'_>,
    counts: &PieceCounts,
    unit: &str,
    limit: usize,
    min_count: u64,
    ties: &str,
    max_token_bytes: Option<u32>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Merges> {
    let options = Options {
        alphabet: if unit == "byte" { Alphabet::Bytes } else { Alphabet::Ascii },
        limit,
        min_count,
        ties: if ties == "lowest_ids" { Ties::LowestIds } else { Ties::FirstSeen },
        max_token_bytes,
    };
    let mut problem = Ok(());
    let trained = py.detach(|| {
        let mut report = |merges: usize| {
            problem = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (merges,)).map(drop))
            });
            if problem.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        toksmith_core::train::train(&counts.lock(), options, &mut report)
    });
    match problem {
        Err(problem) if !problem.is_instance_of::<PyKeyboardInterrupt>(py) => Err(problem),
        _ => trained.map(Merges).map_err(|error| errors::to_py(py, error)),
    }
}
