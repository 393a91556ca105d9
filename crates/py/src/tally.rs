//! Counts of encoded texts; and facts about the bytes of tokens.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use toksmith_core::encode::long_text::PART;
use toksmith_core::measure::counts::Counts;
use toksmith_core::measure::token_facts::facts;
use toksmith_core::split::text_cuts::text_parts;
use toksmith_core::threads::parallel::{Jobs, Stop};
use toksmith_guard::guarded;

use crate::batch::JobPlan;
use crate::call::call;
use crate::engine::Engine;
use crate::errors;
use crate::guard::Arg;
use crate::text::{Errors, Text, as_texts, texts};

/// The counts of all texts added so far.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Tally {
    engine: Py<Engine>,
    sum: Mutex<Counts>,
}

#[guarded]
#[pymethods]
impl Tally {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(engine: Bound<'_, Engine>) -> PyResult<Self> {
        Ok(Self { engine: engine.unbind(), sum: Mutex::default() })
    }

    /// Encodes each text and counts the result; after an error, the sum can hold a part of the batch.
    fn add<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        special: &Bound<'py, PyAny>,
        errors: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<()> {
        let (py, engine) = (batch.py(), self.engine.get());
        engine.decoder().prepare();
        let allow = engine.allow(special)?;
        let texts = texts(batch, Errors::from_name(errors)?)?;
        let each = as_texts(&texts)?;
        let (encoder, cuts) = engine.for_long_texts();
        let cuts = cuts.filter(|_| threads > 1);
        let cut = each.iter().enumerate().flat_map(|(place, text)| {
            text_parts(text.as_bytes(), cuts, encoder.added(), PART).map(move |(start, end)| (place, start, end))
        });
        let pieces: Vec<_> = cut.collect();
        let load = JobPlan::new(pieces.iter().map(|&(_, start, end)| end - start), threads, encoder.uses_regex());
        let work = |jobs: &mut Jobs<'_, usize, ()>, stop: &Stop| {
            let (mut counts, mut ids) = (Counts::default(), Vec::new());
            encoder.with_session(|session| {
                jobs.for_each(|job| {
                    for &(place, start, end) in &pieces[load.texts(job)] {
                        stop.check()?;
                        let text = each[place].part(start, end);
                        ids.clear();
                        encoder
                            .encode(text, &allow, stop, session, &mut ids)
                            .map_err(|error| error.shift_offset(start).in_batch(place))?;
                        counts.add(text, &ids, engine.decoder(), start == 0);
                    }
                    Ok(())
                });
            });
            self.lock().merge(counts);
        };
        load.run(py, work, |_| Ok(())).map_err(|problem| errors::with_batch_offset(py, &problem, &texts, Text::offset))
    }

    /// The counts by the names of `toksmith_core::measure::counts`.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut counts = self.lock().clone();
        let all = PyDict::new(py);
        for (name, count) in counts.totals.entries() {
            all.set_item(name, *count)?;
        }
        let rows = counts.indents.len();
        let emitted = self.engine.get().decoder().ids().into_iter().map(|id| counts.ids.get(&id).copied().unwrap_or(0));
        all.set_item("emitted", emitted.collect::<Vec<u64>>().into_pyarray(py))?;
        all.set_item("indents", counts.indents.into_flattened().into_pyarray(py).reshape([rows, 2])?)?;
        all.set_item("numbers", counts.numbers.into_pyarray(py))?;
        Ok(all)
    }
}

impl Tally {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.sum.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For each token whether the split pattern cuts every text inside it, by the rule of
/// `toksmith_core::split::text_cuts`; all false if the pattern has no such rule.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn always_cut(engine: &Bound<'_, Engine>, tokens: Arg<Vec<PyBackedStr>>) -> PyResult<Vec<bool>> {
    let (_, cuts) = engine.get().for_long_texts();
    Ok(tokens.0.iter().map(|token| cuts.is_some_and(|cuts| cuts.cuts_inside(token))).collect())
}

type Facts<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u8>>);

/// The ids of all tokens, ascending, their lengths in bytes, and their flags (`toksmith_core::measure::token_facts`).
#[guarded]
#[pyfunction]
pub fn token_facts<'py>(engine: &Bound<'py, Engine>) -> PyResult<Facts<'py>> {
    let (py, engine) = (engine.py(), engine.get());
    let (encoder, _) = engine.for_long_texts();
    let facts = call(py, encoder.vocab().len(), |_| Ok(facts(engine.decoder(), encoder.added().tokens())))?;
    Ok((facts.ids.into_pyarray(py), facts.lengths.into_pyarray(py), facts.flags.into_pyarray(py)))
}
