//! A text that steps rewrite, with the origin of each byte.
//!
//! Origins are tracked only on request, because they cost more than the text. The origin of a byte is the span that it
//! was made from, in bytes of the source. An added character has the span of the character before it.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::regex::MatchSpan;
use crate::text::bounds::Bounds;

/// The bytes rewritten between two checks of the stop flag.
const BYTES_PER_LOOK: usize = 1 << 16;

/// The origin of a byte: the start and the end of the span that it was made from.
pub type Origin = (usize, usize);

/// A text with optional origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'t> {
    text: Cow<'t, str>,
    origins: Option<Vec<Origin>>,
}

impl<'t> Line<'t> {
    /// A text before all steps, without origins.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self { text: Cow::Borrowed(text), origins: None }
    }

    /// A text before all steps that starts at `start` of its source, with origins.
    #[must_use]
    pub fn with_origins(text: &'t str, start: usize) -> Self {
        let mut origins = Vec::with_capacity(text.len());
        for (at, char) in text.char_indices() {
            let span = (start + at, start + at + char.len_utf8());
            origins.extend(std::iter::repeat_n(span, char.len_utf8()));
        }
        Self { text: Cow::Borrowed(text), origins: Some(origins) }
    }

    /// A text that starts at `start` of its source, with U+FFFD for each byte that is not UTF-8, which is its origin.
    #[must_use]
    pub fn with_replacements(bytes: &[u8], start: usize, tracked: bool) -> Self {
        let mut text = String::with_capacity(bytes.len() + 16);
        let (mut origins, mut at) = (Vec::new(), start);
        for chunk in bytes.utf8_chunks() {
            let replaced = chunk.invalid().iter().map(|_| (char::REPLACEMENT_CHARACTER, 1));
            for (char, width) in chunk.valid().chars().map(|char| (char, char.len_utf8())).chain(replaced) {
                text.push(char);
                if tracked {
                    origins.extend(std::iter::repeat_n((at, at + width), char.len_utf8()));
                }
                at += width;
            }
        }
        Self { text: Cow::Owned(text), origins: tracked.then_some(origins) }
    }

    /// The current text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The origin of each byte, if tracked.
    #[must_use]
    pub fn origins(&self) -> Option<&[Origin]> {
        self.origins.as_deref()
    }

    /// The current text, and the origins of its bytes.
    #[must_use]
    pub fn into_parts(self) -> (Cow<'t, str>, Option<Vec<Origin>>) {
        (self.text, self.origins)
    }

    /// An empty line whose characters get the origins of this one, if it tracks any.
    pub(super) fn successor(&self) -> Successor<'_> {
        let room = self.text.len() + self.text.len() / 8;
        let origins = self.origins.as_deref().map(|old| (old, Vec::with_capacity(room)));
        Successor { text: String::with_capacity(room), origins }
    }

    /// A part of the text, with its origins.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Line<'_> {
        let origins = self.origins.as_ref().map(|origins| origins[range.clone()].to_vec());
        Line { text: Cow::Borrowed(&self.text[range]), origins }
    }

    pub(super) fn become_successor(&mut self, (text, origins): (String, Option<Vec<Origin>>)) {
        self.text = Cow::Owned(text);
        self.origins = origins;
    }

    /// Replaces each character by the characters that `each` emits, which get its origin.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn map_chars(&mut self, each: impl Fn(char, &mut dyn FnMut(char)), bounds: &Bounds<'_>) -> Result<()> {
        let mut new = self.successor();
        let mut next_look = 0;
        for (at, char) in self.text.char_indices() {
            if at >= next_look {
                next_look = at + BYTES_PER_LOOK;
                bounds.stop().check()?;
            }
            each(char, &mut |char| new.push(char, at));
        }
        let parts = new.finish();
        self.become_successor(parts);
        Ok(())
    }

    /// Replaces the text by the characters of `changes`. Each comes with -n if it replaces 1 + n of the old ones, or
    /// with 1 if it is added.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn transform(&mut self, changes: impl Iterator<Item = (char, isize)>, bounds: &Bounds<'_>) -> Result<()> {
        let mut new = self.successor();
        let (mut old, mut at) = (self.text.chars(), 0);
        let mut next_look = 0;
        for (char, change) in changes {
            if at >= next_look {
                next_look = at + BYTES_PER_LOOK;
                bounds.stop().check()?;
            }
            if change > 0 {
                new.push_after(char, at);
                continue;
            }
            new.push(char, at);
            for _ in change..=0 {
                at += old.next().map_or(0, char::len_utf8);
            }
        }
        let parts = new.finish();
        self.become_successor(parts);
        Ok(())
    }

    /// Replaces the matches by `content`.
    pub fn replace(&mut self, spans: &[MatchSpan], content: &str) {
        if spans.iter().all(|span| !span.is_match) {
            return;
        }
        let mut new = self.successor();
        for span in spans {
            if span.is_match {
                content.chars().for_each(|char| new.push_after(char, span.end));
            } else {
                new.push_old(&self.text, span.start..span.end);
            }
        }
        let parts = new.finish();
        self.become_successor(parts);
    }

    /// Inserts `content` before a text that is not empty.
    pub fn prepend(&mut self, content: &str) {
        if self.text.is_empty() {
            return;
        }
        let mut new = self.successor();
        content.chars().for_each(|char| new.push(char, 0));
        new.push_old(&self.text, 0..self.text.len());
        let parts = new.finish();
        self.become_successor(parts);
    }

    /// Keeps only this part of the text.
    pub fn cut(&mut self, range: Range<usize>) {
        if range.len() == self.text.len() {
            return;
        }
        if let Some(origins) = &mut self.origins {
            *origins = origins[range.clone()].to_vec();
        }
        self.text = match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
            Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
        };
    }
}

