//! Searches a text for matches of a regex of the Rust dialect, within bounds.
//!
//! The engine backtracks where a pattern needs it. It bounds these steps for one search only, and does not report the
//! steps of a search. So it searches a text that counts the engine's reads, because these take the time. The text ends
//! the search by unwinding once the bounds are spent; where nothing unwinds, as in a browser, the program ends.
//!
//! Reading order: this file, `counted_text`, then [`onig`] for regexes written for Oniguruma. Without the feature `regex`
//! there is no engine: only scanners split.
//!
//! Left out: which regexes a tokenizer has ([`crate::split::pattern`]), and the scanners that replace them
//! ([`crate::split::scan`]).

#[cfg(feature = "regex")]
mod counted_text;
pub mod onig;

#[cfg(not(feature = "regex"))]
use std::convert::Infallible as Regex;

#[cfg(feature = "regex")]
use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Error, Result, shorten};
#[cfg(feature = "regex")]
use crate::regex::counted_text::search;
use crate::text::bounds::Bounds;

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
/// The most backtracking steps of one search, with or without a read of the text.
#[cfg(feature = "regex")]
const BACKTRACK_LIMIT: usize = 100_000_000;
/// The most instructions of a regex.
#[cfg(feature = "regex")]
const PROGRAM_LIMIT: usize = 1 << 18;
/// The most bytes of the automata of a regex's counted repetitions, divided by the number of repetitions.
#[cfg(feature = "regex")]
const AUTOMATA_LIMIT: usize = 160 << 20;
/// The least divisor for [`AUTOMATA_LIMIT`].
#[cfg(feature = "regex")]
const FEWEST_REPETITIONS: usize = 16;

/// A regex of the Rust dialect, whose empty matches do not count.
#[derive(Debug)]
pub struct RegexSearch {
    regex: Regex,
    /// The regex as its user wrote it.
    pattern: Box<str>,
}

impl RegexSearch {
    /// Compiles a regex.
    ///
    /// # Errors
    /// [`Error::Option`] for a regex that does not compile, with the engine's reason, or is too long.
    pub fn new(pattern: &str) -> Result<Self> {
        check_length(pattern)?;
        Self::from_translation(pattern, pattern)
    }

    /// Compiles `regex`, the translation of `pattern` from another dialect.
    ///
    /// # Errors
    /// [`Error::Option`] for a regex that does not compile.
    pub fn from_translation(regex: &str, pattern: &str) -> Result<Self> {
        Ok(Self { regex: compile(regex, pattern)?, pattern: pattern.into() })
    }

    /// Calls `each` with the start and end of every match, in order.
    ///
    /// # Errors
    /// [`Error::Pattern`] if the engine gives up or the bounds are spent, [`Error::Interrupted`], and the errors of
    /// `each`.
    pub fn for_each_match(
        &self,
        text: &str,
        bounds: &Bounds<'_>,
        each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        search((&self.regex, &self.pattern), text, bounds, each)
    }
}

#[cfg(feature = "regex")]
fn compile(regex: &str, pattern: &str) -> Result<Regex> {
    let mut builder = RegexBuilder::new(regex);
    builder.backtrack_limit(BACKTRACK_LIMIT).max_prog_size(PROGRAM_LIMIT).find_not_empty(true);
    // The engine bounds the size of each automaton that it makes of a part of the regex, but not their number.
    let repetitions = pattern.matches('{').count().max(FEWEST_REPETITIONS);
    builder.delegate_size_limit(AUTOMATA_LIMIT / repetitions);
    builder.build().map_err(|error| compile_error(pattern, "Rust", &error))
}

#[cfg(not(feature = "regex"))]
fn compile(_: &str, pattern: &str) -> Result<Regex> {
    let allowed = "a pattern that has a scanner, because this build has no regex engine; build toksmith-core with its \
                   feature `regex`";
    Err(Error::Option { argument: "pattern", value: pattern.to_owned(), allowed: allowed.to_owned() })
}

#[cfg(not(feature = "regex"))]
fn search(
    (regex, _): (&Regex, &str),
    _: &str,
    _: &Bounds<'_>,
    _: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    match *regex {}
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

#[cfg(all(test, feature = "regex"))]
mod tests {
    use super::*;
    use crate::threads::parallel::Stop;

    fn find_matches(pattern: &str, text: &str, stop: &Stop) -> Result<Vec<(usize, usize)>> {
        let mut all = Vec::new();
        RegexSearch::new(pattern)?.for_each_match(text, &Bounds::new(text.len(), stop), |start, end| {
            all.push((start, end));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn matches_equal_the_engine() {
        let stop = Stop::default();
        for (pattern, text) in
            [(r"\w+(?!\w)|\s", "a bé  日本"), ("x*|b", "abxb"), (r"(?<=é)\w|\b", "éa aé"), ("(a)\\1", "aaaa")]
        {
            let regex = RegexBuilder::new(pattern).find_not_empty(true).build().unwrap();
            let own: Vec<_> =
                regex.find_iter(text).map(|found| found.map(|found| (found.start(), found.end())).unwrap()).collect();
            assert_eq!(find_matches(pattern, text, &stop).unwrap(), own, "{pattern}");
        }
    }

    #[test]
    fn an_endless_search_is_ended() {
        let stop = Stop::default();
        let text = format!("b{}b", "a".repeat(40_000));
        let found = find_matches(r"(?=(a|a)+?\1$)a|a|b", &text, &stop).unwrap_err();
        assert!(matches!(found, Error::Pattern { offset: Some(1), .. }), "{found}");
        stop.raise();
        assert_eq!(find_matches("(a|a)+?\\1$", &text, &stop), Err(Error::Interrupted));
    }

    #[test]
    fn long_and_deep_regexes_are_refused() {
        let stop = Stop::default();
        for pattern in ["a".repeat(LONGEST_PATTERN + 1), "(".repeat(30_000) + &")".repeat(30_000), "[".repeat(60_000)] {
            assert!(matches!(find_matches(&pattern, "a", &stop), Err(Error::Option { .. })));
        }
    }
}
