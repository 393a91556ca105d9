//! The table of normalizers: what is done to a text before anything is searched in it. One row for each kind.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use unicode_categories::UnicodeCategories;
use unicode_normalization_alignments::char::is_combining_mark;
use unicode_normalization_alignments::{
    IsNormalized, UnicodeNormalization, is_nfc_quick, is_nfd_quick, is_nfkc_quick, is_nfkd_quick,
};
use unicode_segmentation::UnicodeSegmentation;

use super::bytes::byte_characters;
use super::find::Finder;
use super::line::Line;
use super::options::StepOptions;
use super::placed::Placed;
use crate::error::Result;
use crate::regex::Found;
use crate::steps::charsmap::Charsmap;
use crate::text::bounds::Bounds;

/// What a character becomes: calls its second argument with each.
pub type PerChar = fn(char, &mut dyn FnMut(char));

/// One normalizer.
#[derive(Debug)]
pub enum NormalizeStep {
    /// One of Unicode's forms.
    Form(Form),
    /// Replaces what is found by a text.
    Replace(Finder, String),
    /// Puts a text before one that is not empty.
    Prepend(String),
    /// Removes white space on the left and on the right.
    Strip(bool, bool),
    /// Removes characters or replaces them by others, each on its own.
    Chars(PerChar),
    /// Rewrites the text by a table that `SentencePiece` compiled, as HF does it.
    Precompiled(Box<Charsmap>),
}

/// Unicode's normalization forms.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

/// A row of the table: the name of a kind, and what makes its steps.
pub type NormalizerRow = (&'static str, fn(&mut StepOptions<'_>) -> Result<Vec<NormalizeStep>>);

/// Every kind, by name.
pub const ROWS: &[NormalizerRow] = &[
    ("bert", bert),
    ("byte_characters", |_| Ok(vec![NormalizeStep::Chars(byte_characters)])),
    ("lowercase", |_| Ok(vec![NormalizeStep::Chars(lowercase)])),
    ("nfc", |_| Ok(vec![NormalizeStep::Form(Form::Nfc)])),
    ("nfd", |_| Ok(vec![NormalizeStep::Form(Form::Nfd)])),
    ("nfkc", |_| Ok(vec![NormalizeStep::Form(Form::Nfkc)])),
    ("nfkd", |_| Ok(vec![NormalizeStep::Form(Form::Nfkd)])),
    ("nmt", |_| Ok(vec![NormalizeStep::Chars(nmt)])),
    ("precompiled", precompiled),
    ("prepend", |options| Ok(vec![NormalizeStep::Prepend(options.text("prepend")?.to_owned())])),
    ("replace", replace),
    ("strip", |options| Ok(vec![NormalizeStep::Strip(options.flag("left")?, options.flag("right")?)])),
    ("strip_accents", |_| Ok(vec![NormalizeStep::Chars(without_marks)])),
];

impl NormalizeStep {
    /// Whether it searches with a regex, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn searches(&self) -> bool {
        matches!(self, Self::Replace(finder, _) if finder.searches())
    }
}

impl Placed<NormalizeStep> {
    /// Takes the step.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] when a regex engine gives up, and [`crate::Error::TooLong`].
    pub fn apply(&self, line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
        bounds.stop().check()?;
        let before = line.text().len();
        // A step that may make a short text long asks for room first.
        let resize = |after: usize| bounds.resize(before, after, || self.name());
        match &**self {
            NormalizeStep::Form(form) => {
                if let Some(changes) = form.changes(line.text(), before + bounds.room()) {
                    resize(changes.iter().map(|(char, _)| char.len_utf8()).sum())?;
                    line.transform(changes.into_iter(), bounds)?;
                }
            }
            NormalizeStep::Replace(finder, content) => {
                let found = finder.find(line.text(), bounds)?;
                resize(replaced_len(&found, content))?;
                line.replace(&found, content);
            }
            NormalizeStep::Prepend(content) if before > 0 => {
                resize(before + content.len())?;
                line.prepend(content);
            }
            NormalizeStep::Prepend(_) => {}
            NormalizeStep::Strip(left, right) => {
                let text = line.text();
                let kept = if *left { text.trim_start() } else { text };
                let start = text.len() - kept.len();
                let kept = if *right { kept.trim_end() } else { kept };
                resize(kept.len())?;
                line.cut(start..start + kept.len());
            }
            NormalizeStep::Chars(each) => {
                line.map_chars(*each, bounds)?;
                resize(line.text().len())?;
            }
            NormalizeStep::Precompiled(map) => {
                let changes = rewritten(line.text(), map, before + bounds.room());
                resize(changes.iter().map(|(char, _)| char.len_utf8()).sum())?;
                line.transform(changes.into_iter(), bounds)?;
            }
        }
        Ok(())
    }
}

/// How long a text is in which `content` replaces what was found.
pub(super) fn replaced_len(found: &[Found], content: &str) -> usize {
    let matches = found.iter().filter(|found| found.is_match).count();
    let kept: usize = found.iter().filter(|found| !found.is_match).map(|found| found.end - found.start).sum();
    matches.saturating_mul(content.len()).saturating_add(kept)
}

impl Form {
    /// The changes that give a text this form, or the first of them that make more than `most` bytes; None where it has the
    /// form.
    fn changes(self, text: &str, most: usize) -> Option<Vec<(char, isize)>> {
        if text.is_ascii() || self.quick(text) == IsNormalized::Yes {
            return None;
        }
        Some(match self {
            Self::Nfc => up_to(most, text.nfc()),
            Self::Nfd => up_to(most, text.nfd()),
            Self::Nfkc => up_to(most, text.nfkc()),
            Self::Nfkd => up_to(most, text.nfkd()),
        })
    }

