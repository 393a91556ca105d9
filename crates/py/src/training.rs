//! `train`: piece counts to merges.

use std::ops::ControlFlow;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use toksmith_core::train::{LearnedMerge, NO_ID, Stopped, Ties, TrainOptions, Trained};
use toksmith_guard::guarded;

use crate::counting::CountedPieces;
use crate::errors;
use crate::guard::Arg;
use crate::vocab::Vocab;

/// What training learned, or the part of it that is new since the last report.
#[pyclass(frozen, module = "toksmith._core")]
pub struct LearnedMerges(Trained);

#[guarded]
#[pymethods]
impl LearnedMerges {
    #[getter]
    fn symbols(&self) -> PyResult<u64> {
        Ok(self.0.symbols)
    }

    #[getter]
    fn merges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let flat: Vec<u32> = self.0.merges.iter().flat_map(|&(left, right, id)| [left, right, id]).collect();
        flat.into_pyarray(py).reshape([self.0.merges.len(), 3])
    }

    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.0.counts))
    }

    #[getter]
    fn leads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.0.leads))
    }

    #[getter]
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(PyArray1::from_slice(py, &self.0.left))
    }

    #[getter]
    fn stopped(&self) -> PyResult<&'static str> {
        Ok(match self.0.stopped {
            Stopped::Limit => "limit",
            Stopped::NoPairs => "no_pairs",
            Stopped::MinCount => "min_count",
            Stopped::Interrupted => "interrupted",
        })
    }
}

/// The options of the core's training, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    alphabet: Vec<Option<u32>>,
    base: Option<Py<Vocab>>,
    given: Vec<LearnedMerge>,
    next_id: u32,
    limit: usize,
    min_count: u64,
    ties: String,
    max_token_bytes: Option<u32>,
    whole_characters: bool,
}

impl Wanted {
    fn options(self) -> PyResult<TrainOptions> {
        let ids: Vec<u32> = self.alphabet.iter().map(|id| id.unwrap_or(NO_ID)).collect();
        let alphabet = ids.try_into().map_err(|_| PyValueError::new_err("alphabet: 256 ids are expected"))?;
        Ok(TrainOptions {
            alphabet,
            base: self.base.map(|vocab| Arc::clone(vocab.get().0.vocab())),
            given: self.given,
            next_id: self.next_id,
            limit: self.limit,
            min_count: self.min_count,
            ties: if self.ties == "lowest_ids" { Ties::LowestIds } else { Ties::FirstSeen },
            max_token_bytes: self.max_token_bytes,
            whole_characters: self.whole_characters,
        })
    }
}

/// The merges of counted pieces. Ctrl-C ends training with the merges so far; `progress` gets those that are new.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn train(
    py: Python<'_>,
    counts: &CountedPieces,
    options: Arg<Wanted>,
    progress: Option<Py<PyAny>>,
) -> PyResult<LearnedMerges> {
    let options = options.0.options()?;
    let mut problem = Ok(());
    let mut reported = 0;
    let trained = py.detach(|| {
        let mut report = |found: &Trained| {
            problem = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = &progress else { return Ok(()) };
                let part = found.since(reported);
                reported = found.merges.len();
                progress.call1(py, (LearnedMerges(part),)).map(drop)
            });
            if problem.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        toksmith_core::train::train(counts.core(), &options, &mut report)
    });
    match problem {
        Err(problem) if !problem.is_instance_of::<PyKeyboardInterrupt>(py) => Err(problem),
        _ => trained.map(LearnedMerges).map_err(|error| errors::to_py(py, error)),
    }
}
