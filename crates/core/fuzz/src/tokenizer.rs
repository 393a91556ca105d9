//! Checks whole tokenizers (drawn vocabulary, steps and added tokens) on drawn texts. The twin is a walk that runs one
//! step after another and remembers nothing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use toksmith_core::Error;
use toksmith_core::decode::Decoder;
use toksmith_core::encode::Encoder;
use toksmith_core::encode::stages::Stages;
use toksmith_core::kinds::{PieceEncoder, PieceScratch};
use toksmith_core::split::spans::{Count, PlacedIds, Spans};
use toksmith_core::split::special::{AddedTokens, Allow, Segment};
use toksmith_core::split::{Splitter, Text, utf8_parts};
use toksmith_core::steps::bytes::byte_of;
use toksmith_core::steps::{self, Line, LocatedStep, Spec, normalize, splitters};
use toksmith_core::text::bounds::Bounds;
use toksmith_core::threads::parallel::Stop;
use toksmith_core::vocab::Unit;

use crate::parts::{Codes, Drawn, draw_tokenizer};
use crate::text::text_of;

/// The most that steps can grow a text: the factor, and the bytes added.
const GROWTH: (usize, usize) = (64, 1 << 20);

/// The ids of a text, or its error.
type Ids = Result<Vec<u32>, Error>;

/// An encoder with the parts that its slow twin needs.
struct Twins {
    pieces: Arc<PieceEncoder>,
    fast: Encoder,
    /// Each splitter as a step, including the splitters that only cut.
    splitters: Rc<Vec<LocatedStep<steps::SplitStep>>>,
    decoder: Decoder,
    chain: bool,
    /// Whether decoding returns the text.
    lossless: bool,
}

impl Twins {
    /// None if the parts do not fit together, which is an error and not a finding.
    fn new(drawn: Drawn) -> Option<Self> {
        let Drawn { pieces, symbols, added, normalizers, cuts, decoders } = drawn;
        let flagged =
            added.iter().any(|token| token.flags != toksmith_core::split::special::AddedTokenFlags::default());
        let lossless = pieces.vocab().unit() == Unit::Byte && normalizers.is_empty() && decoders.is_empty() && !flagged;
        let pieces = Arc::new(pieces);
        let mut splitter = Splitter::from_steps(&cuts).ok()?;
        let lossless = lossless && splitter.only_cuts();
        let mut stages = Stages { normalizers: steps::normalizers(&normalizers).ok()?, symbols, ..Stages::default() };
        if !splitter.only_cuts() {
            stages.splitters = splitters(&cuts).ok()?;
            splitter = Splitter::from_steps(&[]).ok()?;
        }
        let shown = stages.shown_tokens(&added).ok()?;
        let chain = if decoders.is_empty() { None } else { Some(steps::decoders(&decoders).ok()?) };
        let has_chain = chain.is_some();
        let decoder = Decoder::new(Arc::clone(pieces.vocab()), &shown).with_chain(chain);
        let added = AddedTokens::new(added).ok()?;
        let fast = Encoder::new(pieces.clone(), added, splitter).with_stages(stages).ok()?;
        Some(Self { pieces, fast, splitters: compile_once(&cuts)?, decoder, chain: has_chain, lossless })
    }

    fn encode(&self, text: Text<'_>, allow: &Allow) -> Ids {
        let (mut ids, stop) = (Vec::new(), Stop::default());
        self.fast.with_session(|session| self.fast.encode(text, allow, &stop, session, &mut ids)).map(|()| ids)
    }

    /// Runs one step after another, with a copy between any two.
    fn encode_slowly(&self, text: Text<'_>, allow: &Allow) -> Ids {
        let (mut ids, stop) = (Vec::new(), Stop::default());
        let bounds = Bounds::new(text.as_bytes().len(), &stop);
        let added = self.fast.added();
        added.cut(text.as_bytes(), allow, |segment| {
            let (start, end) = match segment {
                Segment::Token(id, ..) => {
                    ids.push(id);
                    return Ok(());
                }
                Segment::Text(start, end) => (start, end),
            };
            let mut at = start;
            for (part, is_text) in utf8_parts(&text.as_bytes()[start..end]) {
                match std::str::from_utf8(part) {
                    Ok(part) if is_text => self.text_slowly((part, at), (allow, &bounds), &mut ids)?,
                    _ => self.piece(part, &mut ids)?,
                }
                at += part.len();
            }
            Ok(())
        })?;
        Ok(ids)
    }

