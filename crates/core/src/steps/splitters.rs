//! The table of splitters, which cut a text into pieces: one row for each kind, of one or several steps.
//!
//! Most only cut. Splitters that rewrite the text or leave a part out work on a copy of it: see [`Pieces`].

use super::bytes::byte_characters;
use super::find::{Behavior, CutRule, Finder, is_punctuation};
use super::line::{Line, Origin};
use super::located::LocatedStep;
use super::options::{StepOptions, StepRow};
use super::scripts::script_starts;
use crate::error::Result;
use crate::text::bounds::Bounds;

/// One splitter.
#[derive(Debug)]
pub enum SplitStep {
    /// Cuts at the matches.
    Cut(CutRule),
    /// Cuts after this many characters.
    Length(usize),
    /// Cuts at changes of script, and leaves out characters of any script before the first change.
    Scripts,
    /// Inserts a space before each piece that does not start with one.
    PrefixSpace,
    /// Writes each byte as a character.
    ByteCharacters,
    /// Replaces spaces by another character, and inserts one before pieces that do not start with it.
    Metaspace(char, Prepend),
}

/// The pieces that get a character before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepend {
    /// All.
    Always,
    /// Those at the start of the text.
    First,
    /// None.
    Never,
}

/// Every kind, by name.
pub const ROWS: &[StepRow<SplitStep>] = &[
    ("bert", |_| Ok(vec![chars(char::is_whitespace, Behavior::Removed), chars(is_punctuation, Behavior::Isolated)])),
    ("byte_characters", |_| Ok(vec![SplitStep::ByteCharacters])),
    ("delimiter", |options| Ok(vec![cut(Finder::Char(options.char("delimiter")?), Behavior::Removed)])),
    ("digits", |options| {
        let alone = options.flag("individual")?;
        Ok(vec![chars(char::is_numeric, if alone { Behavior::Isolated } else { Behavior::Contiguous })])
    }),
    ("fixed_length", length),
    ("literal", |options| regex_step(options, "literal")),
    ("metaspace", metaspace),
    ("prefix_space", |_| Ok(vec![SplitStep::PrefixSpace])),
    ("punctuation", |options| Ok(vec![chars(is_punctuation, Behavior::from_name(options.text("behavior")?)?)])),
    ("regex", |options| {
        let dialect = options.text("dialect")?;
        regex_step(options, dialect)
    }),
    ("unicode_scripts", |_| Ok(vec![SplitStep::Scripts])),
    ("whitespace", |_| {
        let finder = Finder::new(r"\w+|[^\w\s]+", "rust")?;
        Ok(vec![SplitStep::Cut(CutRule { finder, behavior: Behavior::Removed, invert: true })])
    }),
    ("whitespace_split", |_| Ok(vec![chars(char::is_whitespace, Behavior::Removed)])),
];

fn cut(finder: Finder, behavior: Behavior) -> SplitStep {
    SplitStep::Cut(CutRule { finder, behavior, invert: false })
}

fn chars(is_sought: fn(char) -> bool, behavior: Behavior) -> SplitStep {
    cut(Finder::Chars(is_sought), behavior)
}

fn regex_step(options: &mut StepOptions<'_>, dialect: &str) -> Result<Vec<SplitStep>> {
    let finder = Finder::new(options.text("pattern")?, dialect)?;
    let (behavior, invert) = (Behavior::from_name(options.text("behavior")?)?, options.flag("invert")?);
    Ok(vec![SplitStep::Cut(CutRule { finder, behavior, invert })])
}

fn length(options: &mut StepOptions<'_>) -> Result<Vec<SplitStep>> {
    match options.count("length")? {
        0 => Err(options.error("needs a length of at least 1")),
        length => Ok(vec![SplitStep::Length(length)]),
    }
}

fn metaspace(options: &mut StepOptions<'_>) -> Result<Vec<SplitStep>> {
    let replacement = options.char("replacement")?;
    let prepend = match options.text("prepend")? {
        "always" => Prepend::Always,
        "first" => Prepend::First,
        "never" => Prepend::Never,
        _ => return Err(options.error("needs 'always', 'first' or 'never' as the option \"prepend\"")),
    };
    let mut steps = vec![SplitStep::Metaspace(replacement, prepend)];
    if options.flag("split")? {
        steps.push(cut(Finder::Char(replacement), Behavior::MergedWithNext));
    }
    Ok(steps)
}

