//! Texts to ids in stages, where a model has steps that rewrite a text: normalize, cut out the added tokens that are found
//! in the normalized text, split, and merge each piece.
//!
//! A stage that a model does not have costs nothing, and models that have none do not come here.

use crate::encode::Encoder;
use crate::error::{Error, Result};
use crate::merge::{merge, merge_with_ends, sample_started};
use crate::offsets::Spans;
use crate::parallel::Stop;
use crate::pieces::{Pieces, Session};
use crate::sampled::{Draws, Sampling, sample_piece};
use crate::special::{AddedToken, Allow, Segment};
use crate::split::{Text, utf8_parts};
use crate::steps::bytes::byte_of;
use crate::steps::splitters::Prepend;
use crate::steps::{Joined, Line, Normalizer, Origin, Splitter, normalize, split};
use crate::symbols::Symbols;
use crate::vocab::Unit;

/// What is done to a text beside cutting and merging.
#[derive(Debug, Default)]
pub struct Stages {
    /// What is done to a text first.
    pub normalizers: Vec<Normalizer>,
    /// What cuts it, if some step rewrites it or leaves a part out; otherwise the encoder's own splitter does.
    pub splitters: Vec<Splitter>,
    /// What pieces of characters are made of; None where each character must have a token.
    pub symbols: Option<Symbols>,
}

impl Stages {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.normalizers.is_empty() && self.splitters.is_empty() && self.symbols.is_none()
    }

    /// The added tokens as they show when they are decoded: those that are found in the normalized text show as they stand
    /// there.
    ///
    /// # Errors
    /// [`Error::Pattern`] when a regex engine gives up.
    pub fn shown(&self, added: &[AddedToken]) -> Result<Vec<AddedToken>> {
        let mut shown = added.to_vec();
        for token in shown.iter_mut().filter(|token| token.flags.normalized) {
            let mut line = Line::new(&token.content);
            normalize(&self.normalizers, &mut line)?;
            if !line.text().is_empty() {
                token.content = line.text().to_owned();
            }
        }
        Ok(shown)
    }

    /// The line of a text that starts at `start` of its source, with origins if a step asks for them.
    fn line<'t>(&self, text: &'t str, start: usize) -> Line<'t> {
        let asks = |splitter: &Splitter| matches!(splitter, Splitter::Metaspace(_, Prepend::First));
        if self.splitters.iter().any(asks) { Line::tracked(text, start) } else { Line::new(text) }
    }
}

/// Pieces one after another, where each ends, and where each byte comes from, if that was kept.
type Written = (Vec<u8>, Vec<usize>, Option<Vec<Origin>>);

impl Encoder {
    /// The pieces of a text without added tokens, as they are merged: normalized, and rewritten where a step does so.
    ///
    /// # Errors
    /// [`Error::Pattern`] when a regex engine gives up.
    pub fn pieces(&self, text: Text<'_>) -> Result<Vec<Vec<u8>>> {
        let mut pieces = Vec::new();
        if !self.is_staged() {
            self.splitter().split(text, |piece| {
                pieces.push(piece.to_vec());
                Ok(())
            })?;
            return Ok(pieces);
        }
        for (part, is_text) in utf8_parts(text.as_bytes()) {
            let Some(part) = std::str::from_utf8(part).ok().filter(|_| is_text) else {
                pieces.push(part.to_vec());
                continue;
            };
            let mut line = self.stages().line(part, 0);
            normalize(&self.stages().normalizers, &mut line)?;
            if self.stages().splitters.is_empty() {
                self.splitter().split(line.text(), |piece| {
                    pieces.push(piece.to_vec());
                    Ok(())
                })?;
                continue;
            }
            let (text, ends, _) = self.joined(line)?;
            let mut start = 0;
            pieces.extend(ends.iter().map(|&end| text[std::mem::replace(&mut start, end)..end].to_vec()));
        }
        Ok(pieces)
    }

