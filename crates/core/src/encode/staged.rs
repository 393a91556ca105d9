//! Texts to ids in stages, where a model has steps that rewrite a text: normalize, cut out the added tokens that are found
//! in the normalized text, split, and merge each piece.
//!
//! A stage that a model does not have costs nothing, and models that have none do not come here.

use memchr::memmem;

use crate::bounds::Bounds;
use crate::encode::Encoder;
use crate::encode::pieces::{Pieces, Session};
use crate::encode::sampled::{Draws, Sampling, sample_piece};
use crate::encode::spans::Spans;
use crate::error::{Error, Result, shortened};
use crate::kinds::hf_characters::Symbols;
use crate::merge::{merge, merge_with_ends, sample_started};
use crate::split::scan::Ends;
use crate::split::special::{AddedToken, Allow, Segment};
use crate::split::{Text, utf8_parts};
use crate::steps::bytes::byte_of;
use crate::steps::splitters::Prepend;
use crate::steps::{Joined, Line, Normalizer, Origin, Placed, Splitter, normalize, split};
use crate::threads::parallel::Stop;
use crate::vocab::Unit;

/// What is done to a text beside cutting and merging.
#[derive(Debug, Default)]
pub struct Stages {
    /// What is done to a text first.
    pub normalizers: Vec<Placed<Normalizer>>,
    /// What cuts it, if some step rewrites it or leaves a part out; otherwise the encoder's own splitter does.
    pub splitters: Vec<Placed<Splitter>>,
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
    /// Those of [`Self::normalize_added`].
    pub fn shown(&self, added: &[AddedToken]) -> Result<Vec<AddedToken>> {
        let (mut shown, stop) = (added.to_vec(), Stop::default());
        let bounds = self.bounds_of(added, &stop);
        for token in shown.iter_mut().filter(|token| token.flags.normalized) {
            let mut line = Line::new(&token.content);
            self.normalize_added(&mut line, &bounds)?;
            if !line.text().is_empty() {
                token.content = line.text().to_owned();
            }
        }
        Ok(shown)
    }

    /// Whether a step asks for origins.
    fn ask_for_origins(&self) -> bool {
        self.splitters.iter().any(|splitter| matches!(**splitter, Splitter::Metaspace(_, Prepend::First)))
    }

    /// The bounds of the contents of added tokens, which are one text.
    #[must_use]
    pub fn bounds_of<'s>(&self, added: &[AddedToken], stop: &'s Stop) -> Bounds<'s> {
        Bounds::new(added.iter().map(|token| token.content.len()).sum(), stop)
    }

    /// Normalizes the content of an added token.
    ///
    /// # Errors
    /// [`Error::Model`] for one that cannot be normalized within the bounds.
    pub fn normalize_added(&self, line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
        let content = shortened(line.text()).into_owned();
        normalize(&self.normalizers, line, bounds).map_err(|error| {
            Error::model(format!("the added token {content:?} cannot be normalized: {}", error.unplaced()), None)
        })
    }

    /// Whether it searches with a regex, which takes longer than the text lets expect.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.normalizers.iter().any(|step| step.searches()) || self.splitters.iter().any(|step| step.searches())
    }
}

