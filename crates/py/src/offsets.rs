//! Ids with their ranges in the text.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use toksmith_core::encode::in_pieces::IdsInPieces;
use toksmith_core::split::Text as CoreText;
use toksmith_core::split::spans::{Count, PlacedIds, Spans};
use toksmith_core::threads::parallel::{Jobs, Stop};
use toksmith_guard::guarded;

use crate::batch::JobPlan;
use crate::engine::Engine;
use crate::errors;
use crate::text::{Errors, Text, as_texts, texts};

/// Ids, starts and ends.
pub type Ranges<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// The ids and ranges of a job's texts, and the number of ids of each.
pub struct PlacedPart {
    pub ids: Vec<u32>,
    pub spans: Spans,
    counts: Vec<usize>,
}

impl PlacedPart {
    pub fn new(characters: bool) -> Self {
        let count = if characters { Count::Characters } else { Count::Bytes };
        Self { ids: Vec::new(), spans: Spans::new(count), counts: Vec::new() }
    }

    /// Makes room for the ids of a text of `size` bytes; most need less.
    pub fn reserve(&mut self, size: usize) {
        self.ids.reserve(size / 3);
        self.spans.starts.reserve(size / 3);
        self.spans.ends.reserve(size / 3);
    }

    /// Drops all results and keeps the memory.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.spans.starts.clear();
        self.spans.ends.clear();
    }

    /// The ends of the lists, to append the next ids and ranges.
    pub fn end(&mut self) -> PlacedIds<'_> {
        PlacedIds { ids: &mut self.ids, spans: &mut self.spans }
    }

    pub fn into_arrays(self, py: Python<'_>) -> Ranges<'_> {
        let numbers =
            |places: Vec<usize>| places.into_iter().map(|place| place.cast_signed() as i64).collect::<Vec<_>>();
        (
            self.ids.into_pyarray(py),
            numbers(self.spans.starts).into_pyarray(py),
            numbers(self.spans.ends).into_pyarray(py),
        )
    }
}

#[guarded]
#[pyfunction]
pub fn encode_with_offsets<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    characters: bool,
) -> PyResult<Ranges<'py>> {
    let (py, engine) = (text.py(), engine.get());
    let allow = engine.allow(special)?;
    let text = Text::new(text, Errors::from_name(errors)?, None)?;
    let mut part = engine.call_on(py, &text, |encoder, text, stop| {
        let mut part = PlacedPart::new(characters);
        part.reserve(text.as_bytes().len());
        encoder.with_session(|session| encoder.encode_with_offsets(text, &allow, stop, session, part.end()))?;
        Ok(part)
    })?;
    if characters {
        text.number(&mut [&mut part.spans.starts, &mut part.spans.ends])?;
    }
    Ok(part.into_arrays(py))
}

#[guarded]
#[pyfunction]
pub fn encode_ragged_with_offsets<'py>(
    engine: &Bound<'py, Engine>,
    batch: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
    errors: &Bound<'py, PyAny>,
    threads: usize,
    characters: bool,
) -> PyResult<(Ranges<'py>, Bound<'py, PyArray1<u64>>)> {
    let (py, engine) = (batch.py(), engine.get());
    let allow = engine.allow(special)?;
    let texts = texts(batch, Errors::from_name(errors)?)?;
    let each = as_texts(&texts)?;
    let (encoder, _) = engine.for_long_texts();
    let load = JobPlan::new(each.iter().map(|text| text.as_bytes().len()), threads, encoder.uses_regex());
    let work = |jobs: &mut Jobs<'_, usize, PlacedPart>, stop: &Stop| {
        encoder.with_session(|session| {
            jobs.for_each(|job| {
                let mut part = PlacedPart::new(characters);
                for place in load.texts(job) {
                    stop.check()?;
                    let before = part.ids.len();
                    let result = encoder.encode_with_offsets(each[place], &allow, stop, session, part.end());
                    result.map_err(|error| error.in_batch(place))?;
                    part.counts.push(part.ids.len() - before);
                }
                Ok(part)
            });
        });
    };
    let mut all = PlacedPart::new(characters);
    let gathered = load.run(py, work, |parts| {
        for part in parts {
            all.ids.extend_from_slice(&part.ids);
            all.spans.starts.extend_from_slice(&part.spans.starts);
            all.spans.ends.extend_from_slice(&part.spans.ends);
            all.counts.extend_from_slice(&part.counts);
        }
        Ok(())
    });
    gathered.map_err(|problem| errors::with_batch_offset(py, &problem, &texts, Text::offset))?;
    let mut at = 0;
    let mut ends = Vec::with_capacity(texts.len());
    for (text, ids) in texts.iter().zip(&all.counts) {
        if characters {
            let Spans { starts, ends, .. } = &mut all.spans;
            text.number(&mut [&mut starts[at..at + ids], &mut ends[at..at + ids]])?;
        }
        at += ids;
        ends.push(at as u64);
    }
    Ok((all.into_arrays(py), ends.into_pyarray(py)))
}

