//! Runs a regex with the crate `fancy-regex`.
//!
//! The engine backtracks where a pattern needs it. It bounds these steps for one search only, and does not report the
//! steps of a search. So it searches a text that counts the engine's reads, because these take the time. The text ends
//! the search by unwinding once the bounds are spent; where nothing unwinds, as in a browser, the program ends.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fancy_regex::{Input, Regex, RegexBuilder};

use crate::error::Result;
use crate::regex::{check_length, compile_error, search_error};
use crate::text::bounds::{Bounds, Spent};

/// The most backtracking steps of one search, with or without a read of the text.
const BACKTRACK_LIMIT: usize = 100_000_000;
/// The most instructions of a regex.
const PROGRAM_LIMIT: usize = 1 << 18;
/// The most bytes of the automata of a regex's counted repetitions, divided by the number of repetitions.
const AUTOMATA_LIMIT: usize = 160 << 20;
/// The least divisor for [`AUTOMATA_LIMIT`].
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
        let mut builder = RegexBuilder::new(regex);
        builder.backtrack_limit(BACKTRACK_LIMIT).max_prog_size(PROGRAM_LIMIT).find_not_empty(true);
        // The engine bounds the size of each automaton that it makes of a part of the regex, but not their number.
        let repetitions = pattern.matches('{').count().max(FEWEST_REPETITIONS);
        builder.delegate_size_limit(AUTOMATA_LIMIT / repetitions);
        let regex = builder.build().map_err(|error| compile_error(pattern, "Rust", &error))?;
        Ok(Self { regex, pattern: pattern.into() })
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
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let counted = CountedText { text, bounds };
        let mut finds = self.regex.find_iter(&counted);
        let mut at = 0;
        loop {
            bounds.check_stop().map_err(|spent| spent.error(&self.pattern, at))?;
            let next_match = catch_unwind(AssertUnwindSafe(|| finds.next()));
            match next_match.map_err(|payload| spent_bound(payload).error(&self.pattern, at))? {
                None => return Ok(()),
                Some(Ok((start, end))) => {
                    each(start, end)?;
                    at = end;
                }
                Some(Err(error)) => return Err(search_error(&self.pattern, &error, at)),
            }
        }
    }
}

/// Returns the bound that ended the search; any other panic continues.
fn spent_bound(payload: Box<dyn std::any::Any + Send>) -> Spent {
    payload.downcast::<Spent>().map_or_else(|other| resume_unwind(other), |spent| *spent)
}

/// A text that counts an engine's reads.
struct CountedText<'t, 'b> {
    text: &'t str,
    bounds: &'b Bounds<'b>,
}

impl CountedText<'_, '_> {
    #[inline]
    fn count(&self) {
        if let Err(spent) = self.bounds.charge_step() {
            // The engine has no other way to be stopped. The panic hook is not called.
            resume_unwind(Box::new(spent));
        }
    }
}

impl Input for CountedText<'_, '_> {
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
    use crate::error::Error;
    use crate::regex::LONGEST_PATTERN;
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