    fn text_slowly(
        &self,
        (text, start): (&str, usize),
        (allow, bounds): (&Allow, &Bounds<'_>),
        ids: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut line = Line::with_origins(text, start);
        normalize(&self.fast.stages().normalizers, &mut line, bounds)?;
        self.fast.added().cut_normalized(line.text(), allow, |segment| match segment {
            Segment::Token(id, ..) => {
                ids.push(id);
                Ok(())
            }
            Segment::Text(start, end) => self.line(line.part(start..end), bounds, ids),
        })
    }

    fn line(&self, line: Line<'_>, bounds: &Bounds<'_>, ids: &mut Vec<u32>) -> Result<(), Error> {
        let joined = steps::split(&self.splitters, line, bounds)?;
        let writes = self.splitters.iter().any(|step| matches!(**step, steps::SplitStep::ByteCharacters));
        let as_bytes = writes && self.pieces.vocab().unit() == Unit::Byte;
        let mut start = 0;
        for &end in &joined.ends {
            let piece = &joined.text[std::mem::replace(&mut start, end)..end];
            let bytes: Vec<u8> = piece.chars().flat_map(|char| spell_char(char, as_bytes)).collect();
            self.piece(&bytes, ids)?;
        }
        Ok(())
    }

    fn piece(&self, piece: &[u8], ids: &mut Vec<u32>) -> Result<(), Error> {
        let (stop, mut scratch) = (Stop::default(), PieceScratch::default());
        match (&self.fast.stages().symbols, std::str::from_utf8(piece)) {
            (Some(symbols), Ok(text)) => symbols.encode(self.pieces.merger(), text, &stop, &mut scratch.merge, ids),
            _ => self.pieces.encode(piece, &stop, &mut scratch, ids),
        }
    }

    /// Checks the text when new, when repeated, counted, in a batch, with offsets, and decoded.
    fn check(&self, text: Text<'_>) {
        for allow in [Allow::Text, Allow::All, Allow::Raise] {
            let expected = without_places(self.encode_slowly(text, &allow));
            let result = self.encode(text, &allow);
            check_error(&result, text);
            assert_eq!(without_places(result), expected, "new");
            assert_eq!(without_places(self.encode(text, &allow)), expected, "met before");
            let stop = Stop::default();
            let count = self.fast.with_session(|session| {
                let counted = self.fast.count(text, &allow, &stop, session, &mut Vec::new());
                counted.map(|count| usize::try_from(count).expect("a few ids"))
            });
            assert_eq!(without_places(count), expected.as_ref().map(Vec::len).map_err(Clone::clone), "counted");
            for count in [Count::Bytes, Count::Characters] {
                self.check_offsets(text, (&allow, count), expected.as_ref());
            }
            if let Ok(ids) = &expected {
                self.check_decoded(text, ids);
            }
            if !matches!(allow, Allow::All) {
                continue;
            }
            let batch = self.fast.encode_batch(&[text, text], &allow, 2, &stop);
            let twice = expected.clone().map(|ids| vec![ids.clone(), ids]);
            assert_eq!(without_places(batch), twice, "in a batch");
        }
        if let Ok(pieces) = self.fast.pieces(text, &Stop::default()) {
            let most = GROWTH.0 * text.as_bytes().len() + GROWTH.1;
            assert!(pieces.iter().map(Vec::len).sum::<usize>() <= most, "the text grows too much");
        }
    }

    /// Checks that the ranges of the ids follow each other from the start of the text to its end.
    fn check_offsets(&self, text: Text<'_>, (allow, count): (&Allow, Count), expected: Result<&Vec<u32>, &String>) {
        let (mut ids, mut spans, stop) = (Vec::new(), Spans::new(count), Stop::default());
        let outcome = self.fast.with_session(|session| {
            self.fast.encode_with_offsets(text, allow, &stop, session, PlacedIds { ids: &mut ids, spans: &mut spans })
        });
        assert_eq!(without_places(outcome.map(|()| &ids)), expected.map_err(Clone::clone), "with offsets");
        if expected.is_err() || ids.is_empty() {
            return;
        }
        let bytes = text.as_bytes();
        let whole = if count == Count::Bytes { bytes.len() } else { String::from_utf8_lossy(bytes).chars().count() };
        let Spans { starts, ends, .. } = &spans;
        assert_eq!((starts.len(), ends.len()), (ids.len(), ids.len()), "a range for each id");
        assert!(starts.iter().zip(ends).all(|(start, end)| start <= end), "{starts:?} {ends:?}");
        assert!(starts.is_sorted() && ends.is_sorted(), "{starts:?} {ends:?}");
        assert_eq!((starts.first(), ends.last()), (Some(&0), Some(&whole)), "the text is covered");
        let joined = |(end, start)| if count == Count::Bytes { end == start } else { end >= start };
        assert!(ends.iter().zip(&starts[1..]).all(joined), "ranges leave gaps: {starts:?} {ends:?}");
    }

    fn check_decoded(&self, text: Text<'_>, ids: &[u32]) {
        let mut bytes = Vec::new();
        let decoded = self.decoder.decode(ids, &mut bytes);
        assert_eq!(decoded, Ok(()), "every id is known");
        let mut long = Vec::new();
        assert_eq!(self.decoder.decode_long(ids, &Stop::default(), &mut long), Ok(()));
        assert_eq!(bytes, long, "as one of many ids");
        if !self.chain {
            let tokens = ids.iter().flat_map(|&id| self.decoder.token(id).unwrap_or_default());
            assert!(tokens.eq(&bytes), "the tokens one after another");
        }
        if self.lossless {
            assert_eq!(bytes, text.as_bytes(), "and back");
        }
    }
}

/// The number of splitter lists kept, as compiling regexes takes longer than all else.
const KEPT: usize = 400;

/// Compiles the splitters of the slow twin.
fn compile_once(cuts: &[Spec]) -> Option<Rc<Vec<LocatedStep<steps::SplitStep>>>> {
    thread_local! {
        static COMPILED: RefCell<HashMap<String, Rc<Vec<LocatedStep<steps::SplitStep>>>>> = RefCell::default();
    }
    COMPILED.with_borrow_mut(|compiled| {
        let name = format!("{cuts:?}");
        if let Some(known) = compiled.get(&name) {
            return Some(known.clone());
        }
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        let new_steps = Rc::new(splitters(cuts).ok()?);
        compiled.insert(name, new_steps.clone());
        Some(new_steps)
    })
}

/// A character unchanged, or the byte that it stands for.
fn spell_char(char: char, as_bytes: bool) -> Vec<u8> {
    match byte_of(char).filter(|_| as_bytes) {
        Some(byte) => vec![byte],
        None => char.to_string().into_bytes(),
    }
}

/// A result without the places of its errors: the slow twin knows places in pieces only.
/// The digest in `tests/fuzz_seeds.rs` covers these texts.
fn without_places<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| match error {
        Error::InBatch { error, .. } => without_places::<()>(Err(*error)).unwrap_err(),
        Error::SpecialTokenInText { token, .. } => format!("the special token {token:?}"),
        Error::NotInVocabulary { .. } => "something has no token".to_owned(),
        Error::Pattern { .. } => "a regex gave up".to_owned(),
        Error::TooLong { .. } => "the text grows too much".to_owned(),
        other => panic!("{other}"),
    })
}

