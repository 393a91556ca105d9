//! Normalizes a text as `SentencePiece` does: rewrites characters, tidies white space and makes it visible.
//!
//! [`Normalizer::apply`] returns the normalized text with one exception. If spaces are to be escaped, it still holds
//! the space, which from here on means `▁` (U+2581). So a text that only needs escaping is not copied.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, Anchored, Input};

use crate::error::Result;
use crate::split::Text;
use crate::steps::charsmap::Charsmap;
use crate::steps::line::Draft;
use crate::text::bounds::Bounds;

/// The escaped form of a space in a token.
pub const SPACE_MARK: &[u8] = "▁".as_bytes();

/// The place where normalizing adds one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedSpace {
    /// Nowhere.
    Nowhere,
    /// Before the text.
    Before,
    /// After it.
    After,
}

impl AddedSpace {
    /// The place by its name in a model.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "nowhere" => Self::Nowhere,
            "before" => Self::Before,
            "after" => Self::After,
            _ => return None,
        })
    }
}

/// The options of `SentencePiece`'s normalizer.
#[derive(Debug)]
pub struct Normalizer {
    /// The replacements of characters; None keeps them.
    pub charsmap: Option<Charsmap>,
    /// The place of the added space.
    pub dummy: AddedSpace,
    /// Whether spaces at both ends are removed, and all but one of several in a row.
    pub remove_extra: bool,
    /// Whether a space is written `▁`.
    pub escape: bool,
}

/// A normalized text with spaces not escaped yet.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalizedText<'t> {
    /// The text.
    pub text: Cow<'t, [u8]>,
    /// Whether one more space precedes it.
    pub prefix: bool,
}

/// The text in the form that is merged. If spaces are escaped, a space, which is shorter, replaces each `▁`.
#[must_use]
pub fn write_form(text: &[u8], escape: bool) -> Cow<'_, [u8]> {
    if !escape || !text.contains(&SPACE_MARK[0]) {
        return Cow::Borrowed(text);
    }
    let mut written = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let (byte, after) = rest.strip_prefix(SPACE_MARK).map_or((*byte, after), |after| (b' ', after));
        written.push(byte);
        rest = after;
    }
    Cow::Owned(written)
}