/// A line being made from another one.
pub(super) struct Successor<'o> {
    text: String,
    origins: Option<(&'o [Origin], Vec<Origin>)>,
}

impl Successor<'_> {
    /// Appends a character with the origin of the old byte at `at`.
    pub fn push(&mut self, char: char, at: usize) {
        self.text.push(char);
        if let Some((old, new)) = &mut self.origins {
            let origin = old.get(at).or(old.last()).copied().unwrap_or_default();
            new.extend(std::iter::repeat_n(origin, char.len_utf8()));
        }
    }

    /// Appends a character with the origin of the old byte before `at`.
    fn push_after(&mut self, char: char, at: usize) {
        if at > 0 {
            return self.push(char, at - 1);
        }
        self.text.push(char);
        if let Some((old, new)) = &mut self.origins {
            let begin = old.first().map_or(0, |origin| origin.0);
            new.extend(std::iter::repeat_n((begin, begin), char.len_utf8()));
        }
    }

    /// Appends a part of the old text.
    pub fn push_old(&mut self, text: &str, range: Range<usize>) {
        self.text.push_str(&text[range.clone()]);
        if let Some((old, new)) = &mut self.origins {
            new.extend_from_slice(&old[range]);
        }
    }

    /// The length of the new text so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn finish(self) -> (String, Option<Vec<Origin>>) {
        (self.text, self.origins.map(|(_, new)| new))
    }
}

/// A text written directly from its source, with the origin of each byte if tracked.
#[derive(Debug)]
pub struct Draft {
    /// The text so far.
    pub text: Vec<u8>,
    /// The spelling of a space, if origins are tracked.
    space: &'static [u8],
    origins: Option<Vec<Origin>>,
    /// The place reached in the source, if origins are tracked.
    at: usize,
}

