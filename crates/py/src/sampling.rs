//! Encodings that are drawn, and the best ones.

use pyo3::prelude::*;
use pyo3::types::PyString;
use toksmith_core::sampled::Sampling;

use crate::call::call;
use crate::engine::Engine;
use crate::errors;
use crate::text::{Errors, Text};

/// The options of drawing, by name.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Drawn {
    seed: u64,
    dropout: f64,
    alpha: f64,
}

/// The ids of an encoding of a text that is drawn.
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn sample<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyString>,
    drawn: Drawn,
) -> PyResult<Vec<u32>> {
    let (py, engine) = (text.py(), engine.get());
    let allow = engine.allow(special)?;
    let text = Text::new(text, Errors::from_name(errors)?, None)?;
    let core_text = text.as_text()?;
    let (encoder, _) = engine.for_long_texts();
    let Drawn { seed, dropout, alpha } = drawn;
    let made = call(py, core_text.as_bytes().len(), |stop| {
        let mut ids = Vec::new();
        encoder.sample(core_text, &allow, &Sampling { seed, dropout, alpha }, stop, &mut ids)?;
        Ok(ids)
    });
    made.map_err(|problem| errors::with_offset(py, &problem, |offset, _| text.offset(offset)))
}

/// The best encodings of a text without added tokens, with their scores.
#[pyfunction]
pub fn best_ways<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyString>,
    most: usize,
) -> PyResult<Vec<(Vec<u32>, f64)>> {
    let (py, engine) = (text.py(), engine.get());
    let text = Text::new(text, Errors::from_name(errors)?, None)?;
    let core_text = text.as_text()?;
    let (encoder, _) = engine.for_long_texts();
    let made = call(py, core_text.as_bytes().len(), |stop| encoder.best_ways(core_text, most, stop));
    made.map_err(|problem| errors::with_offset(py, &problem, |offset, _| text.offset(offset)))
}
