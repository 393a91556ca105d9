//! Python texts as UTF-8: `bytes` and ASCII are borrowed, other `str` are encoded for the call, lone surrogates are
//! repaired or refused.

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyString, PyTuple};
use toksmith_core::split::Text as CoreText;
use toksmith_core::switches;

use crate::utf8::write_once;

/// The items of a batch taken between two checks for signals.
const ITEMS_PER_LOOK: usize = 1 << 16;
/// The most items for which room is made if their number is only claimed.
const ROOM: usize = 1 << 12;

/// The handling of lone surrogates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// Pairs become their character, and each other surrogate U+FFFD.
    Replace,
    /// An exception.
    Strict,
}

/// A text whose bytes can be borrowed.
pub enum Text<'py> {
    Str(Bound<'py, PyString>),
    /// Its UTF-8.
    Written(String),
    /// The repaired text, and the caller's text.
    Repaired(Bound<'py, PyString>, Bound<'py, PyString>),
    Bytes(Bound<'py, PyBytes>),
}

impl Errors {
    pub fn from_name(name: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = name.py();
        if name.is(intern!(py, "replace")) {
            return Ok(Self::Replace);
        }
        let Ok(name) = name.cast::<PyString>() else {
            return Err(type_error(name, "errors", "str"));
        };
        match name.to_str() {
            Ok("replace") => Ok(Self::Replace),
            Ok("strict") => Ok(Self::Strict),
            _ => Err(crate::errors::new_exception(py, "InvalidOption", ("errors", name, "'replace' or 'strict'"))?),
        }
    }
}

impl<'py> Text<'py> {
    pub fn new(value: &Bound<'py, PyAny>, errors: Errors, index: Option<usize>) -> PyResult<Self> {
        switches::fault_point();
        if let Ok(text) = value.cast::<PyString>() {
            if let Some(utf8) = write_once(text)? {
                return Ok(Self::Written(utf8));
            }
            return match text.to_str() {
                Ok(_) => Ok(Self::Str(text.clone())),
                Err(problem)
                    if errors == Errors::Strict || !problem.is_instance_of::<PyUnicodeEncodeError>(text.py()) =>
                {
                    Err(problem)
                }
                Err(_) => Ok(Self::Repaired(repair(text)?, text.clone())),
            };
        }
        if let Ok(bytes) = value.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        let place = index.map_or_else(|| String::from("text"), |index| format!("texts: item {index}"));
        let kind = value.get_type().qualname()?;
        Err(PyTypeError::new_err(format!("{place}: expected str or bytes, not {kind}")))
    }

    pub fn as_text(&self) -> PyResult<CoreText<'_>> {
        match self {
            Self::Str(text) | Self::Repaired(text, _) => text.to_str().map(CoreText::Str),
            Self::Written(utf8) => Ok(CoreText::Str(utf8)),
            Self::Bytes(bytes) => Ok(CoreText::Bytes(bytes.as_bytes())),
        }
    }

    /// Converts numbers of characters from the repaired text to the caller's text.
    pub fn number(&self, numbers: &mut [&mut [usize]]) -> PyResult<()> {
        switches::fault_point();
        let Self::Repaired(repaired, original) = self else { return Ok(()) };
        let places = original_places(repaired.to_str()?, original)?;
        for number in numbers.iter_mut().flat_map(|numbers| numbers.iter_mut()) {
            *number = places[*number];
        }
        Ok(())
    }

    /// A byte offset in the unit of the caller's text: characters for `str`, bytes for `bytes`. Each byte of a
    /// character has the offset of the character, and no offset exceeds the text.
    pub fn offset(&self, bytes: usize) -> usize {
        let whole = match self {
            Self::Str(text) | Self::Repaired(text, _) => text.to_str().unwrap_or_default(),
            Self::Written(utf8) => utf8,
            Self::Bytes(_) => return bytes,
        };
        let end = (0..=bytes.min(whole.len())).rev().find(|&end| whole.is_char_boundary(end));
        let before = &whole[..end.unwrap_or(0)];
        match self {
            Self::Repaired(_, original) => {
                characters_of_units(original, before.encode_utf16().count()).unwrap_or(bytes)
            }
            _ => before.chars().count(),
        }
    }
}