impl SplitStep {
    /// Whether every byte of a text is in a piece unchanged.
    #[must_use]
    pub fn only_cuts(&self) -> bool {
        match self {
            Self::Cut(cut) => cut.behavior != Behavior::Removed,
            Self::Length(_) => true,
            Self::Scripts | Self::PrefixSpace | Self::ByteCharacters | Self::Metaspace(..) => false,
        }
    }

    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.finder.uses_regex())
    }

    /// Calls `each` with the start and end of every piece of `text`, in order; for a splitter that cuts.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if a regex engine gives up, and the errors of `each`.
    pub fn cut(&self, text: &str, bounds: &Bounds<'_>, mut each: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let mut start = 0;
        let mut until = |end: usize| if start < end { each(std::mem::replace(&mut start, end), end) } else { Ok(()) };
        match self {
            Self::Cut(cut) => return cut.for_each_piece(text, bounds, each),
            Self::Length(length) => {
                for (end, _) in text.char_indices().step_by(*length) {
                    until(end)?;
                }
            }
            Self::Scripts => {
                let starts = script_starts(text);
                let ends = starts.iter().skip(1).copied().chain([text.len()]);
                return starts.iter().zip(ends).try_for_each(|(&start, end)| each(start, end));
            }
            Self::PrefixSpace | Self::ByteCharacters | Self::Metaspace(..) => {}
        }
        until(text.len())
    }
}

/// The pieces of a text; text between them is left out.
#[derive(Debug)]
pub struct Pieces<'t> {
    line: Line<'t>,
    spans: Vec<(usize, usize)>,
}

/// Pieces one after another in one text: their ends, and the origin of each byte if tracked.
#[derive(Debug, PartialEq, Eq)]
pub struct Joined {
    /// The pieces.
    pub text: String,
    /// The end of each piece.
    pub ends: Vec<usize>,
    /// The origin of each byte.
    pub origins: Option<Vec<Origin>>,
}

impl<'t> Pieces<'t> {
    /// A text in one piece.
    #[must_use]
    pub fn new(line: Line<'t>) -> Self {
        let spans = vec![(0, line.text().len())];
        Self { line, spans }
    }

    /// Applies a splitter to every piece.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if a regex engine gives up, and [`crate::Error::TooLong`].
    pub fn split(&mut self, placed: &LocatedStep<SplitStep>, bounds: &Bounds<'_>) -> Result<()> {
        bounds.stop().check()?;
        self.spans.retain(|(start, end)| start < end);
        let before = self.line.text().len();
        match &**placed {
            SplitStep::PrefixSpace => self.prepend(' ', |text, _| !text.starts_with(' ')),
            SplitStep::ByteCharacters => self.rewrite(byte_characters),
            SplitStep::Metaspace(replacement, prepend) => {
                let replacement = *replacement;
                self.rewrite(move |char, emit| emit(if char == ' ' { replacement } else { char }));
                self.prepend(replacement, |text, origin| {
                    let is_first = *prepend == Prepend::Always || (*prepend == Prepend::First && origin == 0);
                    is_first && !text.starts_with(replacement)
                });
            }
            splitter => {
                let mut spans = Vec::with_capacity(self.spans.len() * 2);
                for &(first, last) in &self.spans {
                    bounds.stop().check()?;
                    let cut = splitter.cut(&self.line.text()[first..last], bounds, |start, end| {
                        spans.push((first + start, first + end));
                        Ok(())
                    });
                    cut.map_err(|error| error.with_search_start(first))?;
                }
                self.spans = spans;
            }
        }
        bounds.resize(before, self.line.text().len(), || placed.name())
    }

    /// Replaces each character by the characters that `each` emits.
    fn rewrite(&mut self, each: impl Fn(char, &mut dyn FnMut(char))) {
        let mut new = self.line.successor();
        let mut spans = Vec::with_capacity(self.spans.len());
        for &(first, last) in &self.spans {
            let start = new.len();
            for (at, char) in self.line.text()[first..last].char_indices() {
                each(char, &mut |char| new.push(char, first + at));
            }
            spans.push((start, new.len()));
        }
        let parts = new.finish();
        self.line.become_successor(parts);
        self.spans = spans;
    }

    /// Inserts a character before each piece for which `is_due` is true, given the piece's text and its first origin.
    fn prepend(&mut self, char: char, is_due: impl Fn(&str, usize) -> bool) {
        let mut new = self.line.successor();
        let mut spans = Vec::with_capacity(self.spans.len());
        for &(first, last) in &self.spans {
            let start = new.len();
            let text = self.line.text();
            let origin = self.line.origins().map_or(0, |origins| origins[first].0);
            if is_due(&text[first..last], origin) {
                new.push(char, first);
            }
            new.push_old(text, first..last);
            spans.push((start, new.len()));
        }
        let parts = new.finish();
        self.line.become_successor(parts);
        self.spans = spans;
    }

    /// The pieces, one after another.
    #[must_use]
    pub fn join(mut self) -> Joined {
        self.spans.retain(|(start, end)| start < end);
        let mut new = self.line.successor();
        let mut ends = Vec::with_capacity(self.spans.len());
        for &(start, end) in &self.spans {
            new.push_old(self.line.text(), start..end);
            ends.push(new.len());
        }
        let (text, origins) = new.finish();
        Joined { text, ends, origins }
    }
}
