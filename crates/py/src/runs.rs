//! Texts in runs of different origins: chats.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use toksmith_core::split::Text as CoreText;
use toksmith_core::split::runs::{Marks as CoreMarks, Runs};
use toksmith_core::split::special::Allow;
use toksmith_guard::guarded;

use crate::engine::Engine;
use crate::errors;
use crate::offsets::{PlacedPart, Ranges};
use crate::text::{Errors, Text};

/// The tokens of a tokenizer that only trusted text can spell.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Marks(CoreMarks);

#[guarded]
#[pymethods]
impl Marks {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(py: Python<'_>, contents: Vec<String>, ids: Vec<u32>) -> PyResult<Self> {
        CoreMarks::new(&contents, &ids).map(Self).map_err(|error| errors::to_py(py, error))
    }
}

/// The runs of a text, with the message and the mask of each.
#[derive(Default)]
struct RunTable {
    ends: Vec<usize>,
    trusted: Vec<bool>,
    spoken: Vec<bool>,
    messages: Vec<i32>,
    mask: Vec<u8>,
}

/// For each id, the message and the mask.
type Labels<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<u8>>);

impl RunTable {
    /// The table of the runs of a `Marked`: the end and the origin of each. `assistants` has 1 for each message of the
    /// assistant. The mask covers the generated runs, or without one the contents of the assistant.
    fn new(runs: &Bound<'_, PyTuple>, assistants: &[u8]) -> PyResult<Self> {
        let mut table = Self::default();
        let mut generated = Vec::new();
        for run in runs.iter_borrowed() {
            let (end, (trusted, message, content, is_generated)): (usize, (bool, i32, bool, bool)) = run.extract()?;
            table.ends.push(end);
            table.trusted.push(trusted);
            table.spoken.push(is_generated || message >= 0);
            table.messages.push(message);
            let assistant = usize::try_from(message).ok().and_then(|message| assistants.get(message));
            table.mask.push(if content { assistant.copied().unwrap_or(0) } else { 0 });
            generated.push(u8::from(is_generated));
        }
        if generated.contains(&1) {
            table.mask = generated;
        }
        if table.ends.is_empty() {
            table = Self { ends: vec![0], trusted: vec![false], spoken: vec![false], messages: vec![-1], mask: vec![0] };
        }
        Ok(table)
    }

    fn runs(&self) -> Runs<'_> {
        Runs { ends: &self.ends, trusted: &self.trusted, spoken: &self.spoken }
    }

    /// The message and the mask of each id.
    fn labels(&self, starts: &[usize], ends: &[usize]) -> (Vec<i32>, Vec<u8>) {
        let mut labels = (Vec::with_capacity(starts.len()), Vec::with_capacity(starts.len()));
        self.runs().of_ids(starts, ends, |run, ids| {
            labels.0.resize(labels.0.len() + ids, self.messages[run]);
            labels.1.resize(labels.1.len() + ids, self.mask[run]);
        });
        labels
    }
}

/// The ids of a text with their ranges and labels, and whether only trusted text spells marks.
#[guarded]
#[pyfunction]
pub fn encode_runs<'py>(
    engine: &Bound<'py, Engine>,
    marks: &Bound<'py, Marks>,
    text: &Bound<'py, PyAny>,
    runs: &Bound<'py, PyTuple>,
    assistants: &[u8],
) -> PyResult<(Ranges<'py>, Labels<'py>, bool)> {
    let (py, engine, marks) = (text.py(), engine.get(), &marks.get().0);
    let table = RunTable::new(runs, assistants)?;
    let text = Text::new(text, Errors::Replace, None)?;
    let repaired = matches!(text, Text::Repaired(..));
    let (mut part, mut labels, trusted) = engine.call_on(py, &text, |encoder, text, stop| {
        let mut part = PlacedPart::new(true);
        encoder.with_session(|session| encoder.encode_with_offsets(text, &Allow::All, stop, session, part.end()))?;
        let places = (&part.spans.starts[..], &part.spans.ends[..]);
        let trusted = match text {
            CoreText::Str(text) if !repaired => marks.are_trusted(text, &part.ids, places, table.runs()),
            _ => false,
        };
        let labels = table.labels(&part.spans.starts, &part.spans.ends);
        Ok((part, labels, trusted))
    })?;
    if repaired {
        text.number(&mut [&mut part.spans.starts, &mut part.spans.ends])?;
        labels = table.labels(&part.spans.starts, &part.spans.ends);
    }
    Ok((part.into_arrays(py), (labels.0.into_pyarray(py), labels.1.into_pyarray(py)), trusted))
}

/// The labels of ids with these ranges.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn label_ids<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    runs: &Bound<'py, PyTuple>,
    assistants: &[u8],
) -> PyResult<Labels<'py>> {
    let places = |places: &PyReadonlyArray1<'py, i64>| {
        PyResult::Ok(places.as_slice()?.iter().map(|&place| usize::try_from(place).unwrap_or(0)).collect::<Vec<_>>())
    };
    let (messages, mask) = RunTable::new(runs, assistants)?.labels(&places(&starts)?, &places(&ends)?);
    Ok((messages.into_pyarray(py), mask.into_pyarray(py)))
}
