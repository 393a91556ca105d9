//! The texts of a batch. The UTF-8 of a `str` that is not ASCII is written by the thread that works on it, into room that
//! the thread keeps: nobody waits for it, and only one text for each thread is in memory twice. The twin is [`Text`], whose
//! UTF-8 is there before the work begins.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use toksmith_core::split::Text as CoreText;
use toksmith_core::split::text_cuts::TextCuts;
use toksmith_core::split::text_source::{TextPart, TextSource, UnitText};

use crate::text::{Errors, Text, each_text};
use crate::utf8::unwritten;

/// One text of a batch.
pub enum BatchText<'py> {
    Written(Text<'py>),
    Unwritten(Bound<'py, PyString>),
}

/// The same for the threads that work on it. A text that is not written is in units of 1, 2 or 4 bytes.
pub enum Source<'a> {
    Written(CoreText<'a>),
    One(UnitText<'a, u8>),
    Two(UnitText<'a, u16>),
    Four(UnitText<'a, u32>),
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
                Some(PyStringData::Ucs1(units)) => Ok(Source::One(UnitText(units))),
                Some(PyStringData::Ucs2(units)) => Ok(Source::Two(UnitText(units))),
                Some(PyStringData::Ucs4(units)) => Ok(Source::Four(UnitText(units))),
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
    fn inner(&self) -> &dyn TextSource {
        match self {
            Self::Written(text) => text,
            Self::One(text) => text,
            Self::Two(text) => text,
            Self::Four(text) => text,
        }
    }
}

impl TextSource for Source<'_> {
    fn size(&self) -> usize {
        self.inner().size()
    }

    fn read<'r>(&'r self, room: &'r mut Vec<u8>) -> CoreText<'r> {
        self.inner().read(room)
    }

    fn parts(&self, cuts: Option<&TextCuts>, least: usize) -> Vec<TextPart> {
        self.inner().parts(cuts, least)
    }

    fn read_part<'r>(&'r self, part: TextPart, room: &'r mut Vec<u8>) -> CoreText<'r> {
        self.inner().read_part(part, room)
    }
}

/// The texts of a batch.
pub fn batch_texts<'py>(batch: &Bound<'py, PyAny>, errors: Errors) -> PyResult<Vec<BatchText<'py>>> {
    each_text(batch, |text, index| BatchText::new(text, errors, index))
}
