//! Searches a text for a regex of either dialect, a text or kinds of characters, and cuts it at the matches.

use unicode_categories::UnicodeCategories;

use crate::error::{Error, Result};
use crate::regex::MatchSpan;
use crate::regex::RegexSearch;
use crate::regex::onig::published;
#[cfg(feature = "onig")]
use crate::regex::onig::search::OnigSearch;
use crate::switches::slow;
use crate::text::bounds::Bounds;

/// The target of a search.
#[derive(Debug)]
pub enum Finder {
    /// A Rust regex, whose empty matches do not count.
    Rust(Box<RegexSearch>),
    /// A regex that only Oniguruma can run.
    #[cfg(feature = "onig")]
    Onig(Box<OnigSearch>),
    /// A literal text; the empty text is between any two characters, and at both ends.
    Text(String),
    /// Single characters that satisfy a condition.
    Chars(fn(char) -> bool),
    /// One character.
    Char(char),
}

/// The handling of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Matches are left out.
    Removed,
    /// Each match is a piece.
    Isolated,
    /// Adjacent matches are one piece, and so is the text between two matches.
    Contiguous,
    /// A match belongs to the piece before it.
    MergedWithPrevious,
    /// A match belongs to the piece after it.
    MergedWithNext,
}

impl Behavior {
    /// The behaviour of this name.
    ///
    /// # Errors
    /// [`Error::Model`] for another name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "removed" => Self::Removed,
            "isolated" => Self::Isolated,
            "contiguous" => Self::Contiguous,
            "merged_with_previous" => Self::MergedWithPrevious,
            "merged_with_next" => Self::MergedWithNext,
            other => return Err(Error::model(format!("{other:?} is not a behavior of a splitter"), None)),
        })
    }
}

/// A search and the handling of its matches: one way to cut a text.
#[derive(Debug)]
pub struct CutRule {
    /// The target of the search.
    pub finder: Finder,
    /// The handling of the matches.
    pub behavior: Behavior,
    /// Whether the text between matches counts as matched instead.
    pub invert: bool,
}

impl Finder {
    /// The search for a regex of a dialect, or for a literal text (`"literal"`).
    ///
    /// # Errors
    /// [`Error::Option`] for a regex that does not compile, [`Error::Model`] for an unknown dialect.
    pub fn new(pattern: &str, dialect: &str) -> Result<Self> {
        match dialect {
            "rust" => Ok(Self::Rust(Box::new(RegexSearch::new(pattern)?))),
            "onig" => match published::in_rust(pattern) {
                Some(rust) if !slow() || cfg!(not(feature = "onig")) => {
                    Ok(Self::Rust(Box::new(RegexSearch::from_translation(rust, pattern)?)))
                }
                _ => Self::onig(pattern),
            },
            "literal" => Ok(Self::Text(pattern.to_owned())),
            other => Err(Error::model(format!("the dialect {other:?} of a regex is not executed yet"), None)),
        }
    }

    #[cfg(feature = "onig")]
    fn onig(pattern: &str) -> Result<Self> {
        Ok(Self::Onig(Box::new(OnigSearch::new(pattern)?)))
    }

    #[cfg(not(feature = "onig"))]
    fn onig(pattern: &str) -> Result<Self> {
        let allowed = "a regex of a published tokenizer, because this build has no Oniguruma; build toksmith-core with \
                       its feature `onig`";
        Err(Error::Option { argument: "pattern", value: pattern.to_owned(), allowed: allowed.to_owned() })
    }

    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        !matches!(self, Self::Text(_) | Self::Chars(_) | Self::Char(_))
    }

    /// The matches in `text` and the text between them, in order; nothing for an empty text.
    ///
    /// # Errors
    /// [`Error::Pattern`] if a regex engine gives up.
    pub fn find(&self, text: &str, bounds: &Bounds<'_>) -> Result<Vec<MatchSpan>> {
        let mut all = MatchCollector { all: Vec::new(), end: 0 };
        if text.is_empty() {
            return Ok(all.all);
        }
        match self {
            Self::Rust(search) => search.for_each_match(text, bounds, |start, end| {
                all.push(start, end);
                Ok(())
            })?,
            #[cfg(feature = "onig")]
            Self::Onig(search) => search.for_each_match(text, bounds, |start, end| all.push(start, end))?,
            Self::Text(sought) => {
                for (start, content) in text.match_indices(sought.as_str()) {
                    all.push(start, start + content.len());
                }
            }
            Self::Chars(is_sought) => all.chars(text, is_sought),
            Self::Char(sought) => all.chars(text, |char| char == *sought),
        }
        Ok(all.finish(text.len()))
    }
}

