//! Text to pieces, losslessly: every byte of the text is in exactly one piece.
//!
//! The pieces are the matches of a regex that are not empty, and the stretches between them. Several regexes apply in order, each to every
//! piece of the one before as a text of its own; none leaves the text whole. Bytes that belong to no well-formed UTF-8
//! character end the text before them, and each maximal run of them is a piece.

use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Error, Result};
use crate::pattern::PATTERNS;
use crate::scan::{Ends, Scanner};
use crate::steps::{self, Spec, Value};

/// How often the engine may step back in one search before it gives up. The default of the engine is too low for long
/// runs of white space; a pattern that needs more than this would take minutes.
pub(crate) const BACKTRACK_LIMIT: usize = 100_000_000;

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

    /// The part of the text from `start` to `end`, which stand between characters.
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

impl<'t> From<&'t [u8]> for Text<'t> {
    fn from(text: &'t [u8]) -> Self {
        Self::Bytes(text)
    }
}

/// The regexes of a tokenizer, compiled, or the scanners that have their matches.
#[derive(Debug)]
pub struct Splitter {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Scan(Scanner),
    Match(Box<Regex>),
    Other(steps::Splitter),
}

impl Splitter {
    /// The splitter of these regexes, applied in order. A regex of the pattern table runs as its scanner, unless
    /// `TOKSMITH_SLOW=1` is set.
    ///
    /// # Errors
    /// [`Error::Option`] for a regex that does not compile, with the engine's reason.
    pub fn new(patterns: &[impl AsRef<str>]) -> Result<Self> {
        if slow() {
            return Self::without_scanners(patterns);
        }
        let step = |pattern: &str| scanner(pattern).map_or_else(|| compile(pattern), |scanner| Ok(Step::Scan(scanner)));
        let steps = patterns.iter().map(|pattern| step(pattern.as_ref())).collect::<Result<_>>()?;
        Ok(Self { steps })
    }

    /// The splitter of these steps, applied in order; [`Self::only_cuts`] must hold of it.
    ///
    /// # Errors
    /// Those of [`Self::new`] and of [`steps::splitters()`].
    pub fn of_steps(specs: &[Spec]) -> Result<Self> {
        let mut steps = Vec::new();
        for spec in specs {
            match plain_regex(spec) {
                Some(pattern) => steps.extend(Self::new(&[pattern])?.steps),
                None => steps.extend(steps::splitters(std::slice::from_ref(spec))?.into_iter().map(Step::Other)),
            }
        }
        Ok(Self { steps })
    }

    /// Whether every byte of a text is in a piece, as it is.
    #[must_use]
    pub fn only_cuts(&self) -> bool {
        self.steps.iter().all(|step| if let Step::Other(step) = step { step.only_cuts() } else { true })
    }

    /// The same splitter with the regex engine only.
    ///
    /// # Errors
    /// Those of [`Self::new`].
    pub fn without_scanners(patterns: &[impl AsRef<str>]) -> Result<Self> {
        let steps = patterns.iter().map(|pattern| compile(pattern.as_ref())).collect::<Result<_>>()?;
        Ok(Self { steps })
    }

    /// Whether it leaves texts whole.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Calls `each` with every piece of `text`, in order.
    ///
    /// # Errors
    /// [`Error::Pattern`] when the engine gives up, and whatever `each` returns.
    pub fn split<'t>(&self, text: impl Into<Text<'t>>, mut each: impl FnMut(&'t [u8]) -> Result<()>) -> Result<()> {
        let text = text.into();
        let (bytes, mut start) = (text.as_bytes(), 0);
        self.ends(text, &mut Ends::default(), |ends| {
            ends.iter().try_for_each(|&end| each(&bytes[std::mem::replace(&mut start, end)..end]))
        })
    }

    /// Calls `each` with the ends of the pieces of `text`, in order, some hundreds at a time: each piece starts where the
    /// one before it ends. `ends` is the buffer for them.
    ///
    /// # Errors
    /// Those of [`Self::split`].
    pub fn ends(&self, text: Text<'_>, ends: &mut Ends, mut each: impl FnMut(&[usize]) -> Result<()>) -> Result<()> {
        ends.clear();
        let well_formed = match text {
            Text::Str(text) => Some(text),
            Text::Bytes(text) => std::str::from_utf8(text).ok(),
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
            Some(text) => apply(&self.steps, text, &mut collect)?,
            None => self.apply_to_parts(text.as_bytes(), &mut collect)?,
        }
        each(ends.take())
    }

