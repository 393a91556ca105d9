//! Encodes one text: cuts added tokens out, splits the text between them, and encodes each piece.
//!
//! Every method of [`Encoder`] runs this walk for a different result: ids alone, their ranges, their number, or sampled
//! ids. Between two added tokens a text takes one of three paths: through the stages if steps rewrite it
//! (`EncodeCall::encode_staged` in [`crate::encode::staged`]), as characters ([`crate::kinds::sentencepiece`]), or
//! piece by piece here.

use crate::encode::encoder::Encoder;
#[cfg(feature = "fast")]
use crate::encode::pieces::IdSink;
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

/// More bytes than most ids have, so that the output is allocated once with little unused room.
#[cfg(feature = "fast")]
const BYTES_PER_ID: usize = 5;

/// The state of one call, and the results that it collects besides ids.
pub(crate) struct EncodeCall<'e> {
    pub(super) encoder: &'e Encoder,
    pub(super) allow: &'e Allow,
    pub(super) bounds: &'e Bounds<'e>,
    pub(super) stop: &'e Stop,
    pub(super) session: &'e mut Session,
    pub(super) out: &'e mut Vec<u32>,
    /// Whether the call takes the slow path throughout.
    pub(super) slow: bool,
    /// The ranges of the ids, if requested.
    pub(super) spans: Option<&'e mut Spans>,
    /// The ends of the ids in their text until they are passed on to `spans`, if the ids alone do not give them.
    pub(super) ends: Vec<usize>,
    /// The sampling state, if ids are sampled.
    pub(super) drawing: Option<Drawing<'e>>,
    /// The number of ids counted and dropped, if only the number is requested.
    counted: Option<u64>,
}

impl<'e> EncodeCall<'e> {
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

    pub(crate) fn with_spans(mut self, spans: &'e mut Spans) -> Self {
        self.spans = Some(spans);
        self
    }

    pub(crate) fn with_drawing(mut self, drawing: Drawing<'e>) -> Self {
        self.drawing = Some(drawing);
        self
    }

    /// Returns the number of ids of `text` without storing them.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub(crate) fn count(mut self, text: Text<'_>) -> Result<u64> {
        self.out.clear();
        self.counted = Some(0);
        self.run(text)?;
        Ok(self.counted.unwrap_or(0))
    }

    /// Encodes `text` into the results of the call.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    pub(crate) fn run(&mut self, text: Text<'_>) -> Result<()> {
        let encoder = self.encoder;
        encoder.added().cut(text.as_bytes(), self.allow, |segment| {
            match segment {
                Segment::Token(id, _, end) => {
                    self.out.push(id);
                    if let Some(spans) = &mut self.spans {
                        // The token before can have taken the white space that this token consists of.
                        spans.push_to(end, end);
                    }
                }
                Segment::Text(start, end) if encoder.is_staged() => self.encode_staged(text.part(start, end), start)?,
                Segment::Text(start, end) => {
                    self.encode_unstaged(text.part(start, end), start).map_err(|error| error.shift_offset(start))?;
                }
            }
            self.drop_counted();
            Ok(())
        })
    }

    /// Appends the ids of a text without added tokens or steps; it starts at `start` of its source.
    fn encode_unstaged(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let Some(chars) = self.encoder.chars() else { return self.encode_split(text, start) };
        if let Some(Drawing { sampling, draws }) = &mut self.drawing {
            return chars.sample(text, sampling, draws, self.bounds, self.out);
        }
        if let Some(spans) = &mut self.spans {
            let out = PlacedIds { ids: self.out, spans };
            return chars.encode_with_offsets(text, start, self.slow, self.bounds, out);
        }
        self.push_ids(text)
    }

    /// The same for a text that is split into pieces.
    fn encode_split(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let first = self.out.len();
        if self.is_by_piece() {
            self.encode_slowly(text)?;
        } else {
            self.push_ids(text)?;
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
        if spans.extend_past(start) {
            let mut end = start;
            for &id in ids {
                end += vocab.width(id);
                spans.push_to(end, end);
            }
            return Ok(());
        }
        match encoder.widths().filter(|_| !self.slow) {
            Some(widths) => spans.extend(ids.iter().map(|&id| widths.width(vocab, id))),
            None => spans.extend(ids.iter().map(|&id| vocab.width(id))),
        }
        Ok(())
    }

    /// Whether every piece is encoded separately, because more than its ids is requested.
    pub(super) fn is_by_piece(&self) -> bool {
        let hidden = self.spans.is_some() && self.encoder.piece_encoder().hides_widths();
        self.encoder.stages().symbols.is_some() || hidden || self.drawing.is_some()
    }

    /// Appends only the ids of a text without added tokens.
    pub(super) fn push_ids(&mut self, text: Text<'_>) -> Result<()> {
        switches::fault_point();
        if let Some(chars) = self.encoder.chars() {
            return chars.encode(text, self.slow, self.bounds, self.out);
        }
        #[cfg(feature = "fast")]
        if !self.slow {
            return self.encode_remembered(text);
        }
        self.encode_slowly(text)
    }

    /// Appends the ids of a text with a memory of pieces.
    #[cfg(feature = "fast")]
    fn encode_remembered(&mut self, text: Text<'_>) -> Result<()> {
        let Session { scratch, fast } = &mut *self.session;
        let mut ends = fast.ends.take().unwrap_or_default();
        self.out.reserve(text.as_bytes().len() / BYTES_PER_ID);
        let encoder = self.encoder;
        // A staged text can be encoded again, and then needs the ids of the first time.
        let counted = &mut self.counted.filter(|_| !encoder.is_staged());
        let mut pieces = IdSink::walk(encoder.piece_encoder(), (scratch, fast), self.stop, text.as_bytes(), self.out);
        let split = encoder.splitter().split_ends(text, self.bounds, &mut ends, |ends| {
            pieces.take_pieces(ends)?;
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

    /// Counts and drops the ids so far, if only their number is requested.
    fn drop_counted(&mut self) {
        if let Some(counted) = &mut self.counted {
            *counted += self.out.len() as u64;
            self.out.clear();
        }
    }

    /// The twin of [`Self::encode_remembered`] that encodes every piece without the memory.
    pub(super) fn encode_slowly(&mut self, text: Text<'_>) -> Result<()> {
        let (mut at, encoder) = (0, self.encoder);
        encoder.splitter().split(text, self.bounds, |piece| {
            self.stop.check()?;
            self.push_piece(piece, at)?;
            at += piece.len();
            Ok(())
        })
    }

    /// Appends the ids of a piece that starts at `start`, and their ends if the ids alone do not give them.
    pub(super) fn push_piece(&mut self, piece: &[u8], start: usize) -> Result<()> {
        let first = self.ends.len();
        self.encode_piece(piece).map_err(|error| error.shift_offset(start))?;
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