/// The line of a text that starts at `start` of its source, with origins if they are asked for.
fn line_of(text: Text<'_>, start: usize, tracked: bool) -> Line<'_> {
    match text {
        Text::Str(text) if tracked => Line::tracked(text, start),
        Text::Str(text) => Line::new(text),
        Text::Bytes(bytes) => Line::replaced(bytes, start, tracked),
    }
}

/// Pieces one after another, where each ends, and where each byte comes from, if that was kept.
type Written = (Vec<u8>, Vec<usize>, Option<Vec<Origin>>);

impl Encoder {
    /// The pieces of a text without added tokens, as they are merged: normalized, and rewritten where a step does so.
    ///
    /// # Errors
    /// [`Error::Pattern`] when a regex engine gives up, [`Error::TooLong`] and [`Error::Interrupted`].
    pub fn pieces(&self, text: Text<'_>, stop: &Stop) -> Result<Vec<Vec<u8>>> {
        let mut pieces = Vec::new();
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        self.each_piece(text, (false, &bounds), |piece, _| pieces.push(piece.to_vec()))?;
        Ok(pieces)
    }

    /// Calls `each` with every piece, and with the origins of its bytes if they are asked for.
    fn each_piece(
        &self,
        text: Text<'_>,
        (tracked, bounds): (bool, &Bounds<'_>),
        mut each: impl FnMut(&[u8], Option<&[Origin]>),
    ) -> Result<()> {
        let tracked = tracked || self.stages().ask_for_origins();
        let mut at = 0;
        for (part, is_text) in utf8_parts(text.as_bytes()) {
            let start = at;
            at += part.len();
            let Some(part) = std::str::from_utf8(part).ok().filter(|_| is_text) else {
                let own: Vec<Origin> = (start..at).map(|at| (at, at + 1)).collect();
                each(part, Some(&own));
                continue;
            };
            let mut line = line_of(Text::Str(part), start, tracked);
            normalize(&self.stages().normalizers, &mut line, bounds)?;
            let (text, ends, origins) = if self.stages().splitters.is_empty() {
                let mut ends = Vec::new();
                self.splitter().ends(Text::Str(line.text()), bounds, &mut Ends::default(), |found| {
                    ends.extend_from_slice(found);
                    Ok(())
                })?;
                let (text, origins) = line.into_parts();
                (text.into_owned().into_bytes(), ends, origins)
            } else {
                self.joined(line, bounds)?
            };
            let mut start = 0;
            for end in ends {
                let place = std::mem::replace(&mut start, end)..end;
                each(&text[place.clone()], origins.as_ref().map(|origins| &origins[place]));
            }
        }
        Ok(())
    }

    /// The error of one of the pieces of a text, with its place in the text.
    pub(crate) fn of_piece(&self, error: &Error, text: Text<'_>, (number, stop): (usize, &Stop)) -> Error {
        let (mut count, mut found) = (0, error.clone());
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        // What goes wrong here went wrong before.
        drop(self.each_piece(text, (true, &bounds), |_, origins| {
            if count == number {
                found = placed_by(error.clone(), origins);
            }
            count += 1;
        }));
        found
    }

    /// The pieces of a normalized line that steps split, one after another, where each ends, and where its bytes come from.
    fn joined(&self, line: Line<'_>, bounds: &Bounds<'_>) -> Result<Written> {
        let splitters = &self.stages().splitters;
        let joined = split(splitters, line, bounds)?;
        if self.vocab().unit() == Unit::Byte && splitters.iter().any(|splitter| writes_bytes(splitter)) {
            return Ok(as_bytes(&joined));
        }
        Ok((joined.text.into_bytes(), joined.ends, joined.origins))
    }
}

/// What one call works with.
pub(crate) struct Call<'e> {
    encoder: &'e Encoder,
    allow: &'e Allow,
    bounds: &'e Bounds<'e>,
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
        (allow, bounds): (&'e Allow, &'e Bounds<'e>),
        session: &'e mut Session,
        out: &'e mut Vec<u32>,
        spans: Option<&'e mut Spans>,
    ) -> Self {
        Self { encoder, allow, bounds, stop: bounds.stop(), session, out, spans, ends: Vec::new(), drawn: None }
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
    ///
    /// # Errors
    /// Those of [`Encoder::encode`]; their offsets are those of the source.
    pub fn text(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let Text::Bytes(bytes) = text else { return self.part(text, start) };
        if self.encoder.vocab().unit() != Unit::Byte {
            let text = std::str::from_utf8(bytes).map_or(text, Text::Str);
            return self.part(text, start);
        }
        let mut at = start;
        for (part, is_text) in utf8_parts(bytes) {
            match std::str::from_utf8(part) {
                Ok(part) if is_text => self.part(Text::Str(part), at)?,
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

    /// Appends the ids of a part that is UTF-8 or is made so. Only with origins is it known where an error is: without
    /// them, the part is encoded again, within the bounds that it had before.
    fn part(&mut self, text: Text<'_>, start: usize) -> Result<()> {
        let tracked = self.spans.is_some() || self.encoder.stages().ask_for_origins();
        let (first, before) = (self.out.len(), self.bounds.left());
        let draws = self.drawn.as_ref().map(|(_, draws)| Draws::clone(draws));
        let result = self.rewritten(text, start, tracked);
        if tracked {
            return result;
        }
        match result {
            Err(Error::SpecialTokenInText { .. } | Error::NotInVocabulary { .. }) => {}
            // To search again would take as long as the first time.
            Err(error) if matches!(text, Text::Str(_)) && self.encoder.stages().normalizers.is_empty() => {
                return Err(error.searched_from(start));
            }
            Err(error) => return Err(error.unplaced()),
            Ok(()) => return Ok(()),
        }
        self.out.truncate(first);
        self.bounds.reset(before);
        if let (Some((_, drawn)), Some(draws)) = (&mut self.drawn, draws) {
            **drawn = draws;
        }
        self.rewritten(text, start, true).and(result)
    }

    fn rewritten(&mut self, text: Text<'_>, start: usize, tracked: bool) -> Result<()> {
        let encoder = self.encoder;
        let mut line = line_of(text, start, tracked);
        normalize(&encoder.stages().normalizers, &mut line, self.bounds)?;
        if !encoder.added().any_normalized() {
            return self.line(line);
        }
        let normal = line;
        let cut = encoder.added().cut_normalized(normal.text(), self.allow, |segment| match segment {
            Segment::Token(id, end) => {
                self.out.push(id);
                if let Some(spans) = &mut self.spans {
                    place(spans, [end].into_iter(), normal.origins().unwrap_or_default());
                }
                Ok(())
            }
            Segment::Text(start, end) => {
                let made = self.line(normal.part(start..end));
                made.map_err(|error| if tracked { error } else { error.searched_from(start) })
            }
        });
        match (cut, normal.origins()) {
            (Err(Error::SpecialTokenInText { token, offset }), Some(origins)) => {
                Err(self.special_token(token, &origins[offset..], (text.as_bytes(), start)))
            }
            (cut, _) => cut,
        }
    }

    /// The error of a special token that a normalized text spells where these origins begin; its place is that of the
    /// token, not of what a step put before it.
    fn special_token(&self, token: String, origins: &[Origin], (source, start): (&[u8], usize)) -> Error {
        let mut line = Line::new(&token);
        let bounds = Bounds::new(token.len(), self.stop);
        let spelt = normalize(&self.encoder.stages().normalizers, &mut line, &bounds).map_or(1, |()| line.text().len());
        let spelt = &origins[..spelt.clamp(1, origins.len())];
        let (from, to) = (spelt[0].0 - start, spelt[spelt.len() - 1].1 - start);
        let inside = memmem::find(source.get(from..to).unwrap_or_default(), token.as_bytes());
        Error::SpecialTokenInText { offset: start + from + inside.unwrap_or(0), token }
    }

    /// Appends the ids of a line without added tokens.
    fn line(&mut self, line: Line<'_>) -> Result<()> {
        self.stop.check()?;
        let (encoder, first) = (self.encoder, self.out.len());
        if !encoder.stages().splitters.is_empty() {
            let (text, ends, origins) = encoder.joined(line, self.bounds).map_err(Error::unplaced)?;
            self.pieces(&text, &ends).map_err(|error| placed_by(error, origins.as_deref()))?;
            self.placed(first, origins.as_deref());
            return Ok(());
        }
        let text = line.text();
        let done = if self.is_by_piece() {
            let mut at = 0;
            encoder.splitter().split(text, self.bounds, |piece| {
                self.piece(piece, at)?;
                at += piece.len();
                Ok(())
            })
        } else {
            encoder.encode_part(Text::Str(text), self.bounds, self.session, self.out)
        };
        done.map_err(|error| placed_by(error, line.origins()))?;
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
        self.ids_of(piece, start).map_err(|error| error.shifted(start))
    }

    fn ids_of(&mut self, piece: &[u8], start: usize) -> Result<()> {
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
    // Bytes around the last end that have one origin: a step may make very many of a few.
    let mut stretch = 0..0;
    for end in ends {
        let Some((last, &origin)) = end.checked_sub(1).and_then(|last| Some((last, origins.get(last)?))) else {
            continue;
        };
        if !stretch.contains(&last) {
            let before = origins[..end].iter().rev().take_while(|&&other| other == origin).count();
            let behind = origins[end..].iter().take_while(|&&other| other == origin).count();
            stretch = end - before..end + behind;
        }
        let (to, touched) = if stretch.end == end {
            (origin.1, origin.1)
        } else if stretch.len() == origin.1 - origin.0 {
            (origin.0 + (end - stretch.start), origin.0 + (end - stretch.start))
        } else {
            (origin.0, origin.1)
        };
        spans.push_to(to, touched);
    }
}

fn writes_bytes(splitter: &Splitter) -> bool {
    matches!(splitter, Splitter::ByteCharacters)
}

/// The error of a text with these origins, with its place in their source.
pub(crate) fn placed_by(error: Error, origins: Option<&[Origin]>) -> Error {
    let Some(origins) = origins else { return error };
    let place = |offset: usize| origins.get(offset).or(origins.last()).map_or(offset, |origin| origin.0);
    match error {
        Error::NotInVocabulary { content, offset } => Error::NotInVocabulary { content, offset: place(offset) },
        Error::Pattern { pattern, problem, offset } => Error::Pattern { pattern, problem, offset: offset.map(place) },
        error => error,
    }
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
