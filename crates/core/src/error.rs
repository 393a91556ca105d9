//! The one error type of the core. Variants hold data. The binding turns them into the Python exceptions of the same
//! names, and `Display` says the same in one line.

use std::borrow::Cow;
use std::fmt;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// The most characters of a refused text that a message quotes.
const QUOTED: usize = 200;

/// A text as a message quotes it: a long one without its middle.
#[must_use]
pub fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= QUOTED || text.chars().nth(QUOTED).is_none() {
        return Cow::Borrowed(text);
    }
    let start: usize = text.chars().take(QUOTED / 2).map(char::len_utf8).sum();
    let end: usize = text.chars().rev().take(QUOTED / 2 - 1).map(char::len_utf8).sum();
    Cow::Owned(format!("{}…{}", &text[..start], &text[text.len() - end..]))
}

/// What went wrong, as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A model breaks an invariant.
    Model {
        /// The rule that is broken, in words.
        invariant: String,
        /// The id concerned.
        id: Option<u32>,
    },
    /// A file does not hold what its format asks for.
    Format {
        /// A line number, `byte 17`, or a field name.
        place: Option<String>,
        /// What was found and what was expected.
        problem: String,
    },
    /// An argument has a value that it cannot have.
    Option {
        /// The argument's name.
        argument: &'static str,
        /// The value as given.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The regex engine gave up on a text.
    Pattern {
        /// The regex.
        pattern: String,
        /// What the engine says.
        problem: String,
        /// Where in the text the search began, in bytes, if the text is the caller's.
        offset: Option<usize>,
    },
    /// A step makes more of a text than a text may become.
    TooLong {
        /// The step: its place and kind.
        step: String,
        /// How many bytes the text may become.
        limit: usize,
    },
    /// The text spells a special token that the call did not allow.
    SpecialTokenInText {
        /// The token's text.
        token: String,
        /// Where it starts, in bytes.
        offset: usize,
    },
    /// A character, word or byte has no token, and there is no fallback.
    NotInVocabulary {
        /// The bytes that are missing.
        content: Vec<u8>,
        /// Where they start, in bytes of the text.
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
    /// A file of text cannot be read.
    Corpus {
        /// The file; empty where it has no name.
        path: String,
        /// What is wrong with it, in words.
        problem: String,
    },
    /// The caller asked to stop.
    Interrupted,
}

impl Error {
    /// The error of a model that breaks `invariant`.
    pub fn model(invariant: impl Into<String>, id: Option<u32>) -> Self {
        Self::Model { invariant: invariant.into(), id }
    }

    /// Makes room for `more` bytes of a text that must be in memory as a whole, because nothing cuts it.
    ///
    /// # Errors
    /// [`Error::Corpus`] of the file if there is not enough memory.
    pub fn if_no_room(held: &mut Vec<u8>, more: usize, path: &str) -> Result<()> {
        held.try_reserve(more).map_err(|_| Self::Corpus {
            path: path.to_owned(),
            problem: format!(
                "cannot be read: there is not enough memory for the {} bytes of one text that its pattern does not cut",
                held.len() + more
            ),
        })
    }

    /// The same error, as that of text `index` of a batch.
    #[must_use]
    pub fn in_batch(self, index: usize) -> Self {
        match self {
            Self::Interrupted => self,
            error => Self::InBatch { index, error: Box::new(error) },
        }
    }

    /// The same error, if the searched text starts at `start` of the text in which other errors count their offsets.
    #[must_use]
    pub fn searched_from(self, start: usize) -> Self {
        if matches!(self, Self::Pattern { .. }) { self.shifted(start) } else { self }
    }

    /// The same error without an offset, for an offset that does not count in the caller's text.
    #[must_use]
    pub fn unplaced(self) -> Self {
        match self {
            Self::Pattern { pattern, problem, .. } => Self::Pattern { pattern, problem, offset: None },
            other => other,
        }
    }

    /// The same error with offsets counted from `start` bytes earlier.
    #[must_use]
    pub fn shifted(self, start: usize) -> Self {
        match self {
            Self::NotInVocabulary { content, offset } => Self::NotInVocabulary { content, offset: offset + start },
            Self::SpecialTokenInText { token, offset } => Self::SpecialTokenInText { token, offset: offset + start },
            Self::Pattern { pattern, problem, offset } => {
                Self::Pattern { pattern, problem, offset: offset.map(|offset| offset + start) }
            }
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
                write!(f, "{argument}={} is not possible; expected {allowed}", shortened(value))
            }
            Self::Pattern { pattern, problem, offset } => {
                let place = offset.map_or_else(String::new, |offset| format!(" at byte {offset}"));
                write!(f, "the regex engine gave up on {}{place}: {problem}", shortened(pattern))
            }
            Self::TooLong { step, limit } => write!(f, "{step} makes more than {limit} bytes of the text"),
            Self::SpecialTokenInText { token, offset } => {
                write!(f, "the text holds the special token {} at byte {offset}", shortened(token))
            }
            Self::NotInVocabulary { content, offset } => {
                let content = content.escape_ascii().to_string();
                write!(f, "{} (byte {offset}) is not in the vocabulary", shortened(&content))
            }
            Self::UnknownId { id, position, vocab_size } => {
                write!(f, "id {id} at position {position} stands for no token; the vocabulary size is {vocab_size}")
            }
            Self::InBatch { index, error } => write!(f, "text {index}: {error}"),
            Self::Corpus { path, problem } => write!(f, "{path}: {problem}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
