//! Searches a text for matches of an Oniguruma regex, within bounds.
//!
//! Oniguruma bounds the backtracking steps from one start, and does not report their number. So a window of starts is
//! first searched with a low bound at no charge, because every search takes about that much. If the bound is too low,
//! each start is tried separately with higher and higher bounds, and the text is charged for each in full.

use onig::{MatchParam, Regex, Region, SearchOptions};

use crate::error::Result;
use crate::regex::{check_length, compile_error, search_error};
use crate::text::bounds::Bounds;

/// The bytes searched at once.
const WINDOW: usize = 1 << 16;
/// The steps of a start that are not charged.
const FREE_STEPS: u32 = 1 << 8;
/// The most steps of one start.
const MAX_STEPS: u32 = 10_000_000;
/// The factor from one try's steps to the next.
const STEP_FACTOR: u32 = 4;
/// The most places that the engine stores to backtrack to.
const STACK_LIMIT: u32 = 1 << 24;
/// The engine's error number for a bound that was too low.
const LIMIT_EXCEEDED: i32 = -17;

/// An Oniguruma regex. An empty match counts unless it is at the end of the match before.
#[derive(Debug)]
pub struct OnigSearch {
    regex: Regex,
    pattern: Box<str>,
}

impl OnigSearch {
    /// Compiles a regex.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for a regex that does not compile, with the engine's reason, or is too long.
    pub fn new(pattern: &str) -> Result<Self> {
        check_length(pattern)?;
        let regex = Regex::new(pattern).map_err(|error| compile_error(pattern, "Oniguruma", &error))?;
        Ok(Self { regex, pattern: pattern.into() })
    }

    /// Calls `each` with the start and end of every match, in order.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if the engine gives up or the bounds are spent, and [`crate::Error::Interrupted`].
    pub fn for_each_match(&self, text: &str, bounds: &Bounds<'_>, mut each: impl FnMut(usize, usize)) -> Result<()> {
        let Self { regex, pattern } = self;
        // `\G` is the start of a search, so the text must not be cut into windows.
        let window = if pattern.contains(r"\G") { text.len() } else { WINDOW };
        let mut search = BoundedText { regex, pattern, text, bounds, region: Region::new() };
        let (mut at, mut last) = (0, None);
        while let Some((start, end)) = search.first_match(at, window)? {
            if start == end && last == Some(end) {
                at += char_len(text, at);
                if at > text.len() {
                    break;
                }
            } else {
                each(start, end);
                (at, last) = (end, Some(end));
            }
        }
        Ok(())
    }
}

struct BoundedText<'s> {
    regex: &'s Regex,
    pattern: &'s str,
    text: &'s str,
    bounds: &'s Bounds<'s>,
    region: Region,
}

impl BoundedText<'_> {
    /// The first match that starts at `at` or later.
    fn first_match(&mut self, mut at: usize, window: usize) -> Result<Option<(usize, usize)>> {
        let text = self.text;
        loop {
            self.bounds.check_stop().map_err(|spent| spent.error(self.pattern, at))?;
            let ends = at.saturating_add(window)..;
            let to = ends.take_while(|&end| end < text.len()).find(|&end| text.is_char_boundary(end));
            let to = to.unwrap_or(text.len());
            self.region.clear();
            let options = SearchOptions::SEARCH_OPTION_NONE;
            let result =
                self.regex.search_with_param(text, at, to, options, Some(&mut self.region), match_param(FREE_STEPS));
            match result {
                Ok(Some(_)) => return Ok(self.region.pos(0)),
                Err(error) if error.code() == LIMIT_EXCEEDED => {
                    if let Some(result) = self.search_starts(at, to)? {
                        return Ok(Some(result));
                    }
                }
                Err(error) => return Err(search_error(self.pattern, &error, at)),
                Ok(None) => {}
            }
            if to == text.len() {
                return Ok(None);
            }
            at = to;
        }
    }

    /// The first match that starts at a place from `from` to `to`.
    fn search_starts(&mut self, from: usize, to: usize) -> Result<Option<(usize, usize)>> {
        let mut at = from;
        while at <= to {
            if self.starts_match(at)? {
                return Ok(self.region.pos(0));
            }
            at += char_len(self.text, at);
        }
        Ok(None)
    }

    fn starts_match(&mut self, at: usize) -> Result<bool> {
        let mut retries = FREE_STEPS;
        loop {
            self.bounds.check_stop().map_err(|spent| spent.error(self.pattern, at))?;
            self.region.clear();
            let options = SearchOptions::SEARCH_OPTION_NONE;
            let result =
                self.regex.match_with_param(self.text, at, options, Some(&mut self.region), match_param(retries));
            match result {
                Err(error) if error.code() == LIMIT_EXCEEDED && retries < MAX_STEPS => {
                    retries = retries.saturating_mul(STEP_FACTOR).min(MAX_STEPS);
                    self.bounds.charge_steps(u64::from(retries)).map_err(|spent| spent.error(self.pattern, at))?;
                }
                Err(error) => return Err(search_error(self.pattern, &error, at)),
                Ok(result) => return Ok(result.is_some()),
            }
        }
    }
}

fn match_param(retries: u32) -> MatchParam {
    let mut param = MatchParam::default();
    param.set_retry_limit_in_match(retries);
    param.set_match_stack_limit(STACK_LIMIT);
    param
}

/// The length of the character at a place; 1 at the end of the text.
fn char_len(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(1, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::threads::parallel::Stop;

    fn find_matches(pattern: &str, text: &str) -> Result<Vec<(usize, usize)>> {
        let (stop, mut all) = (Stop::default(), Vec::new());
        OnigSearch::new(pattern)?
            .for_each_match(text, &Bounds::new(text.len(), &stop), |start, end| all.push((start, end)))?;
        Ok(all)
    }

    #[test]
    fn windows_and_retries_change_no_match() {
        let words = format!("{}é 日本{}", "ab ".repeat(40_000), " ".repeat(2_000));
        for pattern in
            [r"\s+(?!\S)|\s+", r"日本|x$", r"\G\w+\s", r"(?:\w+ ?)+(?=é)", r"(?: )+x|b+", r"(?<= )a|\b|$", ""]
        {
            let regex = Regex::new(pattern).unwrap();
            let all: Vec<_> = regex.find_iter(&words).collect();
            let own = find_matches(pattern, &words).unwrap();
            let differ = all.iter().zip(&own).find(|(left, right)| left != right);
            assert!(
                differ.is_none() && all.len().abs_diff(own.len()) <= 1,
                "{pattern}: {differ:?} {} {}",
                all.len(),
                own.len()
            );
        }
    }

    #[test]
    fn deep_regexes_fit_the_stack_of_a_thread() {
        for depth in (5..14).map(|power| 1 << power) {
            let pattern = format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
            if let Ok(regex) = Regex::new(&pattern) {
                assert_eq!(regex.find("ba"), Some((1, 2)));
            }
        }
    }

    #[test]
    fn an_endless_search_is_ended() {
        let text = format!("b{}", "x".repeat(10_000));
        let found = find_matches("(?:x+x+)+y|x", &text).unwrap_err();
        assert!(matches!(found, Error::Pattern { offset: Some(1), .. }), "{found}");
    }
}