impl Normalizer {
    /// Normalizes a text, except for the matches of `protected`.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`].
    pub fn apply<'t>(
        &self,
        text: Text<'t>,
        protected: Option<&AhoCorasick>,
        bounds: &Bounds<'_>,
    ) -> Result<NormalizedText<'t>> {
        let is_text = matches!(text, Text::Str(_)) || std::str::from_utf8(text.as_bytes()).is_ok();
        let text = text.as_bytes();
        if self.keeps_bytes() && is_text {
            let prefix = self.dummy == AddedSpace::Before && !text.is_empty();
            return Ok(NormalizedText { text: Cow::Borrowed(text), prefix });
        }
        let mut out = Draft::new(text.len() + 8);
        self.rewrite(text, protected, bounds, &mut out)?;
        Ok(NormalizedText { text: Cow::Owned(out.text), prefix: false })
    }

    /// The normalized text with all its spaces escaped, if they are to be.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn normalize_whole(
        &self,
        text: Text<'_>,
        protected: Option<&AhoCorasick>,
        bounds: &Bounds<'_>,
    ) -> Result<Vec<u8>> {
        let normal = self.apply(text, protected, bounds)?;
        let space = if self.escape { SPACE_MARK } else { b" " };
        let mut whole = if normal.prefix { space.to_vec() } else { Vec::new() };
        for (place, part) in normal.text.split(|&byte| byte == b' ').enumerate() {
            whole.extend_from_slice(if place > 0 { space } else { b"" });
            whole.extend_from_slice(part);
        }
        Ok(whole)
    }

    /// Whether UTF-8 texts stay unchanged, apart from a space before them.
    #[must_use]
    pub fn keeps_bytes(&self) -> bool {
        self.charsmap.is_none() && !self.remove_extra && self.dummy != AddedSpace::After
    }

    /// Appends the normalized text to `out`.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(crate) fn rewrite(
        &self,
        text: &[u8],
        protected: Option<&AhoCorasick>,
        bounds: &Bounds<'_>,
        out: &mut Draft,
    ) -> Result<()> {
        let keeps =
            |byte: u8| byte.is_ascii() && byte != b' ' && self.charsmap.as_ref().is_none_or(|map| map.keeps(byte));
        // The number of bytes that stay unchanged: each is plain, and so is the next.
        let plain = |text: &[u8]| {
            let kept = text.iter().take_while(|&&byte| keeps(byte)).count();
            kept - usize::from(kept > 0 && text.get(kept).is_some_and(|byte| !byte.is_ascii()))
        };
        let mut rest = text;
        if self.remove_extra {
            while let (len @ 1.., b" ") = self.next_rewrite(rest, protected) {
                out.take(len, b"");
                rest = &rest[len..];
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if self.dummy == AddedSpace::Before {
            out.take(0, b" ");
        }
        let mut after_space = self.remove_extra;
        while !rest.is_empty() {
            let kept = if protected.is_none() { plain(rest) } else { 0 };
            if kept > 0 {
                out.take(kept, &rest[..kept]);
                (rest, after_space) = (&rest[kept..], false);
                continue;
            }
            let (len, mut replacement) = self.next_rewrite(rest, protected);
            while after_space && let [b' ', others @ ..] = replacement {
                replacement = others;
            }
            if let Some(&last) = replacement.last() {
                after_space = self.remove_extra && last == b' ';
            }
            if replacement.len() != len {
                bounds.resize(len, replacement.len(), || "normalizers[0] (sentencepiece)".to_owned())?;
            }
            out.take(len, replacement);
            rest = &rest[len..];
        }
        self.finish(out);
        Ok(())
    }

    /// Tidies the end of a text.
    fn finish(&self, out: &mut Draft) {
        let block = |out: &[u8]| if self.escape && out.ends_with(SPACE_MARK) { SPACE_MARK.len() } else { 0 };
        let space = |out: &[u8]| if out.ends_with(b" ") { 1 } else { block(out) };
        if self.remove_extra {
            let mut left = &out.text[..];
            while let extra @ 1.. = space(left) {
                left = &left[..left.len() - extra];
            }
            let left = left.len();
            out.truncate(left);
        }
        if self.dummy == AddedSpace::After {
            out.take(0, b" ");
        }
    }

    /// The length of the first part to rewrite, and its replacement. Each byte that is not UTF-8 becomes U+FFFD.
    fn next_rewrite<'a>(&'a self, text: &'a [u8], protected: Option<&AhoCorasick>) -> (usize, &'a [u8]) {
        let found = protected.and_then(|finder| finder.find(Input::new(text).anchored(Anchored::Yes)));
        if let Some(found) = found {
            return (found.end(), &text[..found.end()]);
        }
        if let Some(found) = self.charsmap.as_ref().and_then(|map| map.longest(text)) {
            return found;
        }
        let start = &text[..text.len().min(4)];
        match start.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
            Some(char) => (char.len_utf8(), &text[..char.len_utf8()]),
            None => (text.len().min(1), "\u{FFFD}".as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::parallel::Stop;

    fn normalize_text(text: &[u8], dummy: AddedSpace, remove_extra: bool) -> String {
        let normalizer = Normalizer { charsmap: None, dummy, remove_extra, escape: true };
        let stop = Stop::default();
        let normal = normalizer.apply(Text::Bytes(text), None, &Bounds::new(text.len(), &stop)).unwrap();
        let prefix = if normal.prefix { " " } else { "" };
        format!("{prefix}{}", String::from_utf8_lossy(&normal.text))
    }

    #[test]
    fn spaces_are_added_and_removed() {
        assert_eq!(normalize_text(b" a  b ", AddedSpace::Before, false), "  a  b ");
        assert_eq!(normalize_text(b" a  b ", AddedSpace::Before, true), " a b");
        assert_eq!(normalize_text(b" a  b ", AddedSpace::After, true), "a b ");
        assert_eq!(normalize_text(b"  ", AddedSpace::Before, true), "");
        assert_eq!(normalize_text(b"", AddedSpace::After, false), "");
        assert_eq!(normalize_text("a▁ ▁".as_bytes(), AddedSpace::Nowhere, true), "a");
    }

    #[test]
    fn each_invalid_byte_is_replaced() {
        assert_eq!(normalize_text(b"a\xE2\x98b\xFF", AddedSpace::Nowhere, false), "a\u{FFFD}\u{FFFD}b\u{FFFD}");
    }
}
