//! One walk over one text: it cuts added tokens out, splits the text between them, and makes ids of each piece.
//!
//! Every entry of [`Encoder`] is this walk and asks for something else: ids alone, their ranges, their number, or ids that
//! are drawn.
//! A text takes one of three ways between two added tokens: through the stages where steps rewrite it
//! (`Call::staged` in [`crate::encode::staged`]), as characters ([`crate::kinds::sentencepiece`]), or piece by piece here.

use crate::encode::encoder::Encoder;
#[cfg(feature = "fast")]
use crate::encode::pieces::PieceIds;
use crate::encode::session::Session;
use crate::error::{Error, Result};
use crate::kinds::Drawing;
use crate::merge::heap::Dropout;
use crate::split::Text;
use crate::split::spans::{PlacedIds, Spans};
use crate::split::special::{Allow, Segment};
use crate::switches;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// More bytes than most ids have, so that room is made once and little of it stays empty.
#[cfg(feature = "fast")]
const BYTES_PER_ID: usize = 5;

/// What one call works with, and what it asks for besides ids.
pub(crate) struct Call<'e> {
    pub(super) encoder: &'e Encoder,
    pub(super) allow: &'e Allow,
    pub(super) bounds: &'e Bounds<'e>,
    pub(super) stop: &'e Stop,
    pub(super) session: &'e mut Session,
    pub(super) out: &'e mut Vec<u32>,
    /// Whether the call does everything the slow way.
    pub(super) slow: bool,
    /// The ranges of the ids, if the caller asks for them.
    pub(super) spans: Option<&'e mut Spans>,
    /// Where ids end in their text, if the ids alone do not say it; until that is passed on to `spans`.
    pub(super) ends: Vec<usize>,
    /// How ids are drawn, if they are.
    pub(super) drawing: Option<Drawing<'e>>,
    /// How many ids were counted and dropped, if the caller asks for their number only.
    counted: Option<u64>,
}

impl<'e> Call<'e> {
    /// A call that appends ids to `out`.
    pub(crate) fn new(
        encoder: &'e Encoder,
        allow: &'e Allow,
        bounds: &'e Bounds<'e>,
        session: &'e mut Session,
        out: &'e mut Vec<u32>,
    ) -> Self {
        Self {
            encoder,
            allow,
            bounds,
            stop: bounds.stop(),
            session,
            out,
            slow: encoder.is_slow(),
            spans: None,
            ends: Vec::new(),
            drawing: None,
            counted: None,
        }
    }