/// A start and an end for each id.
type Places = Vec<(usize, usize)>;

/// Ids, their pieces, flags of added tokens, places in the text and in the rewritten text, and the rewritten text.
type InPieces<'py> = (Vec<u32>, Vec<usize>, Vec<bool>, Places, Places, Bound<'py, PyBytes>);

#[guarded]
#[pyfunction]
pub fn encode_in_pieces<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
) -> PyResult<InPieces<'py>> {
    let (py, engine) = (text.py(), engine.get());
    let allow = engine.allow(special)?;
    let text = Text::new(text, Errors::Replace, None)?;
    let result = engine.call_on(py, &text, |encoder, text, stop| {
        encoder.with_session(|session| encoder.encode_in_pieces(text, &allow, stop, session))
    })?;
    let IdsInPieces { ids, pieces, added, mut starts, mut ends, text: written, text_starts, text_ends, .. } = result;
    if let CoreText::Str(text) = text.as_text()? {
        count_characters(text, &mut [&mut starts, &mut ends]);
    }
    text.number(&mut [&mut starts, &mut ends])?;
    let places = |starts: Vec<usize>, ends: Vec<usize>| starts.into_iter().zip(ends).collect();
    let (places, text_places) = (places(starts, ends), places(text_starts, text_ends));
    Ok((ids, pieces, added, places, text_places, PyBytes::new(py, &written)))
}

/// Starts and ends.
type Origins<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// The starts and ends of the origins of a text's ids, as [`encode_in_pieces`] finds them.
#[guarded]
#[pyfunction]
pub fn find_origins<'py>(
    engine: &Bound<'py, Engine>,
    text: &Bound<'py, PyAny>,
    special: &Bound<'py, PyAny>,
) -> PyResult<Origins<'py>> {
    let (py, engine) = (text.py(), engine.get());
    let allow = engine.allow(special)?;
    let text = Text::new(text, Errors::Replace, None)?;
    let mut part = engine.call_on(py, &text, |encoder, text, stop| {
        let mut part = PlacedPart::new(true);
        encoder.with_session(|session| {
            if encoder.has_ranges_as_origins() {
                return encoder.encode_with_offsets(text, &allow, stop, session, part.end());
            }
            let IdsInPieces { starts, ends, .. } = encoder.encode_in_pieces(text, &allow, stop, session)?;
            (part.spans.starts, part.spans.ends) = (starts, ends);
            if let CoreText::Str(text) = text {
                count_characters(text, &mut [&mut part.spans.starts, &mut part.spans.ends]);
            }
            Ok(())
        })?;
        Ok(part)
    })?;
    text.number(&mut [&mut part.spans.starts, &mut part.spans.ends])?;
    let (_, starts, ends) = part.into_arrays(py);
    Ok((starts, ends))
}

/// Converts byte places in a text to numbers of characters.
fn count_characters(text: &str, places: &mut [&mut [usize]]) {
    if text.is_ascii() {
        return;
    }
    let mut characters = vec![0; text.len() + 1];
    for (number, (at, char)) in text.char_indices().enumerate() {
        characters[at..at + char.len_utf8()].fill(number);
        characters[text.len()] = number + 1;
    }
    for place in places.iter_mut().flat_map(|places| places.iter_mut()) {
        *place = characters[*place];
    }
}
