//! `train`: piece counts to merges.

use std::ops::ControlFlow;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use toksmith_core::train::{Alphabet, Options, Stopped, Ties, Trained};

use crate::counting::PieceCounts;
use crate::errors;

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
        toksmith_core::train::train(counts.core(), options, &mut report)
    });
    match problem {
        Err(problem) if !problem.is_instance_of::<PyKeyboardInterrupt>(py) => Err(problem),
        _ => trained.map(Merges).map_err(|error| errors::to_py(py, error)),
    }
}
