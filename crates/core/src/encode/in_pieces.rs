//! Ids with their pieces and their origins in the source, as HF's tokenizers report them.
//!
//! Unlike ranges ([`crate::split::spans`]), origins exclude text that a step removed, and can overlap. An id's origin
//! is that of its bytes in the rewritten text: from the start of the first to the end of the last.

use crate::encode::call::EncodeCall;
use crate::encode::encoder::Encoder;
use crate::encode::session::Session;
use crate::encode::staged::line_of;
use crate::error::Result;
use crate::split::Text;
use crate::split::spans::{Count, Spans};
use crate::split::special::{Allow, Segment};
use crate::steps::{Line, Origin, normalize};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Unit;

/// The ids of a text, and parallel values of each.
#[derive(Debug, Default)]
pub struct IdsInPieces {
    /// The ids.
    pub ids: Vec<u32>,
    /// The number of the piece or added token of each id.
    pub pieces: Vec<usize>,
    /// Whether each id is an added token that was cut out.
    pub added: Vec<bool>,
    /// The start of each id's origin in the source, in bytes.
    pub starts: Vec<usize>,
    /// The end of each id's origin.
    pub ends: Vec<usize>,
    /// The rewritten text of all ids.
    pub text: Vec<u8>,
    /// The start of each id in the rewritten text.
    pub text_starts: Vec<usize>,
    /// The end of each id in the rewritten text.
    pub text_ends: Vec<usize>,
    /// The number of pieces.
    count: usize,
}

impl IdsInPieces {
    /// Appends a piece with its origins: its ids, and their ends in the piece.
    fn push_piece(&mut self, text: &[u8], origins: &[Origin], ids: &[u32], ends: impl Iterator<Item = usize>) {
        let (mut start, before) = (0, self.text.len());
        self.text.extend_from_slice(text);
        for (&id, end) in ids.iter().zip(ends) {
            let last = origins.get(end.wrapping_sub(1)).copied().unwrap_or_default();
            self.ids.push(id);
            self.pieces.push(self.count);
            self.added.push(false);
            self.starts.push(origins.get(start).copied().unwrap_or_default().0);
            self.ends.push(last.1);
            self.text_starts.push(before + start);
            self.text_ends.push(before + end);
            start = end;
        }
        self.count += 1;
    }

    fn push_token(&mut self, id: u32, line: &Line<'_>) {
        let text = line.text().as_bytes();
        self.push_piece(text, line.origins().unwrap_or_default(), &[id], [text.len()].into_iter());
        self.added.pop();
        self.added.push(true);
    }

    /// Sets the origin of the byte tokens of one run of unknown text, from id `first` on, to the whole run.
    fn join_bytes(&mut self, first: usize, is_byte: impl Fn(u32) -> bool) {
        let mut place = first;
        while place < self.ids.len() {
            let in_run = |&at: &usize| self.text_ends[at] - self.text_starts[at] == 1 && is_byte(self.ids[at]);
            let stop = place + (place..self.ids.len()).take_while(in_run).count();
            if stop > place + 1 {
                for (starts, ends) in [(&mut self.starts, &mut self.ends), (&mut self.text_starts, &mut self.text_ends)]
                {
                    let (start, end) = (starts[place], ends[stop - 1]);
                    starts[place..stop].fill(start);
                    ends[place..stop].fill(end);
                }
            }
            place = stop.max(place + 1);
        }
    }
}

impl Encoder {
    /// Whether the origins of ids are their ranges: no step rewrites a text, and every id is that of its own bytes.
    #[must_use]
    pub fn has_ranges_as_origins(&self) -> bool {
        !self.is_slow()
            && !self.is_staged()
            && self.chars().is_none()
            && self.vocab().unit() == Unit::Byte
            && self.piece_encoder().unigram().is_none()
    }

