//! Splits text into pieces, losslessly: every byte of the text is in exactly one piece.
//!
//! The pieces are the matches of a regex that are not empty, and the stretches between them. Several regexes apply in
//! order: each splits every piece of the regex before it, as a separate text. Without a regex the text is one piece.
//! Bytes that belong to no well-formed UTF-8 character end the text before them, and each maximal run of them is a
//! piece.
//!
//! Reading order: this file, which is the rule; [`pattern`] is the table of known patterns, and [`scan`] splits by them
//! without a regex engine. [`special`] cuts out added tokens before a text is split, with [`prefixes`] for unfinished
//! texts. [`text_cuts`] finds places where a long text can be cut, [`text_source`] gives a text or its parts to
//! threads, [`spans`] records the range of each id in a text, and [`runs`] the origin of each.
//!
//! Left out: the regex engines ([`crate::regex`]), and steps that rewrite a text ([`crate::steps`]).

pub mod pattern;
pub mod prefixes;
pub mod runs;
pub mod scan;
pub mod spans;
pub mod special;
pub mod text_cuts;
pub mod text_source;

use crate::error::Result;
use crate::regex::RegexSearch;
use crate::regex::onig::published;
use crate::split::pattern::{Pattern, find_pattern};
use crate::split::scan::{Ends, Scanner};
use crate::steps::{self, Spec, Value};
use crate::switches::slow;
use crate::text::bounds::Bounds;
use crate::text::utf8::text_of;

/// A text, known to be UTF-8 or not.
#[derive(Debug, Clone, Copy)]
pub enum Text<'t> {
    /// UTF-8.
    Str(&'t str),
    /// Any bytes.
    Bytes(&'t [u8]),
}

impl<'t> Text<'t> {
    /// The bytes of the text.
    #[must_use]
    pub fn as_bytes(self) -> &'t [u8] {
        match self {
            Self::Str(text) => text.as_bytes(),
            Self::Bytes(text) => text,
        }
    }

    /// The part of the text from `start` to `end`, both between characters.
    #[must_use]
    pub fn part(self, start: usize, end: usize) -> Self {
        match self {
            Self::Str(text) => Self::Str(&text[start..end]),
            Self::Bytes(text) => Self::Bytes(&text[start..end]),
        }
    }
}

impl<'t> From<&'t str> for Text<'t> {
    fn from(text: &'t str) -> Self {
        Self::Str(text)
    }
}

/// The compiled regexes of a tokenizer, or the scanners that have their matches.
#[derive(Debug)]
pub struct Splitter {
    steps: Vec<Step>,
    /// The row of the pattern table that the steps are.
    row: Option<&'static Pattern>,
}

#[derive(Debug)]
enum Step {
    Scan(Scanner),
    Match(Box<RegexSearch>),
    Other(steps::LocatedStep<steps::SplitStep>),
}

impl Splitter {
    /// Compiles these regexes, which apply in order. A regex of the pattern table runs as its scanner, unless
    /// `TOKSMITH_SLOW=1` is set.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for a regex that does not compile, with the engine's reason.
    pub fn new(patterns: &[impl AsRef<str>]) -> Result<Self> {
        if slow() {
            return Self::without_scanners(patterns);
        }
        let step = |pattern: &str| scanner(pattern).map_or_else(|| compile(pattern), |scanner| Ok(Step::Scan(scanner)));
        let steps = patterns.iter().map(|pattern| step(pattern.as_ref())).collect::<Result<_>>()?;
        Ok(Self { steps, row: find_pattern(patterns) })
    }

    /// Compiles these steps, which apply in order; [`Self::only_cuts`] must hold for the splitter.
    ///
    /// # Errors
    /// As [`Self::new`] and [`steps::splitters()`].
    pub fn from_steps(specs: &[Spec]) -> Result<Self> {
        let (mut steps, mut patterns) = (Vec::new(), Vec::new());
        for spec in specs {
            match (plain_regex(spec, "rust"), onig_scanner(spec)) {
                (Some(pattern), _) => {
                    steps.extend(Self::new(&[pattern])?.steps);
                    patterns.push(pattern);
                }
                (None, Some(scanner)) => steps.push(Step::Scan(scanner)),
                (None, None) => {
                    steps.extend(steps::splitters(std::slice::from_ref(spec))?.into_iter().map(Step::Other));
                }
            }
        }
        let row = find_pattern(&patterns).filter(|_| patterns.len() == specs.len());
        Ok(Self { steps, row })
    }

    /// Whether every byte of a text is in a piece unchanged.
    #[must_use]
    pub fn only_cuts(&self) -> bool {
        self.steps.iter().all(|step| if let Step::Other(step) = step { step.only_cuts() } else { true })
    }