    fn apply_to_parts<'t>(&self, text: &'t [u8], each: &mut impl FnMut(&'t [u8]) -> Result<()>) -> Result<()> {
        for (part, is_text) in utf8_parts(text) {
            match std::str::from_utf8(part) {
                Ok(valid) if is_text => apply(&self.steps, valid, each)?,
                _ => each(part)?,
            }
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
        let found = ends.take();
        at = found.last().copied().unwrap_or(text.len());
        each(found)?;
    }
    Ok(())
}

/// Whether `TOKSMITH_SLOW=1` asks for the slow twin of everything that has one.
#[must_use]
pub fn slow() -> bool {
    std::env::var_os("TOKSMITH_SLOW").is_some_and(|slow| slow == "1")
}

/// The regex of a step whose matches are pieces.
fn plain_regex(spec: &Spec) -> Option<&str> {
    let text = |name: &str, text: &str| (name.to_owned(), Value::Text(text.to_owned()));
    let usual = [text("behavior", "isolated"), text("dialect", "rust"), ("invert".to_owned(), Value::Flag(false))];
    let pattern = spec.options.iter().find_map(|(name, value)| match value {
        Value::Text(pattern) if name == "pattern" => Some(pattern.as_str()),
        _ => None,
    })?;
    let is_usual = spec.options.len() == 4 && usual.iter().all(|option| spec.options.contains(option));
    (spec.kind == "regex" && is_usual).then_some(pattern)
}

fn scanner(pattern: &str) -> Option<Scanner> {
    PATTERNS.iter().find(|row| row.regexes == [pattern]).and_then(|row| row.scanner)
}

fn compile(pattern: &str) -> Result<Step> {
    let mut builder = RegexBuilder::new(pattern);
    let regex = builder.backtrack_limit(BACKTRACK_LIMIT).find_not_empty(true).build();
    regex.map(|regex| Step::Match(Box::new(regex))).map_err(|error| Error::Option {
        argument: "pattern",
        value: pattern.to_owned(),
        allowed: format!("a regex in the Rust dialect ({error})"),
    })
}

/// The pieces of `text` under `steps`; the last of them hands over to `each`.
fn apply<'t>(steps: &[Step], text: &'t str, each: &mut impl FnMut(&'t [u8]) -> Result<()>) -> Result<()> {
    match steps.split_first() {
        None => each(text.as_bytes()),
        Some((&Step::Scan(scanner), rest)) => {
            let mut start = 0;
            scan_ends(scanner, text, &mut Ends::default(), |ends| {
                ends.iter().try_for_each(|&end| apply(rest, &text[std::mem::replace(&mut start, end)..end], each))
            })
        }
        Some((Step::Match(regex), rest)) => matches(regex, text, |piece| apply(rest, piece, each)),
        Some((Step::Other(step), rest)) => step.cut(text, |start, end| apply(rest, &text[start..end], each)),
    }
}

/// The matches of `regex` that are not empty and the stretches between them.
fn matches<'t>(regex: &Regex, text: &'t str, mut each: impl FnMut(&'t str) -> Result<()>) -> Result<()> {
    let mut end = 0;
    for found in regex.find_iter(text) {
        let found =
            found.map_err(|error| Error::Pattern { pattern: regex.as_str().to_owned(), problem: error.to_string() })?;
        if end < found.start() {
            each(&text[end..found.start()])?;
        }
        each(found.as_str())?;
        end = found.end();
    }
    if end < text.len() { each(&text[end..]) } else { Ok(()) }
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

    fn pieces(patterns: &[&str], text: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        let splitter = Splitter::new(patterns).unwrap();
        splitter
            .split(text, |piece| {
                pieces.push(piece.to_vec());
                Ok(())
            })
            .unwrap();
        assert_eq!(pieces.concat(), text);
        pieces
    }

    #[test]
    fn text_between_matches_is_kept() {
        assert_eq!(pieces(&["b+"], b"abbc"), [&b"a"[..], b"bb", b"c"]);
        assert_eq!(pieces(&[], b"abbc"), [b"abbc"]);
        assert_eq!(pieces(&["x*"], b"ab"), [b"ab"]);
        assert!(pieces(&["x"], b"").is_empty());
    }

    #[test]
    fn regexes_apply_to_the_pieces_of_the_one_before() {
        assert_eq!(pieces(&[r"\d", r"a(?!.)"], b"ba1a"), [&b"b"[..], b"a", b"1", b"a"]);
    }

    #[test]
    fn runs_of_bytes_that_are_no_text_are_pieces() {
        assert_eq!(pieces(&[r"\w+"], b"a\xE2\x98b\xFF\xFE\xF0"), [&b"a"[..], b"\xE2\x98", b"b", b"\xFF\xFE\xF0"]);
        assert_eq!(pieces(&[], b"a\xFFb"), [&b"a"[..], b"\xFF", b"b"]);
    }

    #[test]
    fn a_bad_regex_is_refused() {
        assert!(matches!(Splitter::new(&["("]), Err(Error::Option { argument: "pattern", .. })));
    }
}
