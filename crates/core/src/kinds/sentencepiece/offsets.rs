//! Where in a text the ids of [`Chars`] come from.
//!
//! If normalizing only escapes the spaces of a text and adds one before it, the widths of the ids give the ranges. Any other
//! text is normalized anew, with the origin of each byte.

use memchr::memchr_iter;
use memchr::memmem::find;

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::normalize::{BLOCK, Dummy};
use crate::kinds::sentencepiece::widths::UNKNOWN;
use crate::kinds::sentencepiece::{Chars, join_unknown};
use crate::split::Text;
use crate::split::spans::{Count, PlacedIds, Spans};
use crate::steps::line::{Draft, placed_by};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// The end of what starts at `at` and has the width of a table.
#[inline]
fn end(text: &[u8], at: usize, width: u32) -> usize {
    if width != UNKNOWN {
        return at + width as usize;
    }
    let inner = text.iter().skip(at + 1).take_while(|&&byte| byte & 0xC0 == 0x80);
    at + 1 + inner.count()
}

impl Chars {
    /// Appends the ids of `text`, which starts at `start` of the whole, and their ranges to `to`.
    ///
    /// # Errors
    /// Those of [`Chars::encode`].
    pub(crate) fn encode_with_offsets(
        &self,
        text: Text<'_>,
        start: usize,
        slow: bool,
        bounds: &Bounds<'_>,
        to: PlacedIds<'_>,
    ) -> Result<()> {
        let PlacedIds { ids: out, spans } = to;
        let (first, first_span) = (out.len(), spans.len());
        if !slow && !self.needs_whole() && self.keeps_its_bytes(text) {
            self.encode_all(text, slow, bounds, out)?;
            self.walk(text.as_bytes(), start, &out[first..], spans);
        } else {
            let result = self.encode_with_origins(text, start, slow, bounds, PlacedIds { ids: out, spans });
            result.map_err(|error| self.located(error, text, bounds.stop()))?;
        }
        if let Some(unknown) = self.tokens.unknown() {
            let ids = &out[first..];
            let again = (0..ids.len()).map(|place| place > 0 && ids[place] == unknown && ids[place - 1] == unknown);
            spans.join(first_span, again);
            join_unknown(unknown, first, out);
        }
        Ok(())
    }

    /// Whether normalizing keeps the text, adds at most a space before it, and all its spaces mean `▁`.
    fn keeps_its_bytes(&self, text: Text<'_>) -> bool {
        let bytes = text.as_bytes();
        let is_text = matches!(text, Text::Str(_)) || std::str::from_utf8(bytes).is_ok();
        let kept = is_text && self.widths.plain && self.normalizer.keeps();
        kept && !(self.normalizer.escape && find(bytes, BLOCK).is_some())
    }

    fn walk(&self, text: &[u8], start: usize, ids: &[u32], spans: &mut Spans) {
        let added = usize::from(self.normalizer.dummy == Dummy::Before);
        // Counts the space that was added.
        let mut at = 0;
        for &id in ids {
            at = match self.widths.spaced.get(id).copied().unwrap_or(0) {
                UNKNOWN if at < added => added,
                UNKNOWN => added + end(text, at - added, UNKNOWN),
                width => at + width as usize,
            };
            let place = start + at.saturating_sub(added);
            spans.push(place, place);
        }
    }

    fn encode_with_origins(
        &self,
        text: Text<'_>,
        start: usize,
        slow: bool,
        bounds: &Bounds<'_>,
        to: PlacedIds<'_>,
    ) -> Result<()> {
        let PlacedIds { ids: out, spans } = to;
        let mut normal = Draft::tracked(start, if self.normalizer.escape { BLOCK } else { b" " });
        self.normalizer.rewrite(text.as_bytes(), self.frozen.as_ref(), bounds, &mut normal)?;
        let (mut from, mut ends) = (0, Vec::new());
        let done = if self.needs_whole() {
            self.encode_whole(&normal.text, None, bounds.stop(), out, &mut |end| ends.push(end))
        } else {
            self.each_part(&normal.text, |part, frozen| {
                let to = from + part.len();
                if let Some(id) = frozen {
                    out.push(id);
                    ends.push(to);
                } else {
                    let first = out.len();
                    let made = self.encode_part(part, slow, bounds.stop(), out);
                    made.map_err(|error| self.unwritten(error, &self.tokens.written(part)).shifted(from))?;
                    let mut at = 0;
                    for &id in &out[first..] {
                        at = end(part, at, self.widths.escaped.get(id).copied().unwrap_or(0));
                        ends.push(from + at);
                    }
                }
                from = to;
                Ok(())
            })
        };
        done.map_err(|error| placed_by(error, Some(normal.origins())))?;
        spans.place(ends.into_iter(), normal.origins());
        Ok(())
    }

    /// The error of a text with the place of what is missing. To find it, the text is encoded again, step by step and with
    /// origins.
    pub(crate) fn located(&self, error: Error, text: Text<'_>, stop: &Stop) -> Error {
        if !matches!(error, Error::NotInVocabulary { .. }) {
            return error;
        }
        let (mut ids, mut spans) = (Vec::new(), Spans::new(Count::Bytes));
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        let again = self.encode_with_origins(text, 0, true, &bounds, PlacedIds { ids: &mut ids, spans: &mut spans });
        again.err().unwrap_or(error)
    }

    /// The error of a normalized text, with its place in the text.
    pub(crate) fn placed(&self, error: Error, text: Text<'_>) -> Error {
        let mut normal = Draft::tracked(0, if self.normalizer.escape { BLOCK } else { b" " });
        let (bytes, stop) = (text.as_bytes(), Stop::default());
        match self.normalizer.rewrite(bytes, self.frozen.as_ref(), &Bounds::new(bytes.len(), &stop), &mut normal) {
            Ok(()) => placed_by(error, Some(normal.origins())),
            Err(_) => error,
        }
    }

    /// The error of a text in the form in which it is merged, with its place in the text with escaped spaces.
    pub(crate) fn unwritten(&self, error: Error, written: &[u8]) -> Error {
        match error {
            Error::NotInVocabulary { content, offset } if self.normalizer.escape => {
                let before = &written[..offset.min(written.len())];
                let spaces = memchr_iter(b' ', before).count();
                Error::NotInVocabulary { content, offset: offset + spaces * (BLOCK.len() - 1) }
            }
            error => error,
        }
    }
}
