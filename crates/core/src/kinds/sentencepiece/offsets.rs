//! The ranges in a text of the ids of [`CharEngine`].
//!
//! If normalizing only escapes the spaces of a text and adds one before it, the widths of the ids give the ranges. Any
//! other text is normalized again, with the origin of each byte.

use memchr::memchr_iter;
use memchr::memmem::find;

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::normalize::{AddedSpace, SPACE_MARK};
use crate::kinds::sentencepiece::widths::UNKNOWN;
use crate::kinds::sentencepiece::{CharEngine, join_unknown};
use crate::split::Text;
use crate::split::spans::{Count, PlacedIds, Spans};
use crate::steps::line::{Draft, place_error};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// The end of the part that starts at `at` and has a width of the table.
#[inline]
fn part_end(text: &[u8], at: usize, width: u32) -> usize {
    if width != UNKNOWN {
        return at + width as usize;
    }
    let inner = text.iter().skip(at + 1).take_while(|&&byte| byte & 0xC0 == 0x80);
    at + 1 + inner.count()
}

impl CharEngine {
    /// Appends the ids of `text`, which starts at `start` of the whole, and their ranges to `to`.
    ///
    /// # Errors
    /// As [`CharEngine::encode`].
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
            result.map_err(|error| self.locate_error(error, text, bounds.stop()))?;
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
        let kept = is_text && self.widths.plain && self.normalizer.keeps_bytes();
        kept && !(self.normalizer.escape && find(bytes, SPACE_MARK).is_some())
    }

    fn walk(&self, text: &[u8], start: usize, ids: &[u32], spans: &mut Spans) {
        let added = usize::from(self.normalizer.dummy == AddedSpace::Before);
        // Counts the added space.
        let mut at = 0;
        for &id in ids {
            at = match self.widths.spaced.get(id).copied().unwrap_or(0) {
                UNKNOWN if at < added => added,
                UNKNOWN => added + part_end(text, at - added, UNKNOWN),
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
        let mut normal = Draft::with_origins(start, if self.normalizer.escape { SPACE_MARK } else { b" " });
        self.normalizer.rewrite(text.as_bytes(), self.frozen.as_ref(), bounds, &mut normal)?;
        let (mut from, mut ends) = (0, Vec::new());
        let outcome = if self.needs_whole() {
            self.encode_whole(&normal.text, None, bounds.stop(), out, &mut |end| ends.push(end))
        } else {
            self.for_each_part(&normal.text, |part, frozen| {
                let to = from + part.len();
                if let Some(id) = frozen {
                    out.push(id);
                    ends.push(to);
                } else {
                    let first = out.len();
                    let result = self.encode_part(part, slow, bounds.stop(), out);
                    result.map_err(|error| {
                        self.place_written_error(error, &self.tokens.write_form(part)).shift_offset(from)
                    })?;
                    let mut at = 0;
                    for &id in &out[first..] {
                        at = part_end(part, at, self.widths.escaped.get(id).copied().unwrap_or(0));
                        ends.push(from + at);
                    }
                }
                from = to;
                Ok(())
            })
        };
        outcome.map_err(|error| place_error(error, Some(normal.origins())))?;
        spans.push_origins(ends.into_iter(), normal.origins());
        Ok(())
    }

    /// Adds the place of the missing text to an error of a text. To find it, the text is encoded again, step by step
    /// and with origins.
    pub(crate) fn locate_error(&self, error: Error, text: Text<'_>, stop: &Stop) -> Error {
        if !matches!(error, Error::NotInVocabulary { .. }) {
            return error;
        }
        let (mut ids, mut spans) = (Vec::new(), Spans::new(Count::Bytes));
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        let again = self.encode_with_origins(text, 0, true, &bounds, PlacedIds { ids: &mut ids, spans: &mut spans });
        again.err().unwrap_or(error)
    }

    /// Moves an error of a normalized text to its place in the text.
    pub(crate) fn place_error(&self, error: Error, text: Text<'_>) -> Error {
        let mut normal = Draft::with_origins(0, if self.normalizer.escape { SPACE_MARK } else { b" " });
        let (bytes, stop) = (text.as_bytes(), Stop::default());
        match self.normalizer.rewrite(bytes, self.frozen.as_ref(), &Bounds::new(bytes.len(), &stop), &mut normal) {
            Ok(()) => place_error(error, Some(normal.origins())),
            Err(_) => error,
        }
    }

    /// Moves an error of a text in the form that is merged to its place in the text with escaped spaces.
    pub(crate) fn place_written_error(&self, error: Error, written: &[u8]) -> Error {
        match error {
            Error::NotInVocabulary { content, offset } if self.normalizer.escape => {
                let before = &written[..offset.min(written.len())];
                let spaces = memchr_iter(b' ', before).count();
                Error::NotInVocabulary { content, offset: offset + spaces * (SPACE_MARK.len() - 1) }
            }
            error => error,
        }
    }
}