impl CutRule {
    /// Calls `each` with the start and end of every piece of `text` that is not empty, in order.
    ///
    /// # Errors
    /// As [`Finder::find`], and the errors of `each`.
    pub fn for_each_piece(
        &self,
        text: &str,
        bounds: &Bounds<'_>,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut spans = self.finder.find(text, bounds)?;
        if self.invert {
            for span in &mut spans {
                span.is_match = !span.is_match;
            }
        }
        merge_matches(&mut spans, self.behavior);
        for span in spans {
            if span.start < span.end && !(self.behavior == Behavior::Removed && span.is_match) {
                each(span.start, span.end)?;
            }
        }
        Ok(())
    }
}

fn merge_matches(spans: &mut Vec<MatchSpan>, behavior: Behavior) {
    if matches!(behavior, Behavior::Removed | Behavior::Isolated) {
        return;
    }
    if behavior == Behavior::MergedWithNext {
        spans.reverse();
    }
    let mut merged: Vec<MatchSpan> = Vec::with_capacity(spans.len());
    let mut before = false;
    for &next in &*spans {
        let joins = match behavior {
            Behavior::Contiguous => next.is_match == before,
            _ => next.is_match && !before,
        };
        match merged.last_mut() {
            Some(last) if joins && behavior == Behavior::MergedWithNext => last.start = next.start,
            Some(last) if joins => last.end = next.end,
            _ => merged.push(next),
        }
        before = next.is_match;
    }
    if behavior == Behavior::MergedWithNext {
        merged.reverse();
    }
    *spans = merged;
}

/// Collects matches, and the text between them.
struct MatchCollector {
    all: Vec<MatchSpan>,
    end: usize,
}

impl MatchCollector {
    fn push(&mut self, start: usize, end: usize) {
        self.push_gap(start);
        self.all.push(MatchSpan { start, end, is_match: true });
        self.end = end;
    }

    fn push_gap(&mut self, start: usize) {
        if self.end != start {
            self.all.push(MatchSpan { start: self.end, end: start, is_match: false });
        }
    }

    fn chars(&mut self, text: &str, is_sought: impl Fn(char) -> bool) {
        for (start, char) in text.char_indices().filter(|&(_, char)| is_sought(char)) {
            self.push(start, start + char.len_utf8());
        }
    }

    fn finish(mut self, len: usize) -> Vec<MatchSpan> {
        self.push_gap(len);
        self.all
    }
}

/// Whether the character is punctuation, including ASCII characters that Unicode calls symbols.
#[must_use]
pub fn is_punctuation(char: char) -> bool {
    char.is_ascii_punctuation() || UnicodeCategories::is_punctuation(char)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::parallel::Stop;

    fn cut_pieces(finder: Finder, behavior: Behavior, invert: bool, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let cut = CutRule { finder, behavior, invert };
        cut.for_each_piece(text, &Bounds::new(text.len(), &Stop::default()), |start, end| {
            pieces.push(text[start..end].to_owned());
            Ok(())
        })
        .unwrap();
        pieces
    }

    #[test]
    fn each_behavior_cuts_differently() {
        let cut = |behavior| cut_pieces(Finder::Char('-'), behavior, false, "the-final--countdown");
        assert_eq!(cut(Behavior::Removed), ["the", "final", "countdown"]);
        assert_eq!(cut(Behavior::Isolated), ["the", "-", "final", "-", "-", "countdown"]);
        assert_eq!(cut(Behavior::MergedWithPrevious), ["the-", "final-", "-", "countdown"]);
        assert_eq!(cut(Behavior::MergedWithNext), ["the", "-final", "-", "-countdown"]);
        assert_eq!(cut(Behavior::Contiguous), ["the", "-", "final", "--", "countdown"]);
        let inverted = cut_pieces(Finder::Char('-'), Behavior::Removed, true, "a-b--");
        assert_eq!(inverted, ["-", "-", "-"]);
    }

    #[test]
    fn dialects_differ() {
        let cut =
            |dialect| cut_pieces(Finder::new("[0-9]{1,3}+", dialect).unwrap(), Behavior::Isolated, false, "1234567");
        assert_eq!(cut("rust"), ["123", "456", "7"]);
        assert_eq!(cut("onig"), ["1234567"]);
        assert_eq!(cut("literal"), ["1234567"]);
        assert_eq!(cut_pieces(Finder::new("", "literal").unwrap(), Behavior::Isolated, false, "ab"), ["a", "b"]);
    }

    #[test]
    fn an_engine_that_gives_up_is_an_error() {
        let finder = Finder::new("(?:x+x+)+[yz]", "onig").unwrap();
        let (text, stop) = ("x".repeat(60), Stop::default());
        let found = finder.find(&text, &Bounds::new(text.len(), &stop));
        assert!(matches!(found, Err(Error::Pattern { offset: Some(0), .. })));
        assert!(matches!(Finder::new("(", "onig"), Err(Error::Option { .. })));
    }
}
