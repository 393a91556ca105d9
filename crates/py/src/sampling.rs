//! Sampled encodings, and the best ones.

use pyo3::prelude::*;
use toksmith_core::kinds::Sampling;
use toksmith_guard::guarded;

use crate::engine::Engine;
use crate::guard::Arg;
use crate::text::{Errors, Text};

/// The options of sampling, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SamplingOptions {
    seed: u64,
    dropout: f64,
    alpha: f64,
}

/// The ids of a sampled encoding of a text.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sample<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    drawn: Arg<SamplingOptions>,
) -> PyResult<Vec<u32>> {
    let (py, engine) = (text.py(), engine.get());
    let allow = engine.allow(special)?;
    let text = Text::new(text, Errors::from_name(errors)?, None)?;
    let SamplingOptions { seed, dropout, alpha } = drawn.0;
    engine.call_on(py, &text, |encoder, text, stop| {
        let mut ids = Vec::new();
        encoder.sample(text, &allow, &Sampling { seed, dropout, alpha }, stop, &mut ids)?;
        Ok(ids)
    })
}

/// The best encodings of a text without added tokens, with their scores.
#[guarded]
#[pyfunction]
pub fn best_encodings<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    most: usize,
) -> PyResult<Vec<(Vec<u32>, f64)>> {
    let (py, engine) = (text.py(), engine.get());
    let text = Text::new(text, Errors::from_name(errors)?, None)?;
    engine.call_on(py, &text, |encoder, text, stop| encoder.best_encodings(text, most, stop))
}