    /// Compiles these regexes without scanners.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_scanners(patterns: &[impl AsRef<str>]) -> Result<Self> {
        let steps = patterns.iter().map(|pattern| compile(pattern.as_ref())).collect::<Result<_>>()?;
        Ok(Self { steps, row: find_pattern(patterns) })
    }

    /// Whether texts stay whole.
    #[must_use]
    pub fn keeps_whole(&self) -> bool {
        self.steps.is_empty()
    }

    /// The row of the pattern table with these regexes.
    #[must_use]
    pub fn row(&self) -> Option<&'static Pattern> {
        self.row
    }

    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Scan(_) => false,
            Step::Match(_) => true,
            Step::Other(step) => step.uses_regex(),
        })
    }

    /// Calls `each` with every piece of `text`, in order.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if the engine gives up, and the errors of `each`.
    pub fn split<'t>(
        &self,
        text: Text<'t>,
        bounds: &Bounds<'_>,
        mut each: impl FnMut(&'t [u8]) -> Result<()>,
    ) -> Result<()> {
        let (bytes, mut start) = (text.as_bytes(), 0);
        self.split_ends(text, bounds, &mut Ends::default(), |ends| {
            ends.iter().try_for_each(|&end| each(&bytes[std::mem::replace(&mut start, end)..end]))
        })
    }

    /// Calls `each` with the ends of the pieces of `text`, in order, some hundreds at a time: each piece starts at the
    /// end of the one before. `ends` is a buffer.
    ///
    /// # Errors
    /// As [`Self::split`].
    pub fn split_ends(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        ends: &mut Ends,
        mut each: impl FnMut(&[usize]) -> Result<()>,
    ) -> Result<()> {
        ends.clear();
        let well_formed = match text {
            Text::Str(text) => Some(text),
            Text::Bytes(text) => text_of(text).ok(),
        };
        if let (Some(text), &[Step::Scan(scanner)]) = (well_formed, self.steps.as_slice()) {
            return scan_ends(scanner, text, ends, each);
        }
        let mut end = 0;
        let mut collect = |piece: &[u8]| {
            end += piece.len();
            ends.push(end);
            if ends.is_full() { each(ends.take()) } else { Ok(()) }
        };
        match well_formed {
            Some("") => {}
            Some(text) => apply_steps(&self.steps, text, bounds, &mut collect)?,
            None => self.apply_to_parts(text.as_bytes(), bounds, &mut collect)?,
        }
        each(ends.take())
    }

    fn apply_to_parts<'t>(
        &self,
        text: &'t [u8],
        bounds: &Bounds<'_>,
        each: &mut impl FnMut(&'t [u8]) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        for (part, is_text) in utf8_parts(text) {
            match text_of(part) {
                Ok(valid) if is_text => {
                    apply_steps(&self.steps, valid, bounds, each).map_err(|error| error.with_search_start(at))?;
                }
                _ => each(part)?,
            }
            at += part.len();
        }
        Ok(())
    }
}

fn scan_ends(
    scanner: Scanner,
    text: &str,
    ends: &mut Ends,
    mut each: impl FnMut(&[usize]) -> Result<()>,
) -> Result<()> {
    let mut at = 0;
    while at < text.len() {
        scanner.fill(text, at, ends);
        let piece_ends = ends.take();
        at = piece_ends.last().copied().unwrap_or(text.len());
        each(piece_ends)?;
    }
    Ok(())
}

/// The regex of a step in a dialect whose matches are pieces.
fn plain_regex<'s>(spec: &'s Spec, dialect: &str) -> Option<&'s str> {
    let text = |name: &str, text: &str| (name.to_owned(), Value::Text(text.to_owned()));
    let usual = [text("behavior", "isolated"), text("dialect", dialect), ("invert".to_owned(), Value::Flag(false))];
    let pattern = spec.options.iter().find_map(|(name, value)| match value {
        Value::Text(pattern) if name == "pattern" => Some(pattern.as_str()),
        _ => None,
    })?;
    let is_usual = spec.options.len() == 4 && usual.iter().all(|option| spec.options.contains(option));
    (spec.kind == "regex" && is_usual).then_some(pattern)
}

/// The scanner of a step with a regex of Oniguruma that is a row of the pattern table.
fn onig_scanner(spec: &Spec) -> Option<Scanner> {
    if slow() { None } else { scanner(published::in_rust(plain_regex(spec, "onig")?)?) }
}

fn scanner(pattern: &str) -> Option<Scanner> {
    find_pattern(&[pattern])?.scanner
}

fn compile(pattern: &str) -> Result<Step> {
    Ok(Step::Match(Box::new(RegexSearch::new(pattern)?)))
}

