//! The texts of a batch. The thread that works on a `str` that is not ASCII writes its UTF-8 into its own buffer: no
//! thread waits for it, and only one text per thread is in memory twice. The twin is [`Text`], whose UTF-8 exists
//! before the work begins.

use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::types::string::PyStringData;
use toksmith_core::split::Text as CoreText;
use toksmith_core::split::text_cuts::TextCuts;
use toksmith_core::split::text_source::{TextPart, TextSource, UnitText};

use crate::text::{Errors, Text, map_texts};
use crate::utf8::units_to_write;

/// One text of a batch.
pub enum BatchText<'py> {
    Written(Text<'py>),
    Unwritten(Bound<'py, PyString>),
}

/// A text for the threads that work on it. An unwritten text is in units of 1, 2 or 4 bytes.
pub enum ThreadText<'a> {
    Written(CoreText<'a>),
    One(UnitText<'a, u8>),
    Two(UnitText<'a, u16>),
    Four(UnitText<'a, u32>),
}

impl<'py> BatchText<'py> {
    /// A text for which Python can still lack the UTF-8.
    pub fn new(value: &Bound<'py, PyAny>, errors: Errors, index: usize) -> PyResult<Self> {
        if errors == Errors::Replace
            && let Ok(text) = value.cast::<PyString>()
            && units_to_write(text)?.is_some()
        {
            return Ok(Self::Unwritten(text.clone()));
        }
        Text::new(value, errors, Some(index)).map(Self::Written)
    }

    /// The form for the threads.
    pub fn source(&self) -> PyResult<ThreadText<'_>> {
        match self {
            Self::Written(text) => text.as_text().map(ThreadText::Written),
            Self::Unwritten(text) => match units_to_write(text)? {
                Some(PyStringData::Ucs1(units)) => Ok(ThreadText::One(UnitText(units))),
                Some(PyStringData::Ucs2(units)) => Ok(ThreadText::Two(UnitText(units))),
                Some(PyStringData::Ucs4(units)) => Ok(ThreadText::Four(UnitText(units))),
                // Other code has made Python write it meanwhile.
                None => text.to_str().map(|text| ThreadText::Written(CoreText::Str(text))),
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

impl ThreadText<'_> {
    fn inner(&self) -> &dyn TextSource {
        match self {
            Self::Written(text) => text,
            Self::One(text) => text,
            Self::Two(text) => text,
            Self::Four(text) => text,
        }
    }
}

impl TextSource for ThreadText<'_> {
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
    map_texts(batch, |text, index| BatchText::new(text, errors, index))
}
