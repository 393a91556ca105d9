//! `train`: piece counts to merges.

use std::ops::ControlFlow;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use toksmith_core::train::by_text::{CountedWords, TextRules, train_by_text as by_text};
use toksmith_core::train::{Aim, Corpora, LearnedMerge, NO_ID, ParityOptions, StopReason, Ties, TrainOptions, Trained};
use toksmith_guard::guarded;

use crate::call::call;
use crate::counting::CountedPieces;
use crate::errors;
use crate::guard::Arg;
use crate::vocab::Vocab;

/// The result of training, or its new part since the last report.
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
            StopReason::Limit => "limit",
            StopReason::NoPairs => "no_pairs",
            StopReason::MinCount => "min_count",
            StopReason::Interrupted => "interrupted",
        })
    }
}

/// The options of the core's training, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TrainingOptions {
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

impl TrainingOptions {
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

/// The corpora and the turns of languages, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ParityTrainingOptions {
    languages: Vec<Py<CountedPieces>>,
    others: Vec<Py<CountedPieces>>,
    development: Vec<Py<CountedPieces>>,
    ratios: Vec<f64>,
    shared: usize,
    seeds: usize,
    window: Option<(usize, f64)>,
}

/// Merges, their languages, the tokens of each language before and after, and the merges until it ran out of pairs.
type OfLanguages<'py> = (LearnedMerges, Bound<'py, PyArray1<u32>>, Vec<(u64, u64)>, Vec<Option<usize>>);

/// Runs a training. Ctrl-C ends it with the merges so far; `progress` gets the new ones.
fn run_with_reports<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(&Trained) -> ControlFlow<()>) -> toksmith_core::Result<T> + Send,
) -> PyResult<T> {
    let mut problem = Ok(());
    let mut reported = 0;
    let outcome = py.detach(|| {
        let mut report = |trained: &Trained| {
            problem = Python::attach(|py| {
                py.check_signals()?;
                let Some(progress) = progress else { return Ok(()) };
                let part = trained.since(reported);
                reported = trained.merges.len();
                progress.call1(py, (LearnedMerges(part),)).map(drop)
            });
            if problem.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        work(&mut report)
    });
    match problem {
        Err(problem) if !problem.is_instance_of::<PyKeyboardInterrupt>(py) => Err(problem),
        _ => outcome.map_err(|error| errors::to_py(py, error)),
    }
}

/// The merges of counted pieces.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn train(
    py: Python<'_>,
    counts: &CountedPieces,
    options: Arg<TrainingOptions>,
    progress: Option<Py<PyAny>>,
) -> PyResult<LearnedMerges> {
    let options = options.0.options()?;
    let core = counts.core();
    run_with_reports(py, progress.as_ref(), |report| toksmith_core::train::train(core, &options, report))
        .map(LearnedMerges)
}

/// The limits of `train_by_text`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TextTrainingOptions {
    size: usize,
    min_count: u64,
    prefix: String,
    longest: Option<usize>,
}

/// Tokens, and the merging pairs.
type TokensAndPairs = (Vec<String>, Vec<(u32, u32)>);

/// Returns the given tokens with those learned from words of their ids, and the merging pairs.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn train_by_text(
    py: Python<'_>,
    tokens: Arg<Vec<String>>,
    words: Arg<Vec<Vec<u32>>>,
    counts: Arg<Vec<u64>>,
    options: Arg<TextTrainingOptions>,
) -> PyResult<TokensAndPairs> {
    let (mut tokens, symbols, counts, options) = (tokens.0, words.0, counts.0, options.0);
    let TextTrainingOptions { size, min_count, ref prefix, longest } = options;
    if counts.len() != symbols.len() || symbols.iter().flatten().any(|&id| id as usize >= tokens.len()) {
        return Err(PyValueError::new_err("expected a count for each word, and ids of the given tokens"));
    }
    let weight = symbols.iter().map(|word| 64 * word.len()).sum();
    call(py, weight, move |stop| {
        let words = CountedWords { symbols, counts };
        let merges = by_text(words, &mut tokens, TextRules { size, min_count, prefix, longest }, stop)?;
        Ok((tokens, merges))
    })
}

/// The merges of the counted pieces of several languages; `counts` has the sum of all corpora.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn train_parity<'py>(
    py: Python<'py>,
    counts: &CountedPieces,
    options: Arg<TrainingOptions>,
    parity: Arg<ParityTrainingOptions>,
    progress: Option<Py<PyAny>>,
) -> PyResult<OfLanguages<'py>> {
    let (options, parity) = (options.0.options()?, parity.0);
    let languages: Vec<_> = parity.languages.iter().map(|each| each.get().core()).collect();
    let others: Vec<_> = parity.others.iter().map(|each| each.get().core()).collect();
    let texts: Vec<_> = parity.development.iter().map(|each| each.get().core()).collect();
    let corpora = Corpora { sum: counts.core(), languages: &languages, others: &others };
    let aim = if texts.is_empty() { Aim::Ratios(&parity.ratios) } else { Aim::Development(&texts) };
    let turns = ParityOptions { shared: parity.shared, seeds: parity.seeds, window: parity.window, aim };
    let result = run_with_reports(py, progress.as_ref(), |report| {
        toksmith_core::train::train_parity(corpora, &options, &turns, report)
    })?;
    let chosen = PyArray1::from_vec(py, result.chosen);
    Ok((LearnedMerges(result.trained), chosen, result.tokens, result.ran_out))
}
