//! The UTF-8 of a `str` that is not ASCII: written for one call, or stored by Python.
//!
//! Most texts come once. Writing their UTF-8 here takes less time, and leaves no memory allocated. A repeated text can
//! come many times, so Python stores its UTF-8. A mark records that a text came recently; a lost or wrong mark costs
//! only time.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use toksmith_core::switches::slow;
use toksmith_core::text::utf8::{CodeUnit, utf8};

use crate::objects;

/// The number of marks.
const MARKS: usize = 1 << 14;

/// The marks of recent texts, each at a place that the text determines.
static CAME: [AtomicU32; MARKS] = [const { AtomicU32::new(0) }; MARKS];

/// Whether Python writes the UTF-8 of every text.
static SLOW: LazyLock<bool> = LazyLock::new(slow);

/// The units of a text without UTF-8 that can be written here.
pub fn units_to_write<'t>(text: &'t Bound<'_, PyString>) -> PyResult<Option<PyStringData<'t>>> {
    if *SLOW { Ok(None) } else { objects::units(text) }
}

/// The UTF-8 of a text, if it is written here. None for lone surrogates, if memory is short, and if Python has the
/// UTF-8 or is to store it.
pub fn write_once(text: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    Ok(match units_to_write(text)? {
        None => None,
        Some(PyStringData::Ucs1(units)) => write(units),
        Some(PyStringData::Ucs2(units)) => write(units),
        Some(PyStringData::Ucs4(units)) => write(units),
    })
}

fn write<U: CodeUnit>(units: &[U]) -> Option<String> {
    if mark_seen(units) { None } else { utf8(units) }
}

/// Marks a text and returns whether it was marked. A text is identified by its address, its length and its ends.
fn mark_seen<U: CodeUnit>(units: &[U]) -> bool {
    let [first, last] = [units.first(), units.last()].map(|unit| unit.map_or(0, |&unit| u64::from(unit.into())));
    let text = [units.as_ptr().addr() as u64, units.len() as u64, first << 32 | last];
    let hash = text.iter().fold(0u64, |hash, part| (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    let (place, mark) = (hash as usize % MARKS, (hash >> 32) as u32);
    CAME[place].swap(mark, Ordering::Relaxed) == mark
}
