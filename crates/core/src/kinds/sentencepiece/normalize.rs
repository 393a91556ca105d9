//! A text in the form in which a model merges it: characters rewritten, white space tidied and made visible.
//!
//! [`Normalizer::apply`] gives the normalized text with one exception. If spaces are to be escaped, it still holds the
//! space, which from here on means `▁` (U+2581). So a text that only needs escaping is not copied.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, Anchored, Input};

use crate::error::Result;
use crate::split::Text;
use crate::steps::charsmap::Charsmap;
use crate::steps::line::Draft;
use crate::text::bounds::Bounds;

/// How a space is written in a token.
pub const BLOCK: &[u8] = "▁".as_bytes();

/// Where normalizing adds one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dummy {
    /// Nowhere.
    Nowhere,
    /// Before the text.
    Before,
    /// After it.
    After,
}

/// The normalizer of `SentencePiece`: its options.
#[derive(Debug)]
pub struct Normalizer {
    /// What characters become; with None they stay.
    pub charsmap: Option<Charsmap>,
    /// Where a space is added.
    pub dummy: Dummy,
    /// Whether spaces at both ends are removed, and all but one of several in a row.
    pub remove_extra: bool,
    /// Whether a space is written `▁`.
    pub escape: bool,
}

/// A normalized text, spaces not escaped yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Normal<'t> {
    /// The text.
    pub text: Cow<'t, [u8]>,
    /// Whether one more space comes before it.
    pub prefix: bool,
}

/// A text in the form in which it is merged. If spaces are escaped, a space, which is shorter, replaces each `▁`.
#[must_use]
pub fn written(text: &[u8], escape: bool) -> Cow<'_, [u8]> {
    if !escape || !text.contains(&BLOCK[0]) {
        return Cow::Borrowed(text);
    }
    let mut written = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let (byte, after) = rest.strip_prefix(BLOCK).map_or((*byte, after), |after| (b' ', after));
        written.push(byte);
        rest = after;
    }
    Cow::Owned(written)
}

impl Normalizer {
    /// The normalized text. What `protected` finds is not rewritten.
    ///
    /// # Errors
    /// [`crate::Error::TooLong`].
    pub fn apply<'t>(
        &self,
        text: Text<'t>,
        protected: Option<&AhoCorasick>,
        bounds: &Bounds<'_>,
    ) -> Result<Normal<'t>> {
        let is_text = matches!(text, Text::Str(_)) || std::str::from_utf8(text.as_bytes()).is_ok();
        let text = text.as_bytes();
        if self.keeps() && is_text {
            let prefix = self.dummy == Dummy::Before && !text.is_empty();
            return Ok(Normal { text: Cow::Borrowed(text), prefix });
        }
        let mut out = Draft::new(text.len() + 8);
        self.rewrite(text, protected, bounds, &mut out)?;
        Ok(Normal { text: Cow::Owned(out.text), prefix: false })
    }

    /// The normalized text with all its spaces as they are: escaped, where they are escaped.
    ///
    /// # Errors
    /// Those of [`Self::apply`].
    pub fn whole(&self, text: Text<'_>, protected: Option<&AhoCorasick>, bounds: &Bounds<'_>) -> Result<Vec<u8>> {
        let normal = self.apply(text, protected, bounds)?;
        let space = if self.escape { BLOCK } else { b" " };
        let mut whole = if normal.prefix { space.to_vec() } else { Vec::new() };
        for (place, part) in normal.text.split(|&byte| byte == b' ').enumerate() {
            whole.extend_from_slice(if place > 0 { space } else { b"" });
            whole.extend_from_slice(part);
        }
        Ok(whole)
    }

    /// Whether texts that are UTF-8 stay what they are, apart from a space before them.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.charsmap.is_none() && !self.remove_extra && self.dummy != Dummy::After
    }

    /// Appends the normalized text to `out`.
    ///
    /// # Errors
    /// Those of [`Self::apply`].
    pub(crate) fn rewrite(
        &self,
        text: &[u8],
        protected: Option<&AhoCorasick>,
        bounds: &Bounds<'_>,
        out: &mut Draft,
    ) -> Result<()> {
        let keeps =
            |byte: u8| byte.is_ascii() && byte != b' ' && self.charsmap.as_ref().is_none_or(|map| map.keeps(byte));
        // How many bytes stay what they are: each is plain, and so is what follows it.
        let plain = |text: &[u8]| {
            let kept = text.iter().take_while(|&&byte| keeps(byte)).count();
            kept - usize::from(kept > 0 && text.get(kept).is_some_and(|byte| !byte.is_ascii()))
        };
        let mut rest = text;
        if self.remove_extra {
            while let (len @ 1.., b" ") = self.first(rest, protected) {
                out.take(len, b"");
                rest = &rest[len..];
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if self.dummy == Dummy::Before {
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
            let (len, mut shown) = self.first(rest, protected);
            while after_space && let [b' ', others @ ..] = shown {
                shown = others;
            }
            if let Some(&last) = shown.last() {
                after_space = self.remove_extra && last == b' ';
            }
            if shown.len() != len {
                bounds.resize(len, shown.len(), || "normalizers[0] (sentencepiece)".to_owned())?;
            }
            out.take(len, shown);
            rest = &rest[len..];
        }
        self.finish(out);
        Ok(())
    }

    /// Tidies the end of a text.
    fn finish(&self, out: &mut Draft) {
        let block = |out: &[u8]| if self.escape && out.ends_with(BLOCK) { BLOCK.len() } else { 0 };
        let space = |out: &[u8]| if out.ends_with(b" ") { 1 } else { block(out) };
        if self.remove_extra {
            let mut left = &out.text[..];
            while let extra @ 1.. = space(left) {
                left = &left[..left.len() - extra];
            }
            let left = left.len();
            out.truncate(left);
        }
        if self.dummy == Dummy::After {
            out.take(0, b" ");
        }
    }

    /// The length of what is rewritten first, and what it becomes. Each byte that is not UTF-8 becomes U+FFFD.
    fn first<'a>(&'a self, text: &'a [u8], protected: Option<&AhoCorasick>) -> (usize, &'a [u8]) {
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

    fn normalized(text: &[u8], dummy: Dummy, remove_extra: bool) -> String {
        let normalizer = Normalizer { charsmap: None, dummy, remove_extra, escape: true };
        let stop = Stop::default();
        let normal = normalizer.apply(Text::Bytes(text), None, &Bounds::new(text.len(), &stop)).unwrap();
        let prefix = if normal.prefix { " " } else { "" };
        format!("{prefix}{}", String::from_utf8_lossy(&normal.text))
    }

    #[test]
    fn spaces_are_added_and_removed() {
        assert_eq!(normalized(b" a  b ", Dummy::Before, false), "  a  b ");
        assert_eq!(normalized(b" a  b ", Dummy::Before, true), " a b");
        assert_eq!(normalized(b" a  b ", Dummy::After, true), "a b ");
        assert_eq!(normalized(b"  ", Dummy::Before, true), "");
        assert_eq!(normalized(b"", Dummy::After, false), "");
        assert_eq!(normalized("a▁ ▁".as_bytes(), Dummy::Nowhere, true), "a");
    }

    #[test]
    fn each_byte_that_is_no_text_is_replaced() {
        assert_eq!(normalized(b"a\xE2\x98b\xFF", Dummy::Nowhere, false), "a\u{FFFD}\u{FFFD}b\u{FFFD}");
    }
}
