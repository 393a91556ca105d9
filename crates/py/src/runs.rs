//! Texts in runs of different origins: chats.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use toksmith_core::encode::Encoder;
use toksmith_core::encode::session::Session;
use toksmith_core::split::Text as CoreText;
use toksmith_core::split::runs::{Marks as CoreMarks, OriginRuns};
use toksmith_core::split::special::Allow;
use toksmith_core::threads::parallel::{Jobs, Stop};
use toksmith_guard::guarded;

use crate::batch::JobPlan;
use crate::engine::Engine;
use crate::errors;
use crate::guard::Arg;
use crate::offsets::{PlacedPart, Ranges};
use crate::text::{Errors, Text, as_texts};

/// The tokens of a tokenizer that only trusted text can spell.
#[pyclass(frozen, module = "toksmith._core")]
pub struct Marks(CoreMarks);

#[guarded]
#[pymethods]
impl Marks {
    #[new]
    #[allow(clippy::needless_pass_by_value)]
    fn new(py: Python<'_>, contents: Arg<Vec<String>>, ids: Arg<Vec<u32>>) -> PyResult<Self> {
        CoreMarks::new(&contents.0, &ids.0).map(Self).map_err(|error| errors::to_py(py, error))
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
    /// The table of a text in parts: for each part, the end of each run within the part, and its origin. `assistants`
    /// has 1 for each message of the assistant. The mask covers the generated runs, or without one the contents of the
    /// assistant.
    fn new(parts: &Bound<'_, PyList>, assistants: &[u8]) -> PyResult<Self> {
        let mut table = Self::default();
        let mut generated = Vec::new();
        let (mut start, mut end, mut last) = (0, 0_usize, None::<Bound<'_, PyAny>>);
        for part in parts {
            for run in part.cast::<PyTuple>()?.iter_borrowed() {
                let run = run.cast::<PyTuple>()?;
                end = run.get_borrowed_item(0)?.extract::<usize>()?.saturating_add(start);
                let origin = run.get_item(1)?;
                if let (Some(before), Some(last_end)) = (&last, table.ends.last_mut())
                    && origin.is(before)
                {
                    *last_end = end;
                    continue;
                }
                let (trusted, message, content, is_generated): (bool, i32, bool, bool) = origin.extract()?;
                table.ends.push(end);
                table.trusted.push(trusted);
                table.spoken.push(is_generated || message >= 0);
                table.messages.push(message);
                let assistant = usize::try_from(message).ok().and_then(|message| assistants.get(message));
                table.mask.push(if content { assistant.copied().unwrap_or(0) } else { 0 });
                generated.push(u8::from(is_generated));
                last = Some(origin);
            }
            start = end;
        }
        if generated.contains(&1) {
            table.mask = generated;
        }
        if table.ends.is_empty() {
            table =
                Self { ends: vec![0], trusted: vec![false], spoken: vec![false], messages: vec![-1], mask: vec![0] };
        }
        Ok(table)
    }

    fn runs(&self) -> OriginRuns<'_> {
        OriginRuns { ends: &self.ends, trusted: &self.trusted, spoken: &self.spoken }
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

/// Replaces a part by the ids of a text, and returns whether only trusted text spells marks. A repaired text is not
/// checked, because its characters have other places than the runs.
fn encode_checked(
    (encoder, session, stop): (&Encoder, &mut Session, &Stop),
    (text, repaired): (CoreText<'_>, bool),
    (marks, table): (&CoreMarks, &RunTable),
    part: &mut PlacedPart,
) -> toksmith_core::Result<bool> {
    part.clear();
    encoder.encode_with_offsets(text, &Allow::All, stop, session, part.end())?;
    let CoreText::Str(text) = text else { return Ok(false) };
    Ok(!repaired && marks.are_trusted(text, &part.ids, (&part.spans.starts, &part.spans.ends), table.runs()))
}

/// The ids of a text with their ranges and labels, and whether only trusted text spells marks.
#[guarded]
#[pyfunction]
pub fn encode_runs<'py>(
    engine: &Bound<'py, Engine>,
    marks: &Bound<'py, Marks>,
    text: &Bound<'py, PyAny>,
    runs: &Bound<'py, PyList>,
    assistants: &[u8],
) -> PyResult<(Ranges<'py>, Labels<'py>, bool)> {
    let (py, engine, marks) = (text.py(), engine.get(), &marks.get().0);
    let table = RunTable::new(runs, assistants)?;
    let text = Text::new(text, Errors::Replace, None)?;
    let repaired = matches!(text, Text::Repaired(..));
    let (mut part, mut labels, trusted) = engine.call_on(py, &text, |encoder, text, stop| {
        let mut part = PlacedPart::new(true);
        part.reserve(text.as_bytes().len());
        let trusted = encoder.with_session(|session| {
            encode_checked((encoder, session, stop), (text, repaired), (marks, &table), &mut part)
        })?;
        let labels = table.labels(&part.spans.starts, &part.spans.ends);
        Ok((part, labels, trusted))
    })?;
    if repaired {
        text.number(&mut [&mut part.spans.starts, &mut part.spans.ends])?;
        labels = table.labels(&part.spans.starts, &part.spans.ends);
    }
    Ok((part.into_arrays(py), (labels.0.into_pyarray(py), labels.1.into_pyarray(py)), trusted))
}

/// A text, its runs, and its assistants: the arguments of [`encode_runs`].
type Chat<'py> = (Bound<'py, PyAny>, Bound<'py, PyList>, Bound<'py, PyBytes>);

/// The ids of a job's texts, their mask, the number of ids of each, and the texts that are not trusted.
#[derive(Default)]
struct MaskedPart {
    ids: Vec<u32>,
    mask: Vec<u8>,
    counts: Vec<usize>,
    untrusted: Vec<usize>,
}

/// Ids, the end of each text, the mask, and the texts in which untrusted text can spell marks.
type Masked<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u8>>, Vec<usize>);

/// The ids and the masks of many texts.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn encode_ragged_runs<'py>(
    py: Python<'py>,
    engine: &Bound<'py, Engine>,
    marks: &Bound<'py, Marks>,
    chats: Arg<Vec<Chat<'py>>>,
    threads: usize,
) -> PyResult<Masked<'py>> {
    let (marks, chats) = (&marks.get().0, chats.0);
    let texts = chats.iter().enumerate().map(|(place, (text, ..))| Text::new(text, Errors::Replace, Some(place)));
    let texts = texts.collect::<PyResult<Vec<_>>>()?;
    let tables = chats.iter().map(|(_, runs, assistants)| RunTable::new(runs, assistants.as_bytes()));
    let tables = tables.collect::<PyResult<Vec<_>>>()?;
    let repaired: Vec<_> = texts.iter().map(|text| matches!(text, Text::Repaired(..))).collect();
    let each = as_texts(&texts)?;
    let (encoder, _) = engine.get().for_long_texts();
    let load = JobPlan::new(each.iter().map(|text| text.as_bytes().len()), threads, encoder.uses_regex());
    let work = |jobs: &mut Jobs<'_, usize, MaskedPart>, stop: &Stop| {
        let mut one = PlacedPart::new(true);
        encoder.with_session(|session| {
            jobs.for_each(|job| {
                let mut part = MaskedPart::default();
                for place in load.texts(job) {
                    stop.check()?;
                    let (text, table) = ((each[place], repaired[place]), &tables[place]);
                    let trusted = encode_checked((encoder, session, stop), text, (marks, table), &mut one);
                    if !trusted.map_err(|error| error.in_batch(place))? {
                        part.untrusted.push(place);
                    }
                    part.ids.extend_from_slice(&one.ids);
                    let masked = |run, ids| part.mask.resize(part.mask.len() + ids, table.mask[run]);
                    table.runs().of_ids(&one.spans.starts, &one.spans.ends, masked);
                    part.counts.push(one.ids.len());
                }
                Ok(part)
            });
        });
    };
    let (mut all, mut ends) = (MaskedPart::default(), Vec::with_capacity(texts.len()));
    let gathered = load.run(py, work, |parts| {
        for part in parts {
            all.ids.extend_from_slice(&part.ids);
            all.mask.extend_from_slice(&part.mask);
            all.untrusted.extend_from_slice(&part.untrusted);
            ends.extend(part.counts.iter().map(|&ids| ids as u64));
        }
        Ok(())
    });
    gathered.map_err(|problem| errors::with_batch_offset(py, &problem, &texts, Text::offset))?;
    let mut at = 0;
    for end in &mut ends {
        at += *end;
        *end = at;
    }
    Ok((all.ids.into_pyarray(py), ends.into_pyarray(py), all.mask.into_pyarray(py), all.untrusted))
}

/// The labels of ids with these ranges.
#[guarded]
#[pyfunction]
#[allow(clippy::needless_pass_by_value)]
pub fn label_ids<'py>(
    py: Python<'py>,
    starts: PyReadonlyArray1<'py, i64>,
    ends: PyReadonlyArray1<'py, i64>,
    runs: &Bound<'py, PyList>,
    assistants: &[u8],
) -> PyResult<Labels<'py>> {
    let places = |places: &PyReadonlyArray1<'py, i64>| {
        PyResult::Ok(places.as_slice()?.iter().map(|&place| usize::try_from(place).unwrap_or(0)).collect::<Vec<_>>())
    };
    let (messages, mask) = RunTable::new(runs, assistants)?.labels(&places(&starts)?, &places(&ends)?);
    Ok((messages.into_pyarray(py), mask.into_pyarray(py)))
}