impl Draft {
    /// An empty text without origins, with room for `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { text: Vec::with_capacity(room), space: b" ", origins: None, at: 0 }
    }

    /// An empty text with origins, whose source begins at `start`, and in which a space is spelled `space`.
    #[must_use]
    pub fn with_origins(start: usize, space: &'static [u8]) -> Self {
        Self { text: Vec::new(), space, origins: Some(Vec::new()), at: start }
    }

    /// The origin of each byte, if tracked.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        self.origins.as_deref().unwrap_or_default()
    }

    /// Appends the replacement of the next `source` bytes. If the length stays the same, each byte comes from one byte.
    #[inline]
    pub fn take(&mut self, source: usize, replacement: &[u8]) {
        if self.origins.is_some() {
            self.take_tracked(source, replacement);
        } else {
            self.text.extend_from_slice(replacement);
        }
    }

    #[inline(never)]
    fn take_tracked(&mut self, source: usize, replacement: &[u8]) {
        let (before, from) = (self.text.len(), self.at);
        for byte in replacement {
            self.text.extend_from_slice(if *byte == b' ' { self.space } else { std::slice::from_ref(byte) });
        }
        self.at += source;
        let (written, origins) = (self.text.len() - before, self.origins.get_or_insert_default());
        if written == source {
            origins.extend((from..self.at).map(|at| (at, at + 1)));
        } else {
            origins.extend(std::iter::repeat_n((from, self.at), written));
        }
    }

    /// Keeps only the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        if let Some(origins) = &mut self.origins {
            origins.truncate(len);
        }
    }
}

/// Moves an error of a text with these origins to its place in their source.
#[must_use]
pub fn place_error(error: Error, origins: Option<&[Origin]>) -> Error {
    let Some(origins) = origins else { return error };
    let place = |offset: usize| origins.get(offset).or(origins.last()).map_or(offset, |origin| origin.0);
    match error {
        Error::NotInVocabulary { content, offset } => Error::NotInVocabulary { content, offset: place(offset) },
        Error::Pattern { pattern, problem, offset } => Error::Pattern { pattern, problem, offset: offset.map(place) },
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::parallel::Stop;

    #[test]
    fn origins_follow_their_characters() {
        let mut line = Line::with_origins("aé b", 10);
        let stop = Stop::default();
        let each = |char: char, emit: &mut dyn FnMut(char)| {
            if char == 'é' { "e\u{301}".chars().for_each(emit) } else { emit(char) }
        };
        line.map_chars(each, &Bounds::new(5, &stop)).unwrap();
        line.prepend("▁");
        assert_eq!(line.text(), "▁ae\u{301} b");
        let a = (10, 11);
        let e = (11, 13);
        assert_eq!(line.origins().unwrap(), [a, a, a, a, e, e, e, (13, 14), (14, 15)]);
        line.cut(4..7);
        assert_eq!((line.text(), line.origins().unwrap()), ("e\u{301}", &[e, e, e][..]));
    }

    #[test]
    fn invalid_bytes_keep_their_places() {
        let line = Line::with_replacements(b"\xC3\xA9\xE2\x98o", 10, true);
        assert_eq!(line.text(), "é\u{FFFD}\u{FFFD}o");
        let (e, first, second, o) = ((10, 12), (12, 13), (13, 14), (14, 15));
        assert_eq!(line.origins().unwrap(), [e, e, first, first, first, second, second, second, o]);
        assert_eq!(Line::with_replacements(b"\xFFo", 10, false), Line { text: "\u{FFFD}o".into(), origins: None });
    }

    #[test]
    fn a_replacement_has_the_origin_of_the_end_of_its_match() {
        let mut line = Line::with_origins("ab", 0);
        let found = |start, end, is_match| MatchSpan { start, end, is_match };
        line.replace(&[found(0, 0, true), found(0, 2, true)], "x");
        assert_eq!((line.text(), line.origins().unwrap()), ("xx", &[(0, 0), (1, 2)][..]));
        let stop = Stop::default();
        line.transform([('y', -1), ('z', 1)].into_iter(), &Bounds::new(2, &stop)).unwrap();
        assert_eq!((line.text(), line.origins().unwrap()), ("yz", &[(0, 0), (1, 2)][..]));
    }
}