    fn quick(self, text: &str) -> IsNormalized {
        match self {
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        }
    }
}

/// The first changes, until they make more than `most` bytes.
fn up_to(most: usize, changes: impl Iterator<Item = (char, isize)>) -> Vec<(char, isize)> {
    let mut len = 0;
    let fits = |change: &(char, isize)| {
        let had_room = len <= most;
        len += change.0.len_utf8();
        had_room
    };
    changes.take_while(fits).collect()
}

fn replace(options: &mut StepOptions<'_>) -> Result<Vec<NormalizeStep>> {
    let finder = Finder::new(options.text("pattern")?, options.text("dialect")?)?;
    Ok(vec![NormalizeStep::Replace(finder, options.text("content")?.to_owned())])
}

fn precompiled(options: &mut StepOptions<'_>) -> Result<Vec<NormalizeStep>> {
    let blob = BASE64_STANDARD.decode(options.text("charsmap")?);
    let blob = blob.map_err(|error| options.wrong(&format!("has a charsmap that is not base 64: {error}")))?;
    Ok(vec![NormalizeStep::Precompiled(Box::new(Charsmap::new(&blob)?))])
}

/// BERT's normalizer, as several steps.
fn bert(options: &mut StepOptions<'_>) -> Result<Vec<NormalizeStep>> {
    let lowers = options.flag("lowercase")?;
    let strips = options.flag_or_nothing("strip_accents")?.unwrap_or(lowers);
    let mut steps = Vec::new();
    if options.flag("clean_text")? {
        steps.push(NormalizeStep::Chars(clean));
    }
    if options.flag("handle_chinese_chars")? {
        steps.push(NormalizeStep::Chars(spaced));
    }
    if strips {
        steps.push(NormalizeStep::Form(Form::Nfd));
        steps.push(NormalizeStep::Chars(without_nonspacing));
    }
    if lowers {
        steps.push(NormalizeStep::Chars(lowercase));
    }
    Ok(steps)
}

fn clean(char: char, emit: &mut dyn FnMut(char)) {
    match char {
        '\t' | '\n' | '\r' => emit(' '),
        '\0' | '\u{FFFD}' => {}
        char if UnicodeCategories::is_other(char) => {}
        char => emit(if char.is_whitespace() { ' ' } else { char }),
    }
}

/// Puts spaces around the characters that BERT calls Chinese.
fn spaced(char: char, emit: &mut dyn FnMut(char)) {
    let chinese = matches!(
        u32::from(char),
        0x4E00..=0x9FFF
            | 0x3400..=0x4DBF
            | 0x2_0000..=0x2_A6DF
            | 0x2_A700..=0x2_B73F
            | 0x2_B740..=0x2_B81F
            | 0x2_B920..=0x2_CEAF
            | 0xF900..=0xFAFF
            | 0x2_F800..=0x2_FA1F
    );
    if chinese {
        emit(' ');
    }
    emit(char);
    if chinese {
        emit(' ');
    }
}

fn lowercase(char: char, emit: &mut dyn FnMut(char)) {
    char.to_lowercase().for_each(emit);
}

fn without_nonspacing(char: char, emit: &mut dyn FnMut(char)) {
    if !char.is_mark_nonspacing() {
        emit(char);
    }
}

fn without_marks(char: char, emit: &mut dyn FnMut(char)) {
    if !is_combining_mark(char) {
        emit(char);
    }
}

fn nmt(char: char, emit: &mut dyn FnMut(char)) {
    match u32::from(char) {
        1..=8 | 0x0B | 0x0E..=0x1F | 0x7F | 0x8F | 0x9F => {}
        9 | 0x0A | 0x0C | 0x0D | 0x1680 | 0x200B..=0x200F | 0x2028 | 0x2029 | 0x2581 | 0xFEFF | 0xFFFD => emit(' '),
        _ => emit(char),
    }
}

/// What HF does with a compiled table. It looks up a whole grapheme cluster if it is short, and otherwise each character.
/// It finds the shortest key that the cluster starts with, and what that key becomes replaces the whole cluster.
///
/// These are the changes that do it, or the first of them that make more than `most` bytes.
fn rewritten(text: &str, map: &Charsmap, most: usize) -> Vec<(char, isize)> {
    let mut changes = Vec::with_capacity(text.len());
    let mut len = 0;
    for cluster in text.graphemes(true) {
        if cluster.len() < 6
            && let Some(new) = map.shortest(cluster.as_bytes())
        {
            len += new.len();
            change(&mut changes, cluster, &String::from_utf8_lossy(new));
            if len > most {
                break;
            }
            continue;
        }
        for part in cluster.split_inclusive(|_: char| true) {
            if len > most {
                return changes;
            }
            match map.shortest(part.as_bytes()) {
                Some(new) => {
                    len += new.len();
                    change(&mut changes, part, &String::from_utf8_lossy(new));
                }
                None => changes.extend(part.chars().map(|char| (char, 0))),
            }
        }
    }
    changes
}

/// Appends the changes that make `new` of `old`.
fn change(changes: &mut Vec<(char, isize)>, old: &str, new: &str) {
    let (count, before) = (new.chars().count(), old.chars().count());
    changes.extend(new.chars().map(|char| (char, 0)));
    if count > before {
        changes.iter_mut().rev().take(count - before).for_each(|(_, change)| *change = 1);
    } else if let Some((_, change)) = changes.last_mut() {
        *change -= (before - count).cast_signed();
    }
}