/// Splits `text` by `steps`; the last of them calls `each`.
fn apply_steps<'t>(
    steps: &[Step],
    text: &'t str,
    bounds: &Bounds<'_>,
    each: &mut impl FnMut(&'t [u8]) -> Result<()>,
) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else { return each(text.as_bytes()) };
    let mut start = 0;
    let mut piece = |from: usize, to: usize| {
        apply_steps(rest, &text[from..to], bounds, each).map_err(|error| error.with_search_start(from))
    };
    match step {
        &Step::Scan(scanner) => scan_ends(scanner, text, &mut Ends::default(), |ends| {
            ends.iter().try_for_each(|&end| piece(std::mem::replace(&mut start, end), end))
        }),
        Step::Other(step) => step.cut(text, bounds, piece),
        Step::Match(search) => {
            search.for_each_match(text, bounds, |from, to| {
                if start < from {
                    piece(start, from)?;
                }
                start = to;
                piece(from, to)
            })?;
            if start < text.len() { piece(start, text.len()) } else { Ok(()) }
        }
    }
}

/// The maximal runs of well-formed UTF-8 (true) and of other bytes (false), in order.
pub fn utf8_parts(text: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let valid = rest.utf8_chunks().next()?.valid().len();
        let (len, is_text) = if valid > 0 {
            (valid, true)
        } else {
            let chunks = rest.utf8_chunks().enumerate();
            let run = chunks.take_while(|(place, chunk)| *place == 0 || chunk.valid().is_empty());
            (run.map(|(_, chunk)| chunk.invalid().len()).sum(), false)
        };
        let (part, after) = rest.split_at(len);
        rest = after;
        Some((part, is_text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::split_text;
    use crate::error::Error;

    fn split_losslessly(patterns: &[&str], text: &[u8]) -> Vec<Vec<u8>> {
        let pieces = split_text(&Splitter::new(patterns).unwrap(), Text::Bytes(text));
        assert_eq!(pieces.concat(), text);
        pieces
    }

    #[test]
    fn text_between_matches_is_kept() {
        assert_eq!(split_losslessly(&["b+"], b"abbc"), [&b"a"[..], b"bb", b"c"]);
        assert_eq!(split_losslessly(&[], b"abbc"), [b"abbc"]);
        assert_eq!(split_losslessly(&["x*"], b"ab"), [b"ab"]);
        assert!(split_losslessly(&["x"], b"").is_empty());
    }

    #[test]
    fn each_regex_splits_the_pieces_of_the_regex_before() {
        assert_eq!(split_losslessly(&[r"\d", r"a(?!.)"], b"ba1a"), [&b"b"[..], b"a", b"1", b"a"]);
    }

    #[test]
    fn runs_of_invalid_bytes_are_pieces() {
        assert_eq!(
            split_losslessly(&[r"\w+"], b"a\xE2\x98b\xFF\xFE\xF0"),
            [&b"a"[..], b"\xE2\x98", b"b", b"\xFF\xFE\xF0"]
        );
        assert_eq!(split_losslessly(&[], b"a\xFFb"), [&b"a"[..], b"\xFF", b"b"]);
    }

    #[test]
    #[cfg(feature = "fast")]
    fn a_row_of_the_table_runs_as_its_scanner_in_either_dialect() {
        use crate::split::pattern::PATTERNS;

        let of = |pattern: &str, dialect: &str, behavior: &str| {
            let options = [("pattern", pattern), ("dialect", dialect), ("behavior", behavior)];
            let mut options = options.map(|(name, value)| (name.to_owned(), Value::Text(value.to_owned()))).to_vec();
            options.push(("invert".to_owned(), Value::Flag(false)));
            Splitter::from_steps(&[Spec { kind: "regex".to_owned(), options }]).unwrap().steps.remove(0)
        };
        for row in PATTERNS.iter().filter(|row| row.name != "cl100k") {
            assert!(matches!(of(row.regexes[0], "rust", "isolated"), Step::Scan(_)), "{}", row.name);
            assert!(matches!(of(row.regexes[0], "onig", "isolated"), Step::Scan(_)), "{}", row.name);
            assert!(matches!(of(row.regexes[0], "onig", "contiguous"), Step::Other(_)), "{}", row.name);
        }
        // There, `{1,3}+` takes any number of digits.
        let cl100k = PATTERNS.iter().find(|row| row.name == "cl100k").unwrap().regexes[0];
        assert!(matches!(of(cl100k, "onig", "isolated"), Step::Other(_)));
    }

    #[test]
    fn a_bad_regex_is_refused() {
        assert!(matches!(Splitter::new(&["("]), Err(Error::Option { argument: "pattern", .. })));
    }
}