/// For each character of the repaired text, and for its end, the place in the original, in which a pair of lone
/// surrogates was two characters.
fn original_places(repaired: &str, original: &Bound<'_, PyString>) -> PyResult<Vec<usize>> {
    let original = utf32(original)?;
    let (original, _) = original.as_bytes().as_chunks::<4>();
    let mut places = vec![0];
    let mut at = 0;
    for char in repaired.chars() {
        let pair = char.len_utf16() == 2 && original.get(at).is_some_and(|&first| u32::from_le_bytes(first) <= 0xFFFF);
        at += if pair { 2 } else { 1 };
        places.push(at);
    }
    Ok(places)
}

fn utf32<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(text.call_method1("encode", ("utf-32-le", "surrogatepass"))?.cast_into()?)
}

/// The characters of `text` that make the first `units` units of UTF-16, where a lone surrogate is one character.
fn characters_of_units(text: &Bound<'_, PyString>, units: usize) -> PyResult<usize> {
    let utf32 = utf32(text)?;
    let (characters, _) = utf32.as_bytes().as_chunks::<4>();
    let mut left = units;
    let fits = |character: &&[u8; 4]| {
        let size = if u32::from_le_bytes(**character) > 0xFFFF { 2 } else { 1 };
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    Ok(characters.iter().take_while(fits).count())
}

fn repair<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let utf16 = text.call_method1("encode", ("utf-16-le", "surrogatepass"))?;
    Ok(utf16.call_method1("decode", ("utf-16-le", "replace"))?.cast_into()?)
}

/// Handles signals in a loop over the items of a batch, at intervals.
pub fn check_signals_at(py: Python<'_>, index: usize) -> PyResult<()> {
    if index % ITEMS_PER_LOOK == ITEMS_PER_LOOK - 1 { py.check_signals() } else { Ok(()) }
}

/// The items to make room for in advance. The length that a list of the caller's own class claims can be wrong.
pub fn items_room(items: &Bound<'_, PyAny>) -> usize {
    let exact = items.is_exact_instance_of::<PyList>() || items.is_exact_instance_of::<PyTuple>();
    let claimed = items.len().unwrap_or(0);
    if exact { claimed } else { claimed.min(ROOM) }
}

pub fn items<'py>(value: &Bound<'py, PyAny>, name: &str, expected: &str) -> PyResult<Bound<'py, PyIterator>> {
    value.try_iter().map_err(|problem| {
        // Any other error comes from the caller's code.
        if problem.is_instance_of::<PyTypeError>(value.py()) { type_error(value, name, expected) } else { problem }
    })
}

/// The error of an argument of a wrong type, by its name.
pub fn type_error(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    match value.get_type().qualname() {
        Ok(kind) => PyTypeError::new_err(format!("{name}: expected {expected}, not {kind}")),
        Err(other) => other,
    }
}

pub fn texts<'py>(batch: &Bound<'py, PyAny>, errors: Errors) -> PyResult<Vec<Text<'py>>> {
    map_texts(batch, |text, index| Text::new(text, errors, Some(index)))
}

/// Calls `make` on each text of a batch. A `str` is one text and not a batch.
pub fn map_texts<'py, T>(
    batch: &Bound<'py, PyAny>,
    make: impl Fn(&Bound<'py, PyAny>, usize) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if batch.is_instance_of::<PyString>() || batch.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("texts: expected a batch of texts (a list), not one text"));
    }
    let mut texts = Vec::with_capacity(items_room(batch));
    for (index, item) in items(batch, "texts", "a list of texts")?.enumerate() {
        texts.push(make(&item?, index)?);
        check_signals_at(batch.py(), index)?;
    }
    Ok(texts)
}

/// The texts in the form of the core.
pub fn as_texts<'a>(texts: &'a [Text<'_>]) -> PyResult<Vec<CoreText<'a>>> {
    texts.iter().map(Text::as_text).collect()
}