    /// The pieces of a normalized line that steps split, one after another, where each ends, and where its bytes come from.
    fn joined(&self, line: Line<'_>) -> Result<Written> {
        let splitters = &self.stages().splitters;
        let joined = split(splitters, line)?;
        if self.vocab().unit() == Unit::Byte && splitters.iter().any(writes_bytes) {
            return Ok(as_bytes(&joined));
        }
        Ok((joined.text.into_bytes(), joined.ends, joined.origins))
    }
}

/// What one call works with.
pub(crate) struct Call<'e> {
    encoder: &'e Encoder,
    allow: &'e Allow,
    stop: &'e Stop,
    session: &'e mut Session,
    out: &'e mut Vec<u32>,
    /// Where ids come from, if it is asked for.
    spans: Option<&'e mut Spans>,
    /// Where the ids of symbols end, if it is asked for, until that is said.
    ends: Vec<usize>,
    /// How encodings are drawn, if they are.
    drawn: Option<(Sampling, &'e mut Draws)>,
}

impl<'e> Call<'e> {
    /// Nothing so far; `spans` where it is asked for where ids come from.
    pub fn new(
        encoder: &'e Encoder,
        (allow, stop): (&'e Allow, &'e Stop),
        session: &'e mut Session,
        out: &'e mut Vec<u32>,
        spans: Option<&'e mut Spans>,
    ) -> Self {
        Self { encoder, allow, stop, session, out, spans, ends: Vec::new(), drawn: None }
    }

    /// The same, where encodings are drawn.
    pub fn drawing(mut self, sampling: Sampling, draws: &'e mut Draws) -> Self {
        self.drawn = Some((sampling, draws));
        self
    }

    /// Whether every piece is encoded on its own.
    fn is_by_piece(&self) -> bool {
        let hidden = self.spans.is_some() && self.encoder.vocab().hides_widths();
        self.encoder.stages().symbols.is_some() || hidden || self.drawn.is_some()
    }

    /// Appends the ids of a text without added tokens that are found in it as it is; it starts at `start` of its source.
    pub fn text(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        if let Text::Str(text) = text {
            return self.part(text, start);
        }
        let bytes = text.as_bytes();
        if self.encoder.vocab().unit() != Unit::Byte {
            return self.part(&replaced(bytes), start);
        }
        let mut at = start;
        for (part, is_text) in utf8_parts(bytes) {
            match std::str::from_utf8(part) {
                Ok(part) if is_text => self.part(part, at)?,
                _ => {
                    let first = self.out.len();
                    self.pieces(part, &[part.len()])?;
                    let origins: Vec<Origin> = (at..at + part.len()).map(|at| (at, at + 1)).collect();
                    self.placed(first, Some(&origins));
                }
            }
            at += part.len();
        }
        Ok(())
    }

    fn part(&mut self, text: &str, start: usize) -> Result<()> {
        let encoder = self.encoder;
        let mut line =
            if self.spans.is_some() { Line::tracked(text, start) } else { encoder.stages().line(text, start) };
        normalize(&encoder.stages().normalizers, &mut line)?;
        if !encoder.added().any_normalized() {
            return self.line(line);
        }
        let normal = line;
        encoder.added().cut_normalized(normal.text(), self.allow, |segment| match segment {
            Segment::Token(id, end) => {
                self.out.push(id);
                if let Some(spans) = &mut self.spans {
                    place(spans, [end].into_iter(), normal.origins().unwrap_or_default());
                }
                Ok(())
            }
            Segment::Text(start, end) => self.line(normal.part(start..end)),
        })
    }

