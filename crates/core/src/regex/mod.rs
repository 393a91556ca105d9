//! Searches a text for matches of a regex of the Rust dialect, within bounds.
//!
//! Reading order: this file, then `engine`, which the feature `regex` has, and [`onig`] for regexes written for
//! Oniguruma. Without the feature every regex is refused, and only scanners split.
//!
//! Left out: which regexes a tokenizer has ([`crate::split::pattern`]), and the scanners that replace them
//! ([`crate::split::scan`]).

#[cfg(feature = "regex")]
mod engine;
pub mod onig;

use crate::error::{Error, Result, shorten};

#[cfg(feature = "regex")]
pub use engine::RegexSearch;

/// A match, or a stretch between two matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchSpan {
    /// Its start.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Whether it is a match.
    pub is_match: bool,
}

/// The longest regex, in bytes.
pub const LONGEST_PATTERN: usize = 1 << 14;
/// A regex that no engine runs: there is none.
#[cfg(not(feature = "regex"))]
#[derive(Debug)]
pub enum RegexSearch {}

#[cfg(not(feature = "regex"))]
impl RegexSearch {
    /// Refuses a regex.
    ///
    /// # Errors
    /// [`Error::Option`].
    pub fn new(pattern: &str) -> Result<Self> {
        let allowed = "a regex of a published tokenizer, because this build has no regex engine; build toksmith-core with \
                       its feature `regex`";
        Err(Error::Option { argument: "pattern", value: pattern.to_owned(), allowed: allowed.to_owned() })
    }

    /// The same for a translation.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_translation(_: &str, pattern: &str) -> Result<Self> {
        Self::new(pattern)
    }

    /// There is no regex to search.
    ///
    /// # Errors
    /// None.
    pub fn for_each_match(
        &self,
        _: &str,
        _: &crate::text::bounds::Bounds<'_>,
        _: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        match *self {}
    }
}

/// # Errors
/// [`Error::Option`] for a regex that is too long.
pub fn check_length(pattern: &str) -> Result<()> {
    if pattern.len() <= LONGEST_PATTERN {
        return Ok(());
    }
    let allowed = format!("a regex of at most {LONGEST_PATTERN} bytes, not {}", pattern.len());
    Err(Error::Option { argument: "pattern", value: pattern.to_owned(), allowed })
}

/// The error of a regex that does not compile.
pub fn compile_error(pattern: &str, dialect: &str, error: &dyn std::fmt::Display) -> Error {
    let allowed = format!("a regex in the {dialect} dialect ({})", shorten(&error.to_string()));
    Error::Option { argument: "pattern", value: pattern.to_owned(), allowed }
}

/// The error of a search from `offset` on that the engine gave up.
pub fn search_error(pattern: &str, error: &dyn std::fmt::Display, offset: usize) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), problem: error.to_string(), offset: Some(offset) }
}
