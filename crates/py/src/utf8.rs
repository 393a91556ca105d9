//! The UTF-8 of a `str` that is not ASCII: written here for one call, or by Python, which keeps it as long as the `str`.
//!
//! Most texts come once. To write them here takes less time, and leaves no memory behind. A text that comes again may come
//! many times, so Python shall keep its UTF-8. A mark says that a text came lately; one that is lost or mistaken costs
//! time and nothing else.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use toksmith_core::switches::slow;
use toksmith_core::text::utf8::{CodeUnit, utf8};

use crate::objects;

/// How many marks are kept.
const MARKS: usize = 1 << 14;

/// The marks of texts that came lately, each at a place that the text decides.
static CAME: [AtomicU32; MARKS] = [const { AtomicU32::new(0) }; MARKS];

/// Whether Python writes the UTF-8 of every text.
static SLOW: LazyLock<bool> = LazyLock::new(slow);

/// The units of a text whose UTF-8 is not there, where it may be written here.
pub fn unwritten<'t>(text: &'t Bound<'_, PyString>) -> PyResult<Option<PyStringData<'t>>> {
    if *SLOW { Ok(None) } else { objects::units(text) }
}

/// The UTF-8 of a text, if it is written here. None for lone surrogates, where memory does not suffice, and where Python has
/// the UTF-8 or shall keep it.
pub fn written(text: &Bound<'_, PyString>) -> PyResult<Option<String>> {
    Ok(match unwritten(text)? {
        None => None,
        Some(PyStringData::Ucs1(units)) => write(units),
        Some(PyStringData::Ucs2(units)) => write(units),
        Some(PyStringData::Ucs4(units)) => write(units),
    })
}

fn write<U: CodeUnit>(units: &[U]) -> Option<String> {
    if came_before(units) { None } else { utf8(units) }
}

/// Whether a text came lately; from now on it did. A text is known by its place in memory, its length and its ends.
fn came_before<U: CodeUnit>(units: &[U]) -> bool {
    let [first, last] = [units.first(), units.last()].map(|unit| unit.map_or(0, |&unit| u64::from(unit.into())));
    let text = [units.as_ptr().addr() as u64, units.len() as u64, first << 32 | last];
    let hash = text.iter().fold(0u64, |hash, part| (hash ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    let (place, mark) = (hash as usize % MARKS, (hash >> 32) as u32);
    CAME[place].swap(mark, Ordering::Relaxed) == mark
}
