//! The texts of a batch. The UTF-8 of a `str` that is not ASCII is written by the thread that works on it, into room that
//! the thread keeps: nobody waits for it, and only one text for each thread is in memory twice. The twin is [`Text`], whose
//! UTF-8 is there before the work begins.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use toksmith_core::split::{Text as CoreText, TextSource};
use toksmith_core::utf8::{about_len, utf8, utf8_in};

use crate::text::{Errors, Text, each_text};
use crate::utf8::unwritten;

/// One text of a batch.
pub enum BatchText<'py> {
    Written(Text<'py>),
    Unwritten(Bound<'py, PyString>),
}

/// The same for the threads that work on it.
pub enum Source<'a> {
    Written(CoreText<'a>),
    Unwritten(PyStringData<'a>),
}

impl<'py> BatchText<'py> {
    /// One that Python may have no UTF-8 of yet.
    pub fn new(value: &Bound<'py, PyAny>, errors: Errors, index: usize) -> PyResult<Self> {
        if errors == Errors::Replace
            && let Ok(text) = value.cast::<PyString>()
            && unwritten(text)?.is_some()
        {
            return Ok(Self::Unwritten(text.clone()));
        }
        Text::new(value, errors, Some(index)).map(Self::Written)
    }

    /// What the threads get.
    pub fn source(&self) -> PyResult<Source<'_>> {
        match self {
            Self::Written(text) => text.as_text().map(Source::Written),
            Self::Unwritten(text) => match unwritten(text)? {
                Some(units) => Ok(Source::Unwritten(units)),
                // Somebody else has asked Python for it.
                None => text.to_str().map(|text| Source::Written(CoreText::Str(text))),
            },
        }
    }

    /// A byte offset in the unit of the caller's text; see [`Text::offset`].
    pub fn offset(&self, bytes: usize) -> usize {
        match self {
            Self::Written(text) => text.offset(bytes),
            Self::Unwritten(text) => Text::new(text, Errors::Replace, None).map_or(bytes, |text| text.offset(bytes)),
        }
    }
}

impl Source<'_> {
    /// A text of its own; None for one that is written, for lone surrogates, and where memory does not suffice.
    pub fn write(&self) -> Option<String> {
        match self {
            Self::Written(_) => None,
            Self::Unwritten(PyStringData::Ucs1(units)) => utf8(units),
            Self::Unwritten(PyStringData::Ucs2(units)) => utf8(units),
            Self::Unwritten(PyStringData::Ucs4(units)) => utf8(units),
        }
    }
}

impl TextSource for Source<'_> {
    fn text(&self) -> Option<CoreText<'_>> {
        match self {
            Self::Written(text) => Some(*text),
            Self::Unwritten(_) => None,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Written(text) => text.size(),
            Self::Unwritten(PyStringData::Ucs1(units)) => about_len(units),
            Self::Unwritten(PyStringData::Ucs2(units)) => about_len(units),
            Self::Unwritten(PyStringData::Ucs4(units)) => about_len(units),
        }
    }

    fn read<'r>(&'r self, room: &'r mut Vec<u8>) -> CoreText<'r> {
        match self {
            Self::Written(text) => *text,
            Self::Unwritten(PyStringData::Ucs1(units)) => CoreText::Str(utf8_in(units, room)),
            Self::Unwritten(PyStringData::Ucs2(units)) => CoreText::Str(utf8_in(units, room)),
            Self::Unwritten(PyStringData::Ucs4(units)) => CoreText::Str(utf8_in(units, room)),
        }
    }
}

/// The texts of a batch.
pub fn batch_texts<'py>(batch: &Bound<'py, PyAny>, errors: Errors) -> PyResult<Vec<BatchText<'py>>> {
    each_text(batch, |text, index| BatchText::new(text, errors, index))
}
