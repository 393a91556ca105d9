//! The table of normalizers, which rewrite a text before tokens are searched in it: one row for each kind.

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
use super::located::LocatedStep;
use super::options::{StepOptions, StepRow};
use crate::error::Result;
use crate::regex::MatchSpan;
use crate::steps::charsmap::Charsmap;
use crate::text::bounds::Bounds;

/// Calls its second argument with each character that replaces a character.
pub type PerChar = fn(char, &mut dyn FnMut(char));

/// One normalizer.
#[derive(Debug)]
pub enum NormalizeStep {
    /// One of Unicode's forms.
    Form(Form),
    /// Replaces the matches by a text.
    Replace(Finder, String),
    /// Inserts a text before one that is not empty.
    Prepend(String),
    /// Removes white space on the left and on the right.
    Strip(bool, bool),
    /// Removes characters or replaces them by others, one by one.
    Chars(PerChar),
    /// Rewrites the text by a table compiled by `SentencePiece`, with HF's rule.
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

/// Every kind, by name.
pub const ROWS: &[StepRow<NormalizeStep>] = &[
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
    ("strip_accents", |_| Ok(vec![NormalizeStep::Chars(drop_marks)])),
];

impl NormalizeStep {
    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        matches!(self, Self::Replace(finder, _) if finder.uses_regex())
    }
}

impl LocatedStep<NormalizeStep> {
    /// Applies the step.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] if a regex engine gives up, and [`crate::Error::TooLong`].
    pub fn apply(&self, line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
        bounds.stop().check()?;
        let before = line.text().len();
        // A step that can make a short text long checks the bounds first.
        let resize = |after: usize| bounds.resize(before, after, || self.name());
        match &**self {
            NormalizeStep::Form(form) => {
                if let Some(changes) = form.changes(line.text(), before + bounds.room()) {
                    resize(changes.iter().map(|(char, _)| char.len_utf8()).sum())?;
                    line.transform(changes.into_iter(), bounds)?;
                }
            }
            NormalizeStep::Replace(finder, content) => {
                let spans = finder.find(line.text(), bounds)?;
                resize(replaced_len(&spans, content))?;
                line.replace(&spans, content);
            }
            NormalizeStep::Prepend(content) if before > 0 => {
                resize(before + content.len())?;
                line.prepend(content);
            }
            NormalizeStep::Prepend(_) => {}
            NormalizeStep::Strip(left, right) => {
                let text = line.text();
                let rest = if *left { text.trim_start() } else { text };
                let start = text.len() - rest.len();
                let rest = if *right { rest.trim_end() } else { rest };
                resize(rest.len())?;
                line.cut(start..start + rest.len());
            }
            NormalizeStep::Chars(each) => {
                line.map_chars(*each, bounds)?;
                resize(line.text().len())?;
            }
            NormalizeStep::Precompiled(map) => {
                let changes = precompiled_changes(line.text(), map, before + bounds.room());
                resize(changes.iter().map(|(char, _)| char.len_utf8()).sum())?;
                line.transform(changes.into_iter(), bounds)?;
            }
        }
        Ok(())
    }
}

/// The length of a text after `content` replaces the matches.
pub(super) fn replaced_len(spans: &[MatchSpan], content: &str) -> usize {
    let matches = spans.iter().filter(|span| span.is_match).count();
    let unmatched: usize = spans.iter().filter(|span| !span.is_match).map(|span| span.end - span.start).sum();
    matches.saturating_mul(content.len()).saturating_add(unmatched)
}

impl Form {
    /// The changes that give a text this form, or the first of them that exceed `most` bytes; None if it has the form.
    fn changes(self, text: &str, most: usize) -> Option<Vec<(char, isize)>> {
        if text.is_ascii() || self.is_normalized(text) == IsNormalized::Yes {
            return None;
        }
        Some(match self {
            Self::Nfc => take_changes(most, text.nfc()),
            Self::Nfd => take_changes(most, text.nfd()),
            Self::Nfkc => take_changes(most, text.nfkc()),
            Self::Nfkd => take_changes(most, text.nfkd()),
        })
    }

    fn is_normalized(self, text: &str) -> IsNormalized {
        match self {
            Self::Nfc => is_nfc_quick(text.chars()),
            Self::Nfd => is_nfd_quick(text.chars()),
            Self::Nfkc => is_nfkc_quick(text.chars()),
            Self::Nfkd => is_nfkd_quick(text.chars()),
        }
    }
}

/// The first changes, until they exceed `most` bytes.
fn take_changes(most: usize, changes: impl Iterator<Item = (char, isize)>) -> Vec<(char, isize)> {
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
    let blob = blob.map_err(|error| options.error(&format!("has a charsmap that is not base 64: {error}")))?;
    Ok(vec![NormalizeStep::Precompiled(Box::new(Charsmap::new(&blob)?))])
}

fn bert(options: &mut StepOptions<'_>) -> Result<Vec<NormalizeStep>> {
    let lowers = options.flag("lowercase")?;
    let strips = options.flag_or_nothing("strip_accents")?.unwrap_or(lowers);
    let mut steps = Vec::new();
    if options.flag("clean_text")? {
        steps.push(NormalizeStep::Chars(clean));
    }
    if options.flag("handle_chinese_chars")? {
        steps.push(NormalizeStep::Chars(space_chinese));
    }
    if strips {
        steps.push(NormalizeStep::Form(Form::Nfd));
        steps.push(NormalizeStep::Chars(drop_nonspacing));
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

/// Inserts spaces around the characters that BERT calls Chinese.
fn space_chinese(char: char, emit: &mut dyn FnMut(char)) {
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

fn drop_nonspacing(char: char, emit: &mut dyn FnMut(char)) {
    if !char.is_mark_nonspacing() {
        emit(char);
    }
}

fn drop_marks(char: char, emit: &mut dyn FnMut(char)) {
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

/// HF's rule for a compiled table: it looks up a whole grapheme cluster if it is short, and otherwise each character.
/// The replacement of the shortest key that the cluster starts with replaces the whole cluster.
///
/// Returns the changes, or the first of them that exceed `most` bytes.
fn precompiled_changes(text: &str, map: &Charsmap, most: usize) -> Vec<(char, isize)> {
    let mut changes = Vec::with_capacity(text.len());
    let mut len = 0;
    for cluster in text.graphemes(true) {
        if cluster.len() < 6
            && let Some(new) = map.shortest(cluster.as_bytes())
        {
            len += new.len();
            push_change(&mut changes, cluster, &String::from_utf8_lossy(new));
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
                    push_change(&mut changes, part, &String::from_utf8_lossy(new));
                }
                None => changes.extend(part.chars().map(|char| (char, 0))),
            }
        }
    }
    changes
}

/// Appends the changes that replace `old` by `new`.
fn push_change(changes: &mut Vec<(char, isize)>, old: &str, new: &str) {
    let (count, before) = (new.chars().count(), old.chars().count());
    changes.extend(new.chars().map(|char| (char, 0)));
    if count > before {
        changes.iter_mut().rev().take(count - before).for_each(|(_, change)| *change = 1);
    } else if let Some((_, change)) = changes.last_mut() {
        *change -= (before - count).cast_signed();
    }
}
