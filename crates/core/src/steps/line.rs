//! A text that steps rewrite, and where each byte of it comes from.
//!
//! Origins are kept only if somebody asks for them, because they cost more than the text. The origin of a byte is the span
//! of what it was made from, in bytes of the source. An added character has the span of the character before it.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::regex::Found;
use crate::text::bounds::Bounds;

/// How many bytes are rewritten between two looks at the stop flag.
const BYTES_PER_LOOK: usize = 1 << 16;

/// Where a byte comes from: the start and the end of what it was made from.
pub type Origin = (usize, usize);

/// See the module.
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
    pub fn tracked(text: &'t str, start: usize) -> Self {
        let mut origins = Vec::with_capacity(text.len());
        for (at, char) in text.char_indices() {
            let span = (start + at, start + at + char.len_utf8());
            origins.extend(std::iter::repeat_n(span, char.len_utf8()));
        }
        Self { text: Cow::Borrowed(text), origins: Some(origins) }
    }

    /// A text that starts at `start` of its source, with U+FFFD for each byte that is not UTF-8. That byte is its origin.
    #[must_use]
    pub fn replaced(bytes: &[u8], start: usize, tracked: bool) -> Self {
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

    /// The text as it is now.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The origin of each byte, where they are kept.
    #[must_use]
    pub fn origins(&self) -> Option<&[Origin]> {
        self.origins.as_deref()
    }

    /// The text as it is now, and the origins of its bytes.
    #[must_use]
    pub fn into_parts(self) -> (Cow<'t, str>, Option<Vec<Origin>>) {
        (self.text, self.origins)
    }

    /// A new line with the origins of this one, if it has any.
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

    /// Replaces each character by those that `each` emits, which have its origin.
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

    /// Makes the text that `changes` spell. Each character comes with -n if it replaces 1 + n of the old ones, or with 1 if it
    /// is added.
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

    /// Replaces the finds by `content`.
    pub fn replace(&mut self, found: &[Found], content: &str) {
        if found.iter().all(|found| !found.is_match) {
            return;
        }
        let mut new = self.successor();
        for found in found {
            if found.is_match {
                content.chars().for_each(|char| new.push_after(char, found.end));
            } else {
                new.keep(&self.text, found.start..found.end);
            }
        }
        let parts = new.finish();
        self.become_successor(parts);
    }

    /// Puts `content` before a text that is not empty.
    pub fn prepend(&mut self, content: &str) {
        if self.text.is_empty() {
            return;
        }
        let mut new = self.successor();
        content.chars().for_each(|char| new.push(char, 0));
        new.keep(&self.text, 0..self.text.len());
        let parts = new.finish();
        self.become_successor(parts);
    }

    /// Leaves only this part of the text.
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

/// A line that is being made from another one.
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
    pub fn keep(&mut self, text: &str, range: Range<usize>) {
        self.text.push_str(&text[range.clone()]);
        if let Some((old, new)) = &mut self.origins {
            new.extend_from_slice(&old[range]);
        }
    }

    /// How long the new text is by now.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    pub fn finish(self) -> (String, Option<Vec<Origin>>) {
        (self.text, self.origins.map(|(_, new)| new))
    }
}

/// A text that is written straight from its source, with the origin of each byte where they are kept.
#[derive(Debug)]
pub struct Draft {
    /// What was written.
    pub text: Vec<u8>,
    /// How a space is written, where origins are kept.
    space: &'static [u8],
    origins: Option<Vec<Origin>>,
    /// How much of the source was taken, where origins are kept.
    at: usize,
}

impl Draft {
    /// An empty text without origins, with room for `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { text: Vec::with_capacity(room), space: b" ", origins: None, at: 0 }
    }

    /// An empty text with origins, whose source begins at `start`, and in which a space is written as `space`.
    #[must_use]
    pub fn tracked(start: usize, space: &'static [u8]) -> Self {
        Self { text: Vec::new(), space, origins: Some(Vec::new()), at: start }
    }

    /// The origin of each byte, where they are kept.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        self.origins.as_deref().unwrap_or_default()
    }

    /// Appends what the next `source` bytes become. If their number stays the same, each byte comes from one byte.
    #[inline]
    pub fn take(&mut self, source: usize, shown: &[u8]) {
        if self.origins.is_some() {
            self.take_tracked(source, shown);
        } else {
            self.text.extend_from_slice(shown);
        }
    }

    #[inline(never)]
    fn take_tracked(&mut self, source: usize, shown: &[u8]) {
        let (before, from) = (self.text.len(), self.at);
        for byte in shown {
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

    /// Removes all but the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        if let Some(origins) = &mut self.origins {
            origins.truncate(len);
        }
    }
}

/// The error of a text with these origins, with its place in their source.
#[must_use]
pub fn placed_by(error: Error, origins: Option<&[Origin]>) -> Error {
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
        let mut line = Line::tracked("aé b", 10);
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
    fn bytes_that_are_no_text_keep_their_places() {
        let line = Line::replaced(b"\xC3\xA9\xE2\x98o", 10, true);
        assert_eq!(line.text(), "é\u{FFFD}\u{FFFD}o");
        let (e, first, second, o) = ((10, 12), (12, 13), (13, 14), (14, 15));
        assert_eq!(line.origins().unwrap(), [e, e, first, first, first, second, second, second, o]);
        assert_eq!(Line::replaced(b"\xFFo", 10, false), Line { text: "\u{FFFD}o".into(), origins: None });
    }

    #[test]
    fn what_is_replaced_comes_from_the_end_of_what_was_found() {
        let mut line = Line::tracked("ab", 0);
        let found = |start, end, is_match| Found { start, end, is_match };
        line.replace(&[found(0, 0, true), found(0, 2, true)], "x");
        assert_eq!((line.text(), line.origins().unwrap()), ("xx", &[(0, 0), (1, 2)][..]));
        let stop = Stop::default();
        line.transform([('y', -1), ('z', 1)].into_iter(), &Bounds::new(2, &stop)).unwrap();
        assert_eq!((line.text(), line.origins().unwrap()), ("yz", &[(0, 0), (1, 2)][..]));
    }
}
