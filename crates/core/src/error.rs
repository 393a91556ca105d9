//! The one error type of the core. Variants hold data. The binding turns them into the Python exceptions of the same
//! names, and `Display` gives one line.

use std::borrow::Cow;
use std::fmt;

/// The result of every fallible function here.
pub type Result<T> = std::result::Result<T, Error>;

/// The most characters of a refused text that a message quotes.
const QUOTED: usize = 200;

/// A text as a message quotes it: a long one is quoted without its middle.
#[must_use]
pub fn shorten(text: &str) -> Cow<'_, str> {
    if text.len() <= QUOTED || text.chars().nth(QUOTED).is_none() {
        return Cow::Borrowed(text);
    }
    let start: usize = text.chars().take(QUOTED / 2).map(char::len_utf8).sum();
    let end: usize = text.chars().rev().take(QUOTED / 2 - 1).map(char::len_utf8).sum();
    Cow::Owned(format!("{}…{}", &text[..start], &text[text.len() - end..]))
}

/// The kind of failure with its data. A minor version can add kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A model breaks an invariant.
    Model {
        /// The broken rule, in words.
        invariant: String,
        /// The offending id.
        id: Option<u32>,
    },
    /// A file does not follow its format.
    Format {
        /// A line number, `byte 17`, or a field name.
        place: Option<String>,
        /// The problem and the expected content.
        problem: String,
    },
    /// An argument has a value that is not allowed.
    Option {
        /// The argument's name.
        argument: &'static str,
        /// The value as given.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// The regex engine gave up on a text.
    Pattern {
        /// The regex.
        pattern: String,
        /// The message of the engine.
        problem: String,
        /// The start of the search in bytes, if the text is the caller's.
        offset: Option<usize>,
    },
    /// A step grows a text beyond the limit.
    TooLong {
        /// The step: its place and kind.
        step: String,
        /// The most bytes of the result.
        limit: usize,
    },
    /// The text spells a special token that the call did not allow.
    SpecialTokenInText {
        /// The token's text.
        token: String,
        /// Its start in bytes.
        offset: usize,
    },
    /// A character, word or byte has no token, and there is no fallback.
    NotInVocabulary {
        /// The bytes without a token.
        content: Vec<u8>,
        /// Their start in bytes of the text.
        offset: usize,
    },
    /// An id has no token.
    UnknownId {
        /// The id.
        id: i64,
        /// Its place in the sequence.
        position: usize,
        /// The largest id + 1.
        vocab_size: usize,
    },
    /// An error of one text of a batch.
    InBatch {
        /// The text's place in the batch.
        index: usize,
        /// Its error.
        error: Box<Error>,
    },
    /// A file cannot be read.
    Corpus {
        /// The file; empty where it has no name.
        path: String,
        /// The problem, in words.
        problem: String,
    },
    /// The caller asked to stop.
    Interrupted,
}

#[doc(hidden)]
impl Error {
    /// Makes the error of a model that breaks `invariant`.
    pub fn model(invariant: impl Into<String>, id: Option<u32>) -> Self {
        Self::Model { invariant: invariant.into(), id }
    }

    /// Reserves `more` bytes for a text that must be in memory as a whole, because it has no cuts.
    ///
    /// # Errors
    /// [`Error::Corpus`] of the file if memory is short.
    pub fn reserve(buffer: &mut Vec<u8>, more: usize, path: &str) -> Result<()> {
        buffer.try_reserve(more).map_err(|_| Self::Corpus {
            path: path.to_owned(),
            problem: format!(
                "cannot be read: there is not enough memory for the {} bytes of one text that its pattern does not cut",
                buffer.len() + more
            ),
        })
    }

    /// Wraps the error as that of text `index` of a batch.
    #[must_use]
    pub fn in_batch(self, index: usize) -> Self {
        match self {
            Self::Interrupted => self,
            error => Self::InBatch { index, error: Box::new(error) },
        }
    }

    /// The same error, if the searched text starts at `start` of the text in which other errors give offsets.
    #[must_use]
    pub fn with_search_start(self, start: usize) -> Self {
        if matches!(self, Self::Pattern { .. }) { self.shift_offset(start) } else { self }
    }

    /// The same error without an offset, because the offset is not one of the caller's text.
    #[must_use]
    pub fn without_offset(self) -> Self {
        match self {
            Self::Pattern { pattern, problem, .. } => Self::Pattern { pattern, problem, offset: None },
            other => other,
        }
    }

    /// The same error with `start` added to its offsets.
    #[must_use]
    pub fn shift_offset(self, start: usize) -> Self {
        self.map_offset(|offset| offset + start)
    }

    /// The same error with other offsets.
    #[must_use]
    pub fn map_offset(self, to: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::NotInVocabulary { content, offset } => Self::NotInVocabulary { content, offset: to(offset) },
            Self::SpecialTokenInText { token, offset } => Self::SpecialTokenInText { token, offset: to(offset) },
            Self::Pattern { pattern, problem, offset } => Self::Pattern { pattern, problem, offset: offset.map(to) },
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { invariant, id: Some(id) } => write!(f, "id {id}: {invariant}"),
            Self::Model { invariant, id: None } => f.write_str(invariant),
            Self::Format { place: Some(place), problem } => write!(f, "{place}: {problem}"),
            Self::Format { place: None, problem } => f.write_str(problem),
            Self::Option { argument, value, allowed } => {
                write!(f, "{argument}={} is not possible; expected {allowed}", shorten(value))
            }
            Self::Pattern { pattern, problem, offset } => {
                let place = offset.map_or_else(String::new, |offset| format!(" at offset {offset}"));
                write!(f, "the regex engine gave up{place}: {problem}; the pattern was '{}'. ", shorten(pattern))?;
                f.write_str("Cut the text into smaller documents, or use a pattern that backtracks less")
            }
            Self::TooLong { step, limit } => {
                write!(
                    f,
                    "{step} makes the text longer than {limit} bytes, which is 64 times its length plus 1 MiB; "
                )?;
                f.write_str("use a model without this step")
            }
            Self::SpecialTokenInText { token, offset } => {
                write!(f, "the text holds the special token '{}' at offset {offset}; ", shorten(token))?;
                f.write_str("choose 'text' to encode it as ordinary text, or 'allow' to turn it into its id")
            }
            Self::NotInVocabulary { content, offset } => {
                let content = String::from_utf8(content.clone());
                let content = content.unwrap_or_else(|error| error.as_bytes().escape_ascii().to_string());
                write!(f, "'{}' is not in the vocabulary (offset {offset})", shorten(&content))
            }
            Self::UnknownId { id, position, vocab_size } => {
                write!(f, "id {id} at position {position} ")?;
                let is_hole = usize::try_from(*id).is_ok_and(|id| id < *vocab_size);
                if is_hole {
                    return f.write_str("is a hole: no token has it");
                }
                write!(f, "is out of range; ids lie in [0, {vocab_size})")
            }
            Self::InBatch { index, error } => write!(f, "text {index}: {error}"),
            Self::Corpus { path, problem } => write!(f, "{path}: {problem}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
