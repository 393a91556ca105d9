//! Encodes texts in stages, for models with steps that rewrite a text: normalize, cut out the added tokens of the
//! normalized text, split, and merge each piece.
//!
//! A stage that a model lacks costs nothing. Models without any do not enter here.

use memchr::memmem;

use crate::encode::call::EncodeCall;
use crate::encode::encoder::Encoder;
#[cfg(feature = "fast")]
use crate::encode::pieces::IdSink;
#[cfg(feature = "fast")]
use crate::encode::session::Session;
use crate::error::{Error, Result};
use crate::merge::draws::Draws;
use crate::split::scan::Ends;
use crate::split::special::Segment;
use crate::split::{Text, utf8_parts};
use crate::steps::bytes::byte_of;
use crate::steps::line::place_error;
use crate::steps::{Joined, Line, Origin, SplitStep, normalize, split};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Unit;

/// The line of a text that starts at `start` of its source, with origins if `tracked`.
pub(super) fn line_of(text: Text<'_>, start: usize, tracked: bool) -> Line<'_> {
    match text {
        Text::Str(text) if tracked => Line::with_origins(text, start),
        Text::Str(text) => Line::new(text),
        Text::Bytes(bytes) => Line::with_replacements(bytes, start, tracked),
    }
}

/// Pieces one after another, the end of each, and the origin of each byte if tracked.
pub(super) type WrittenPieces = (Vec<u8>, Vec<usize>, Option<Vec<Origin>>);

impl Encoder {
    /// The pieces of a text without added tokens in the form that is merged: normalized and rewritten by the steps.
    ///
    /// # Errors
    /// [`Error::Pattern`] if a regex engine gives up, [`Error::TooLong`] and [`Error::Interrupted`].
    pub fn pieces(&self, text: Text<'_>, stop: &Stop) -> Result<Vec<Vec<u8>>> {
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        if let Some(chars) = self.chars() {
            return Ok(vec![chars.normalize(text, &bounds)?]);
        }
        let mut pieces = Vec::new();
        self.for_each_piece(text, false, &bounds, |piece, _| {
            pieces.push(piece.to_vec());
            Ok(())
        })?;
        Ok(pieces)
    }

    /// Calls `each` with every piece, and with the origins of its bytes if `tracked`.
    ///
    /// # Errors
    /// As [`Self::pieces`], and the errors of `each`.
    pub(super) fn for_each_piece(
        &self,
        text: Text<'_>,
        tracked: bool,
        bounds: &Bounds<'_>,
        mut each: impl FnMut(&[u8], Option<&[Origin]>) -> Result<()>,
    ) -> Result<()> {
        let tracked = tracked || self.stages().needs_origins();
        let mut at = 0;
        for (part, is_text) in utf8_parts(text.as_bytes()) {
            let start = at;
            at += part.len();
            let Some(part) = std::str::from_utf8(part).ok().filter(|_| is_text) else {
                let part_origins: Vec<Origin> = (start..at).map(|at| (at, at + 1)).collect();
                each(part, Some(&part_origins))?;
                continue;
            };
            let mut line = line_of(Text::Str(part), start, tracked);
            normalize(&self.stages().normalizers, &mut line, bounds)?;
            let (text, ends, origins) = self.write_pieces(line, bounds)?;
            let mut start = 0;
            for end in ends {
                bounds.stop().check()?;
                let place = std::mem::replace(&mut start, end)..end;
                each(&text[place.clone()], origins.as_ref().map(|origins| &origins[place]))?;
            }
        }
        Ok(())
    }

    /// The pieces of a normalized line one after another, their ends, and the origins of their bytes.
    pub(super) fn write_pieces(&self, line: Line<'_>, bounds: &Bounds<'_>) -> Result<WrittenPieces> {
        if !self.stages().splitters.is_empty() {
            return self.split_by_steps(line, bounds);
        }
        let mut ends = Vec::new();
        self.splitter().split_ends(Text::Str(line.text()), bounds, &mut Ends::default(), |piece_ends| {
            ends.extend_from_slice(piece_ends);
            Ok(())
        })?;
        let (text, origins) = line.into_parts();
        Ok((text.into_owned().into_bytes(), ends, origins))
    }

    /// The same if steps split the line.
    fn split_by_steps(&self, line: Line<'_>, bounds: &Bounds<'_>) -> Result<WrittenPieces> {
        let splitters = &self.stages().splitters;
        let joined = split(splitters, line, bounds)?;
        if self.vocab().unit() == Unit::Byte
            && splitters.iter().any(|splitter| matches!(**splitter, SplitStep::ByteCharacters))
        {
            return Ok(decode_pieces(&joined));
        }
        Ok((joined.text.into_bytes(), joined.ends, joined.origins))
    }
}

impl EncodeCall<'_> {
    /// Appends the ids of a text that starts at `start` of its source. Added tokens of the unnormalized text were cut
    /// out before.
    ///
    /// # Errors
    /// As [`Encoder::encode`], with offsets in the source.
    pub(super) fn encode_staged(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let Text::Bytes(bytes) = text else { return self.encode_part(text, start) };
        if self.encoder.vocab().unit() != Unit::Byte {
            let text = std::str::from_utf8(bytes).map_or(text, Text::Str);
            return self.encode_part(text, start);
        }
        let mut at = start;
        for (part, is_text) in utf8_parts(bytes) {
            match std::str::from_utf8(part) {
                Ok(part) if is_text => self.encode_part(Text::Str(part), at)?,
                _ => {
                    let first = self.out.len();
                    self.encode_pieces(part, &[part.len()])?;
                    let origins: Vec<Origin> = (at..at + part.len()).map(|at| (at, at + 1)).collect();
                    self.push_spans(first, Some(&origins));
                }
            }
            at += part.len();
        }
        Ok(())
    }

    /// Appends the ids of a part that is UTF-8 or is made so. Only origins give the place of an error. So a part that
    /// fails without them is encoded again with origins, within the bounds that it had before.
    fn encode_part(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let tracked = self.spans.is_some() || self.encoder.stages().needs_origins();
        let (first, before) = (self.out.len(), self.bounds.remaining());
        let draws = self.drawing.as_ref().map(|drawing| Draws::clone(drawing.draws));
        let result = self.encode_normalized(text, start, tracked);
        if tracked {
            return result;
        }
        match result {
            Err(Error::SpecialTokenInText { .. } | Error::NotInVocabulary { .. }) => {}
            // A repeated search would take as long as the first.
            Err(error) if matches!(text, Text::Str(_)) && self.encoder.stages().normalizers.is_empty() => {
                return Err(error.with_search_start(start));
            }
            Err(error) => return Err(error.without_offset()),
            Ok(()) => return Ok(()),
        }
        self.out.truncate(first);
        self.bounds.reset(before);
        if let (Some(drawing), Some(draws)) = (&mut self.drawing, draws) {
            *drawing.draws = draws;
        }
        self.encode_normalized(text, start, true).and(result)
    }

    fn encode_normalized(&mut self, text: Text<'_>, start: usize, tracked: bool) -> Result<()> {
        let encoder = self.encoder;
        let mut line = line_of(text, start, tracked);
        normalize(&encoder.stages().normalizers, &mut line, self.bounds)?;
        if !encoder.added().any_normalized() {
            return self.encode_line(line);
        }
        let normal = line;
        let cut = encoder.added().cut_normalized(normal.text(), self.allow, |segment| match segment {
            Segment::Token(id, _, end) => {
                self.out.push(id);
                if let Some(spans) = &mut self.spans {
                    spans.push_origins([end].into_iter(), normal.origins().unwrap_or_default());
                }
                Ok(())
            }
            Segment::Text(start, end) => {
                let outcome = self.encode_line(normal.part(start..end));
                outcome.map_err(|error| if tracked { error } else { error.with_search_start(start) })
            }
        });
        match (cut, normal.origins()) {
            (Err(Error::SpecialTokenInText { token, offset }), Some(origins)) => {
                Err(self.special_token_error(token, &origins[offset..], text.as_bytes(), start))
            }
            (cut, _) => cut,
        }
    }

    /// The error of a special token that a normalized text spells where these origins begin. Its place is that of the
    /// token, not of text that a step inserted before it.
    fn special_token_error(&self, token: String, origins: &[Origin], source: &[u8], start: usize) -> Error {
        let mut line = Line::new(&token);
        let bounds = Bounds::new(token.len(), self.stop);
        let spelt = normalize(&self.encoder.stages().normalizers, &mut line, &bounds).map_or(1, |()| line.text().len());
        let spelt = &origins[..spelt.clamp(1, origins.len())];
        let (from, to) = (spelt[0].0 - start, spelt[spelt.len() - 1].1 - start);
        let inside = memmem::find(source.get(from..to).unwrap_or_default(), token.as_bytes());
        Error::SpecialTokenInText { offset: start + from + inside.unwrap_or(0), token }
    }

    /// Appends the ids of a line without added tokens.
    fn encode_line(&mut self, line: Line<'_>) -> Result<()> {
        self.stop.check()?;
        let (encoder, first) = (self.encoder, self.out.len());
        if !encoder.stages().splitters.is_empty() {
            let (text, ends, origins) = encoder.split_by_steps(line, self.bounds).map_err(Error::without_offset)?;
            self.encode_pieces(&text, &ends).map_err(|error| place_error(error, origins.as_deref()))?;
            self.push_spans(first, origins.as_deref());
            return Ok(());
        }
        let text = line.text();
        let outcome =
            if self.is_by_piece() { self.encode_slowly(Text::Str(text)) } else { self.push_ids(Text::Str(text)) };
        outcome.map_err(|error| place_error(error, line.origins()))?;
        self.push_spans(first, line.origins());
        Ok(())
    }

    /// Appends the ranges of the ids from `first` on, if requested.
    fn push_spans(&mut self, first: usize, origins: Option<&[Origin]>) {
        if let (Some(spans), Some(origins)) = (&mut self.spans, origins) {
            if self.encoder.stages().symbols.is_some() || self.encoder.piece_encoder().hides_widths() {
                spans.push_origins(self.ends.drain(..), origins);
                return;
            }
            let vocab = self.encoder.vocab();
            let ends = self.out[first..].iter().scan(0, |end, &id| {
                *end += vocab.width(id);
                Some(*end)
            });
            spans.push_origins(ends, origins);
        }
    }

    /// Appends the ids of adjacent pieces.
    fn encode_pieces(&mut self, text: &[u8], ends: &[usize]) -> Result<()> {
        #[cfg(feature = "fast")]
        if !self.is_by_piece() && !self.slow {
            let Session { scratch, fast } = &mut *self.session;
            let mut pieces = IdSink::walk(self.encoder.piece_encoder(), (scratch, fast), self.stop, text, self.out);
            pieces.take_pieces(ends)?;
            return pieces.drain();
        }
        let mut start = 0;
        for &end in ends {
            self.push_piece(&text[start..end], start)?;
            start = end;
        }
        Ok(())
    }
}

/// The bytes of pieces in which each byte is written as a character.
fn decode_pieces(joined: &Joined) -> WrittenPieces {
    let mut bytes = Vec::with_capacity(joined.text.len());
    let mut ends = Vec::with_capacity(joined.ends.len());
    let mut origins = joined.origins.as_ref().map(|_| Vec::with_capacity(joined.text.len()));
    let mut start = 0;
    for &end in &joined.ends {
        for (at, char) in joined.text[start..end].char_indices() {
            let before = bytes.len();
            match byte_of(char) {
                Some(byte) => bytes.push(byte),
                None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            if let (Some(new), Some(old)) = (&mut origins, &joined.origins) {
                new.extend(std::iter::repeat_n(old[start + at], bytes.len() - before));
            }
        }
        ends.push(bytes.len());
        start = end;
    }
    (bytes, ends, origins)
}