    /// Returns the ids of a text with their pieces and origins.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_in_pieces(
        &self,
        text: Text<'_>,
        allow: &Allow,
        stop: &Stop,
        session: &mut Session,
    ) -> Result<IdsInPieces> {
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        let (mut result, mut ids, mut spans) = (IdsInPieces::default(), Vec::new(), Spans::new(Count::Bytes));
        let mut call = EncodeCall::new(self, allow, bounds, session, &mut ids).with_spans(&mut spans);
        self.added().cut(text.as_bytes(), allow, |segment| match segment {
            Segment::Token(id, start, end) => {
                result.push_token(id, &line_of(text.part(start, end), start, true));
                Ok(())
            }
            Segment::Text(start, end) => {
                let mut line = line_of(text.part(start, end), start, true);
                normalize(&self.stages().normalizers, &mut line, bounds)?;
                if !self.added().any_normalized() {
                    return call.line_in_pieces(line, &mut result);
                }
                self.added().cut_normalized(line.text(), allow, |segment| match segment {
                    Segment::Token(id, start, end) => {
                        result.push_token(id, &line.part(start..end));
                        Ok(())
                    }
                    Segment::Text(start, end) => call.line_in_pieces(line.part(start..end), &mut result),
                })
            }
        })?;
        Ok(result)
    }
}

impl EncodeCall<'_> {
    /// Appends the ids of a normalized line without added tokens.
    fn line_in_pieces(&mut self, line: Line<'_>, result: &mut IdsInPieces) -> Result<()> {
        let encoder = self.encoder;
        let (text, piece_ends, origins) = encoder.write_pieces(line, self.bounds)?;
        let (origins, unigram, mut start) = (origins.unwrap_or_default(), encoder.piece_encoder().unigram(), 0);
        for end in piece_ends {
            let (piece, first) = (start..end, result.ids.len());
            self.out.clear();
            self.ends.clear();
            self.push_piece(&text[piece.clone()], 0)?;
            let (text, origins) = (&text[piece.clone()], &origins[piece]);
            if self.is_by_piece() {
                result.push_piece(text, origins, self.out, self.ends.drain(..));
            } else {
                let ends = self.out.iter().scan(0, |end, &id| {
                    *end += encoder.vocab().width(id);
                    Some(*end)
                });
                result.push_piece(text, origins, self.out, ends);
            }
            if let Some(unigram) = unigram {
                result.join_bytes(first, |id| unigram.is_missing_byte(id));
            }
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::{added_token, listed_vocab};
    use crate::encode::stages::Stages;
    use crate::kinds::{Kernel, PieceEncoder};
    use crate::split::Splitter;
    use crate::split::special::{AddedToken, AddedTokenFlags, AddedTokens};
    use crate::steps::{Spec, normalizers, splitters};

    #[test]
    fn origins_exclude_removed_text_and_can_overlap() {
        let vocab = listed_vocab(Unit::Piece, &["?", "e", "\u{301}"], &[], "");
        let flags = AddedTokenFlags { lstrip: true, ..AddedTokenFlags::default() };
        let added = AddedToken { flags, ..added_token("<m>", 3, true) };
        let spec = |kind: &str| [Spec { kind: kind.into(), options: Vec::new() }];
        let length =
            Spec { kind: "fixed_length".into(), options: vec![("length".into(), crate::steps::Value::Number(1))] };
        let stages = Stages {
            normalizers: normalizers(&spec("nfd")).unwrap(),
            splitters: splitters(&[spec("whitespace_split").to_vec(), vec![length]].concat()).unwrap(),
            ..Stages::default()
        };
        let pieces = Arc::new(PieceEncoder::new(Arc::new(vocab), Kernel::Words(Some(0))));
        let added = AddedTokens::new(vec![added]).unwrap();
        let encoder = Encoder::new(pieces, added, Splitter::from_steps(&[]).unwrap()).with_stages(stages).unwrap();
        let mut session = Session::default();
        let found =
            encoder.encode_in_pieces(Text::Str(" é x <m>"), &Allow::All, &Stop::default(), &mut session).unwrap();
        assert_eq!((found.ids, found.pieces), (vec![1, 2, 0, 3], vec![0, 1, 2, 3]));
        assert_eq!((found.starts, found.ends), (vec![1, 1, 4, 5], vec![3, 3, 5, 9]));
        assert_eq!(found.added, [false, false, false, true]);
        assert_eq!(found.text, "e\u{301}x <m>".as_bytes());
    }
}