    /// Appends the ids of a line without added tokens.
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        self.stop.check()?;
        let (encoder, first) = (self.encoder, self.out.len());
        if !encoder.stages().splitters.is_empty() {
            let (text, ends, origins) = encoder.joined(line)?;
            self.pieces(&text, &ends)?;
            self.placed(first, origins.as_deref());
            return Ok(());
        }
        if !self.is_by_piece() {
            encoder.encode_part(Text::Str(line.text()), self.stop, self.session, self.out)?;
            self.placed(first, line.origins());
            return Ok(());
        }
        let text = line.text();
        let mut at = 0;
        encoder.splitter().split(text, |piece| {
            self.piece(piece, at).map_err(|error| error.shifted(at))?;
            at += piece.len();
            Ok(())
        })?;
        self.placed(first, line.origins());
        Ok(())
    }

    /// Says where the ids from `first` on come from, if it is asked for.
    fn placed(&mut self, first: usize, origins: Option<&[Origin]>) {
        if let (Some(spans), Some(origins)) = (&mut self.spans, origins) {
            if self.encoder.stages().symbols.is_some() || self.encoder.vocab().hides_widths() {
                place(spans, self.ends.drain(..), origins);
                return;
            }
            let vocab = self.encoder.vocab();
            let ends = self.out[first..].iter().scan(0, |end, &id| {
                *end += vocab.width(id);
                Some(*end)
            });
            place(spans, ends, origins);
        }
    }

    /// Appends the ids of pieces that stand one after another.
    fn pieces(&mut self, text: &[u8], ends: &[usize]) -> Result<()> {
        if !self.is_by_piece() && !self.encoder.is_slow() {
            let mut pieces = Pieces::new(self.encoder.vocab(), self.session, self.stop, text, self.out);
            pieces.take(ends)?;
            return pieces.finish();
        }
        let mut start = 0;
        for &end in ends {
            self.piece(&text[start..end], start)?;
            start = end;
        }
        Ok(())
    }

    /// Appends the ids of a piece that starts at `start`.
    fn piece(&mut self, piece: &[u8], start: usize) -> Result<()> {
        let (vocab, scratch) = (self.encoder.vocab(), &mut self.session.scratch);
        let Some(symbols) = &self.encoder.stages().symbols else {
            if let Some((sampling, draws)) = &mut self.drawn {
                return sample_piece(vocab, piece, (sampling, draws), self.stop, (scratch, self.out));
            }
            if self.spans.is_none() || !vocab.hides_widths() {
                return merge(vocab, piece, self.stop, scratch, self.out);
            }
            let first = self.ends.len();
            merge_with_ends(vocab, piece, self.stop, (scratch, self.out), &mut self.ends)?;
            self.ends[first..].iter_mut().for_each(|end| *end += start);
            return Ok(());
        };
        let Ok(piece) = std::str::from_utf8(piece) else {
            return Err(Error::NotInVocabulary { content: piece.to_vec(), offset: 0 });
        };
        if let Some((sampling, draws)) = &mut self.drawn {
            symbols.start(vocab, piece, scratch)?;
            return sample_started(vocab, piece.as_bytes(), (sampling.dropout, draws), self.stop, (scratch, self.out));
        }
        symbols.encode(vocab, piece, self.stop, scratch, self.out)?;
        if self.spans.is_some() {
            self.ends.extend(scratch.starts[1..].iter().map(|&end| start + end as usize));
        }
        Ok(())
    }
}

/// Adds the ranges of ids that end at these places of a text with these origins.
///
/// An id that ends inside of what was rewritten as a whole leaves it to the id in which that ends. A character that is
/// what it was is not rewritten: its bytes are told apart.
fn place(spans: &mut Spans, ends: impl Iterator<Item = usize>, origins: &[Origin]) {
    for end in ends {
        let Some(&origin) = end.checked_sub(1).and_then(|last| origins.get(last)) else { continue };
        let before = origins[..end].iter().rev().take_while(|&&other| other == origin).count();
        let behind = origins[end..].iter().take_while(|&&other| other == origin).count();
        let (to, touched) = if behind == 0 {
            (origin.1, origin.1)
        } else if before + behind == origin.1 - origin.0 {
            (origin.0 + before, origin.0 + before)
        } else {
            (origin.0, origin.1)
        };
        spans.push_to(to, touched);
    }
}

fn writes_bytes(splitter: &Splitter) -> bool {
    matches!(splitter, Splitter::ByteCharacters)
}

/// The text with U+FFFD for each byte that is no UTF-8.
fn replaced(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{FFFD}'));
    }
    text
}

/// Pieces that are written in characters of bytes, as these bytes.
fn as_bytes(joined: &Joined) -> Written {
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