/// Checks that an error names a place of the caller's text.
fn check_error(result: &Ids, text: Text<'_>) {
    let bytes = text.as_bytes();
    match result {
        Err(Error::SpecialTokenInText { offset, .. }) => {
            let between = std::str::from_utf8(bytes).map_or(true, |text| text.is_char_boundary(*offset));
            assert!(*offset < bytes.len() && between, "{offset} is not a place of the text");
        }
        Err(Error::NotInVocabulary { offset, .. }) => {
            assert!(*offset <= bytes.len(), "{offset} is after the end of the text");
        }
        _ => {}
    }
}

/// The ids of a text, or its error; the text and the tokenizer are made of `data`. None for an invalid tokenizer.
#[must_use]
pub fn ids(data: &[u8]) -> Option<Result<Vec<u32>, String>> {
    let mut codes = Codes::new(data);
    let twins = draw_tokenizer(&mut codes).and_then(Twins::new)?;
    let text = text_of(codes.rest());
    Some(without_places(twins.encode(Text::Str(&String::from_utf8_lossy(&text)), &Allow::All)))
}

/// Checks a tokenizer and a text, both made of `data`.
///
/// # Panics
/// If the ids differ from the slow twin's, or break a rule that docs/spec.md states.
pub fn any(data: &[u8]) {
    let mut codes = Codes::new(data);
    let Some(twins) = draw_tokenizer(&mut codes).and_then(Twins::new) else { return };
    let text = text_of(codes.rest());
    let lossy = String::from_utf8_lossy(&text);
    twins.check(Text::Str(&lossy));
    if twins.pieces.vocab().unit() == Unit::Byte && lossy.as_bytes() != text {
        twins.check(Text::Bytes(&text));
    }
}