    /// The same, which appends the ranges of ids to `spans`.
    pub(crate) fn with_spans(mut self, spans: &'e mut Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    /// The same, which draws.
    pub(crate) fn drawing(mut self, drawing: Drawing<'e>) -> Self {
        self.drawing = Some(drawing);
        self
    }

    /// The number of ids of `text`, which are not kept.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`].
    pub(crate) fn count(mut self, text: Text<'_>) -> Result<u64> {
        self.out.clear();
        self.counted = Some(0);
        self.run(text)?;
        Ok(self.counted.unwrap_or(0))
    }

    /// Does what the call asks for.
    ///
    /// # Errors
    /// Those of [`Encoder::encode`].
    pub(crate) fn run(&mut self, text: Text<'_>) -> Result<()> {
        let encoder = self.encoder;
        encoder.added().cut(text.as_bytes(), self.allow, |segment| {
            match segment {
                Segment::Token(id, _, end) => {
                    self.out.push(id);
                    if let Some(spans) = &mut self.spans {
                        // The token before may have taken white space that this token consists of.
                        spans.push_to(end, end);
                    }
                }
                Segment::Text(start, end) if encoder.is_staged() => self.staged(text.part(start, end), start)?,
                Segment::Text(start, end) => {
                    self.unstaged(text.part(start, end), start).map_err(|error| error.shifted(start))?;
                }
            }
            self.drop_counted();
            Ok(())
        })
    }

    /// Appends the ids of a text without added tokens that no step rewrites; it starts at `start` of its source.
    fn unstaged(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let Some(chars) = self.encoder.chars() else { return self.pieces_of(text, start) };
        if let Some(Drawing { sampling, draws }) = &mut self.drawing {
            return chars.sample(text, sampling, draws, self.bounds, self.out);
        }
        if let Some(spans) = &mut self.spans {
            let out = PlacedIds { ids: self.out, spans };
            return chars.encode_with_offsets(text, start, self.slow, self.bounds, out);
        }
        self.ids_of(text)
    }

    /// The same where a text is split into pieces.
    fn pieces_of(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let first = self.out.len();
        if self.is_by_piece() {
            self.each_piece(text)?;
        } else {
            self.ids_of(text)?;
        }
        let Some(spans) = &mut self.spans else { return Ok(()) };
        let encoder = self.encoder.piece_encoder();
        if encoder.hides_widths() {
            for end in self.ends.drain(..) {
                spans.push_to(start + end, start + end);
            }
            return Ok(());
        }
        let (ids, vocab) = (&self.out[first..], encoder.vocab());
        if spans.are_past(start) {
            let mut end = start;
            for &id in ids {
                end += vocab.width(id);
                spans.push_to(end, end);
            }
            return Ok(());
        }
        match encoder.widths().filter(|_| !self.slow) {
            Some(widths) => spans.extend(ids.iter().map(|&id| widths.of(vocab, id))),
            None => spans.extend(ids.iter().map(|&id| vocab.width(id))),
        }
        Ok(())
    }

    /// Whether every piece is encoded on its own, because the caller asks for more than its ids.
    pub(super) fn is_by_piece(&self) -> bool {
        let hidden = self.spans.is_some() && self.encoder.piece_encoder().hides_widths();
        self.encoder.stages().symbols.is_some() || hidden || self.drawing.is_some()
    }

    /// Appends the ids of a text without added tokens, and nothing else.
    pub(super) fn ids_of(&mut self, text: Text<'_>) -> Result<()> {
        switches::fault_point();
        if let Some(chars) = self.encoder.chars() {
            return chars.encode(text, self.slow, self.bounds, self.out);
        }
        #[cfg(feature = "fast")]
        if !self.slow {
            return self.remembered(text);
        }
        self.each_piece(text)
    }

    /// Appends the ids of a text with a memory of pieces.
    #[cfg(feature = "fast")]
    fn remembered(&mut self, text: Text<'_>) -> Result<()> {
        let Session { scratch, fast } = &mut *self.session;
        let mut ends = fast.ends.take().unwrap_or_default();
        self.out.reserve(text.as_bytes().len() / BYTES_PER_ID);
        let encoder = self.encoder;
        // A staged text may be encoded again, and that needs the ids of the first time.
        let counted = &mut self.counted.filter(|_| !encoder.is_staged());
        let mut pieces = PieceIds::walk(encoder.piece_encoder(), (scratch, fast), self.stop, text.as_bytes(), self.out);
        let split = encoder.splitter().ends(text, self.bounds, &mut ends, |ends| {
            pieces.take(ends)?;
            if let Some(counted) = counted {
                *counted += pieces.sink.drop_ids();
            }
            Ok(())
        });
        let result = split.and_then(|()| pieces.drain());
        fast.ends = Some(ends);
        self.counted = counted.or(self.counted);
        result
    }

    /// Counts the ids so far, if the caller asks for their number only.
    fn drop_counted(&mut self) {
        if let Some(counted) = &mut self.counted {
            *counted += self.out.len() as u64;
            self.out.clear();
        }
    }

    /// The twin of [`Self::remembered`] without a memory: it encodes every piece anew.
    pub(super) fn each_piece(&mut self, text: Text<'_>) -> Result<()> {
        let (mut at, encoder) = (0, self.encoder);
        encoder.splitter().split(text, self.bounds, |piece| {
            self.stop.check()?;
            self.piece(piece, at)?;
            at += piece.len();
            Ok(())
        })
    }

    /// Appends the ids of a piece that starts at `start`, and where they end if the ids alone do not say it.
    pub(super) fn piece(&mut self, piece: &[u8], start: usize) -> Result<()> {
        let first = self.ends.len();
        self.encode_piece(piece).map_err(|error| error.shifted(start))?;
        self.ends[first..].iter_mut().for_each(|end| *end += start);
        Ok(())
    }

    fn encode_piece(&mut self, piece: &[u8]) -> Result<()> {
        let (encoder, scratch) = (self.encoder.piece_encoder(), &mut self.session.scratch);
        let Some(symbols) = &self.encoder.stages().symbols else {
            if let Some(drawing) = &mut self.drawing {
                return encoder.sample(piece, drawing, self.stop, scratch, self.out);
            }
            if self.spans.is_some() && encoder.hides_widths() {
                return encoder.encode_with_ends(piece, self.stop, scratch, self.out, &mut self.ends);
            }
            return encoder.encode(piece, self.stop, scratch, self.out);
        };
        let Ok(piece) = std::str::from_utf8(piece) else {
            return Err(Error::NotInVocabulary { content: piece.to_vec(), offset: 0 });
        };
        let (merger, scratch) = (encoder.merger(), &mut scratch.merge);
        if let Some(Drawing { sampling, draws }) = &mut self.drawing {
            symbols.start(merger.vocab(), piece, &mut scratch.symbols)?;
            merger.merge_dropping(piece.as_bytes(), Dropout { share: sampling.dropout, draws }, self.stop, scratch)?;
            self.out.extend_from_slice(&scratch.symbols.ids);
            return Ok(());
        }
        symbols.encode(merger, piece, self.stop, scratch, self.out)?;
        if self.spans.is_some() {
            self.ends.extend(scratch.symbols.starts[1..].iter().map(|&end| end as usize));
        }
        Ok(())
    }
}
