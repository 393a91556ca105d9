//! Training of unigram models.

use std::ops::ControlFlow;

use numpy::PyArray1;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::Error;
use toksmith_core::train::unigram::{UnigramOptions, train};
use toksmith_guard::guarded;

use crate::counting::CountedPieces;
use crate::errors;
use crate::guard::Arg;

/// The options of the core's training, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct UnigramTrainingOptions {
    size: usize,
    seeds: usize,
    longest: usize,
    shrink: f64,
    rounds: usize,
    threads: usize,
}

type Tokens<'py> = (Vec<Bound<'py, PyBytes>>, Bound<'py, PyArray1<f64>>);

/// The tokens that cover counted words best, with their scores. `progress` gets the current number of tokens.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn train_unigram<'py>(
    py: Python<'py>,
    counts: &CountedPieces,
    alphabet: Arg<Vec<String>>,
    options: Arg<UnigramTrainingOptions>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Tokens<'py>> {
    let UnigramTrainingOptions { size, seeds, longest, shrink, rounds, threads } = options.0;
    let options = UnigramOptions { size, seeds, longest, shrink, rounds, threads };
    let alphabet: Vec<&str> = alphabet.0.iter().map(String::as_str).collect();
    let mut problem = Ok(());
    let trained = py.detach(|| {
        let mut report = |tokens: usize| {
            problem = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (tokens,)).map(drop))
            });
            if problem.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // In an order that does not depend on that of the documents, because the rounding of sums does.
        let arena = counts.core().arena();
        let word = |number: u32| (arena.piece(number as usize), arena.tallies[number as usize].count);
        let words: Vec<(&[u8], u64)> = arena.byte_order().into_iter().map(word).collect();
        train(&words, &alphabet, options, &mut report)
    });
    problem?;
    let trained = trained.map_err(|error| match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        error => errors::to_py(py, error),
    })?;
    let scores: Vec<f64> = trained.iter().map(|&(_, score)| score).collect();
    let tokens = trained.iter().map(|(token, _)| PyBytes::new(py, token)).collect();
    Ok((tokens, PyArray1::from_vec(py, scores)))
}
