//! Where a regex of the Rust dialect matches, within the bounds of a text.
//!
//! The engine steps back where a pattern asks for it. It bounds these steps for one search only, and does not say how
//! many a search took. So it searches a text that counts how often the engine looks at it, because that is what takes
//! the time. The text ends the search by unwinding when the bounds say so.
//!
//! Reading order: this file, then [`onig`] for regexes that are written for Oniguruma.
//!
//! Left out: which regexes a tokenizer has ([`crate::split::pattern`]), and the scanners that replace them
//! ([`crate::split::scan`]).

pub mod onig;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fancy_regex::{Input, Regex, RegexBuilder};

use crate::error::{Error, Result, shortened};
use crate::text::bounds::{Bounds, Spent};

/// A stretch that a search found, or one between two finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether it was searched for.
    pub is_match: bool,
}

/// The longest regex, in bytes.
pub const LONGEST_PATTERN: usize = 1 << 14;
/// How often the engine may step back in one search, with or without a look at the text.
const BACKTRACK_LIMIT: usize = 100_000_000;
/// The most instructions of a regex.
const PROGRAM_LIMIT: usize = 1 << 18;
/// The bytes of the automata of all counted repetitions of a regex, which are divided …
const AUTOMATA_LIMIT: usize = 160 << 20;
/// … among at least this many repetitions.
const FEWEST_REPETITIONS: usize = 16;

/// A regex of the Rust dialect, whose empty matches do not count.
#[derive(Debug)]
pub struct RegexSearch {
    regex: Regex,
    /// The regex as its user wrote it.
    pattern: Box<str>,
}

impl RegexSearch {
    /// The search for a regex.
    ///
    /// # Errors
    /// [`Error::Option`] for one that does not compile, with the engine's reason, or is too long.
    pub fn new(pattern: &str) -> Result<Self> {
        check_length(pattern)?;
        Self::translated(pattern, pattern)
    }

    /// The search for a regex of another dialect by its translation.
    ///
    /// # Errors
    /// [`Error::Option`] for one that does not compile.
    pub fn translated(regex: &str, pattern: &str) -> Result<Self> {
        let mut builder = RegexBuilder::new(regex);
        builder.backtrack_limit(BACKTRACK_LIMIT).max_prog_size(PROGRAM_LIMIT).find_not_empty(true);
        // The engine bounds the size of each automaton that it makes of a part of the regex, but not their number.
        let repetitions = pattern.matches('{').count().max(FEWEST_REPETITIONS);
        builder.delegate_size_limit(AUTOMATA_LIMIT / repetitions);
        let regex = builder.build().map_err(|error| refused(pattern, "Rust", &error))?;
        Ok(Self { regex, pattern: pattern.into() })
    }

    /// Calls `each` with the start and end of every match, in order.
    ///
    /// # Errors
    /// [`Error::Pattern`] when the engine gives up or the bounds end the search, [`Error::Interrupted`], and whatever `each`
    /// returns.
    pub fn each(
        &self,
        text: &str,
        bounds: &Bounds<'_>,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let counted = Counted { text, bounds };
        let mut finds = self.regex.find_iter(&counted);
        let mut at = 0;
        loop {
            bounds.look().map_err(|spent| spent.error(&self.pattern, at))?;
            let found = catch_unwind(AssertUnwindSafe(|| finds.next()));
            match found.map_err(|payload| ended(payload).error(&self.pattern, at))? {
                None => return Ok(()),
                Some(Ok((start, end))) => {
                    each(start, end)?;
                    at = end;
                }
                Some(Err(error)) => return Err(gave_up(&self.pattern, &error, at)),
            }
        }
    }
}

/// Why the bounds ended the search; any other panic goes on.
fn ended(payload: Box<dyn std::any::Any + Send>) -> Spent {
    payload.downcast::<Spent>().map_or_else(|other| resume_unwind(other), |spent| *spent)
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
pub fn refused(pattern: &str, dialect: &str, error: &dyn std::fmt::Display) -> Error {
    let allowed = format!("a regex in the {dialect} dialect ({})", shortened(&error.to_string()));
    Error::Option { argument: "pattern", value: pattern.to_owned(), allowed }
}

/// The error of a search that began at `offset` and that the engine gave up.
pub fn gave_up(pattern: &str, error: &dyn std::fmt::Display, offset: usize) -> Error {
    Error::Pattern { pattern: pattern.to_owned(), problem: error.to_string(), offset: Some(offset) }
}

/// A text that counts how often an engine looks at it.
struct Counted<'t, 'b> {
    text: &'t str,
    bounds: &'b Bounds<'b>,
}

impl Counted<'_, '_> {
    #[inline]
    fn count(&self) {
        if let Err(spent) = self.bounds.step() {
            // Nothing else tells the engine to stop. The hook for panics is not called.
            resume_unwind(Box::new(spent));
        }
    }
}

impl Input for Counted<'_, '_> {
    type Match<'m>
        = (usize, usize)
    where
        Self: 'm;

    fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self.count();
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        self.count();
        let before = (0..at).rev().find(|&before| self.text.is_char_boundary(before));
        before.unwrap_or(0)
    }

    fn make_match(&self, start: usize, end: usize) -> (usize, usize) {
        (start, end)
    }

    fn advance_position(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::parallel::Stop;

    fn matches(pattern: &str, text: &str, stop: &Stop) -> Result<Vec<(usize, usize)>> {
        let mut all = Vec::new();
        RegexSearch::new(pattern)?.each(text, &Bounds::new(text.len(), stop), |start, end| {
            all.push((start, end));
            Ok(())
        })?;
        Ok(all)
    }

    #[test]
    fn matches_are_those_of_the_engine() {
        let stop = Stop::default();
        for (pattern, text) in
            [(r"\w+(?!\w)|\s", "a bé  日本"), ("x*|b", "abxb"), (r"(?<=é)\w|\b", "éa aé"), ("(a)\\1", "aaaa")]
        {
            let regex = RegexBuilder::new(pattern).find_not_empty(true).build().unwrap();
            let own: Vec<_> =
                regex.find_iter(text).map(|found| found.map(|found| (found.start(), found.end())).unwrap()).collect();
            assert_eq!(matches(pattern, text, &stop).unwrap(), own, "{pattern}");
        }
    }

    #[test]
    fn a_search_without_end_is_ended() {
        let stop = Stop::default();
        let text = format!("b{}b", "a".repeat(40_000));
        let found = matches(r"(?=(a|a)+?\1$)a|a|b", &text, &stop).unwrap_err();
        assert!(matches!(found, Error::Pattern { offset: Some(1), .. }), "{found}");
        stop.raise();
        assert_eq!(matches("(a|a)+?\\1$", &text, &stop), Err(Error::Interrupted));
    }

    #[test]
    fn long_and_deep_regexes_are_refused() {
        let stop = Stop::default();
        for pattern in ["a".repeat(LONGEST_PATTERN + 1), "(".repeat(30_000) + &")".repeat(30_000), "[".repeat(60_000)] {
            assert!(matches!(matches(&pattern, "a", &stop), Err(Error::Option { .. })));
        }
    }
}
