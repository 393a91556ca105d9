//! Texts to ids where a whole text is one piece of characters, as `SentencePiece` does it: normalize, find the symbols
//! that stay whole, and merge what lies between.
//!
//! Reading order: this file, [`normalize`], [`mod@merge`]. Models of words and those with unused tokens go
//! their own way (`whole`, `undo`). The slow way takes these steps one by one. The fast way (`segments`) cuts the text where
//! no merge crosses ([`mod@safe_cuts`]) and remembers the ids of each segment. `offsets` says where ids come from, with the table `widths`. [`decoded`]
//! says what ids show.
//!
//! Left out: covering a text by scores ([`crate::kinds::unigram`]), reading `.model` files, which the Python package
//! does, and added tokens that are not symbols of the model ([`crate::split::special`]).

#![cfg_attr(not(feature = "fast"), allow(unused_variables, reason = "there is only the slow way"))]

pub mod decoded;
pub mod merge;
pub mod normalize;
pub(crate) mod offsets;
pub mod safe_cuts;
#[cfg(feature = "fast")]
mod segments;
mod undo;
mod whole;
pub(crate) mod widths;

use aho_corasick::{AhoCorasick, StartKind};

use crate::error::{Error, Result};
#[cfg(feature = "fast")]
use crate::fast::memory::Remembered;
use crate::kinds::Sampling;
use crate::kinds::sentencepiece::merge::{CharScratch, CharTokens, Missing};
use crate::kinds::sentencepiece::normalize::{Normalizer, written};
use crate::kinds::sentencepiece::safe_cuts::CharCuts;
use crate::kinds::sentencepiece::widths::CharWidths;
use crate::kinds::unigram::{self, Unigram, UnigramRules};
use crate::merge::draws::Draws;
use crate::merge::heap::Dropout;
use crate::split::Text;
use crate::split::special::automaton;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::threads::sessions::{Kept, MOST_BUFFERS, Worth};
use crate::vocab::Vocab;

/// How a normalized text becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharsWay {
    /// Characters merge.
    Merge,
    /// The tokens with the highest sum of scores cover the text.
    Unigram,
    /// Each word is a token or unknown; a word starts at each `▁`.
    Words,
}

/// What makes a vocabulary of characters run.
#[derive(Debug)]
pub struct CharsOptions<'o> {
    /// A score for each token of the vocabulary, in its order. With None, an earlier token is better.
    pub scores: Option<&'o [f64]>,
    /// How a text becomes tokens.
    pub way: CharsWay,
    /// Ids of tokens that no text becomes.
    pub unused: &'o [u32],
    /// Whether a character without a token becomes its bytes, whose tokens are written `<0x00>` to `<0xFF>`.
    pub byte_fallback: bool,
    /// The id of every other character without a token.
    pub unknown: Option<u32>,
    /// Symbols that are found in the normalized text and stay whole, with their ids.
    pub frozen: Vec<(String, u32)>,
    /// How a text is normalized.
    pub normalizer: Normalizer,
}

/// See the module.
#[derive(Debug)]
pub struct Chars {
    pub(crate) tokens: CharTokens,
    cuts: CharCuts,
    way: CharsWay,
    unigram: Option<Unigram>,
    pub(crate) normalizer: Normalizer,
    pub(crate) frozen: Option<AhoCorasick>,
    frozen_ids: Vec<u32>,
    pub(crate) widths: CharWidths,
    sessions: Kept<CharSession>,
}

/// What one call at a time works with.
#[derive(Debug, Default)]
struct CharSession {
    scratch: CharScratch,
    unigram: unigram::BestPaths,
    #[cfg(feature = "fast")]
    remembered: Remembered,
}

impl CharSession {
    fn buffers(&self) -> usize {
        self.scratch.bytes() + self.unigram.bytes()
    }
}

impl Worth for CharSession {
    fn bytes(&self) -> usize {
        let bytes = size_of::<Self>() + self.buffers();
        #[cfg(feature = "fast")]
        let bytes = bytes + self.remembered.bytes();
        bytes
    }

    fn shrink(&mut self) {
        if self.buffers() > MOST_BUFFERS {
            (self.scratch, self.unigram) = Default::default();
        }
    }
}

impl Chars {
    /// The engine of a vocabulary.
    ///
    /// # Errors
    /// [`Error::Model`] when a token is not UTF-8, there are too few scores, or a byte has no token.
    pub fn new(vocab: &Vocab, options: CharsOptions<'_>) -> Result<Self> {
        let CharsOptions { scores, way, unused, byte_fallback, unknown, frozen, normalizer } = options;
        if scores.is_some_and(|scores| scores.len() != vocab.len()) {
            return Err(Error::model("each token must have one score", None));
        }
        let escape = normalizer.escape;
        let bytes = if byte_fallback { byte_ids(vocab)? } else { Vec::new() };
        let mut texts = Vec::with_capacity(vocab.len());
        for (token, id) in vocab.tokens() {
            let text = std::str::from_utf8(token);
            let text = text.map_err(|_| Error::model("a token of characters must be UTF-8", Some(id)))?;
            if !bytes.contains(&id) {
                texts.push(text);
            }
        }
        let cuts = CharCuts::new(texts.into_iter(), escape);
        let missing = match (<[u32; 256]>::try_from(&bytes[..]), unknown) {
            (Ok(bytes), _) => Missing::Bytes(Box::new(bytes)),
            (_, Some(id)) => Missing::Unknown(id),
            _ => Missing::Error,
        };
        let widths = CharWidths::new(vocab, &frozen, &bytes, unknown, escape);
        let unigram = if way == CharsWay::Unigram {
            let scores = scores.ok_or_else(|| Error::model("kind 'unigram' needs a score for each token", None))?;
            let (missing, silent) = (missing.clone(), &[&bytes[..], unused].concat());
            let rules = UnigramRules { scores, single: true, symbols: &frozen, silent, missing, unknown, escape };
            Some(Unigram::new(vocab, rules)?)
        } else {
            None
        };
        let tokens = CharTokens::new(vocab, scores, |id| !bytes.contains(&id), missing, escape)?.with_unused(unused);
        let (contents, frozen_ids): (Vec<_>, _) = frozen.into_iter().unzip();
        let (frozen, sessions) = (automaton(&contents, StartKind::Both)?, Kept::default());
        Ok(Self { tokens, cuts, way, unigram, normalizer, frozen, frozen_ids, widths, sessions })
    }

    /// Appends the ids of `text` to `out`; with `slow`, without cuts and memory.
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for a character without a token, [`Error::TooLong`], [`Error::Interrupted`].
    pub fn encode(&self, text: Text<'_>, slow: bool, bounds: &Bounds<'_>, out: &mut Vec<u32>) -> Result<()> {
        let start = out.len();
        let result = self.encode_all(text, slow, bounds, out);
        if let Some(unknown) = self.tokens.unknown() {
            join_unknown(unknown, start, out);
        }
        result
    }

    /// The same, with one unknown id for each unknown character.
    pub(crate) fn encode_all(&self, text: Text<'_>, slow: bool, bounds: &Bounds<'_>, out: &mut Vec<u32>) -> Result<()> {
        let result = match &self.unigram {
            Some(unigram) => {
                let whole = self.whole(text, bounds)?;
                self.with_session(|session| unigram.encode(&whole, bounds.stop(), &mut session.unigram, out))
            }
            None if self.needs_whole() => {
                let normal = self.normalizer.whole(text, self.frozen.as_ref(), bounds)?;
                self.encode_whole(&normal, None, bounds.stop(), out, &mut |_| {})
            }
            #[cfg(feature = "fast")]
            None if !slow => self.with_session(|session| self.encode_fast(text, bounds, session, out)),
            None => self.encode_slowly(text, bounds, out),
        };
        result.map_err(|error| self.located(error, text, bounds.stop()))
    }

    /// Appends the ids of an encoding of `text` that is drawn.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn sample(
        &self,
        text: Text<'_>,
        sampling: &Sampling,
        draws: &mut Draws,
        bounds: &Bounds<'_>,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let start = out.len();
        let result = match &self.unigram {
            Some(unigram) => {
                let whole = self.whole(text, bounds)?;
                let done = unigram.sample(&whole, sampling.alpha, draws, bounds.stop(), out);
                done.map_err(|error| self.unwritten(error, &whole))
            }
            None if self.needs_whole() => {
                let normal = self.normalizer.whole(text, self.frozen.as_ref(), bounds)?;
                let dropout = Dropout { share: sampling.dropout, draws };
                self.encode_whole(&normal, Some(dropout), bounds.stop(), out, &mut |_| {})
            }
            None => self.parts(&self.normalized(text, bounds)?, out, |part, out| {
                let dropout = Dropout { share: sampling.dropout, draws };
                self.tokens.sample(&self.tokens.written(part), dropout, bounds.stop(), out)
            }),
        };
        if let Some(unknown) = self.tokens.unknown() {
            join_unknown(unknown, start, out);
        }
        result.map_err(|error| self.placed(error, text))
    }

    /// The best encodings of a unigram model, the best first, with their sums of scores: at most `most`; none for others.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn best_ways(&self, text: Text<'_>, most: usize, bounds: &Bounds<'_>) -> Result<Vec<(Vec<u32>, f64)>> {
        let Some(unigram) = &self.unigram else { return Ok(Vec::new()) };
        let whole = self.whole(text, bounds)?;
        let ways = unigram.best_ways(&whole, most, bounds.stop());
        let mut ways = ways.map_err(|error| self.placed(self.unwritten(error, &whole), text))?;
        if let Some(unknown) = self.tokens.unknown() {
            for (ids, _) in &mut ways {
                join_unknown(unknown, 0, ids);
            }
        }
        Ok(ways)
    }

    fn with_session<T>(&self, work: impl FnOnce(&mut CharSession) -> T) -> T {
        self.sessions.lend(work)
    }

    /// The bytes of the tables.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        let frozen = self.frozen.as_ref().map_or(0, AhoCorasick::memory_usage) + size_of_val(&self.frozen_ids[..]);
        let unigram = self.unigram.as_ref().map_or(0, Unigram::bytes);
        self.tokens.bytes() + self.cuts.bytes() + self.widths.bytes() + unigram + frozen
    }

    /// How many sessions wait for the next calls, and their bytes.
    #[must_use]
    pub fn sessions(&self) -> (usize, usize) {
        self.sessions.held()
    }

    /// Drops the sessions that wait.
    pub fn release(&self) {
        self.sessions.release();
    }

    fn encode_slowly(&self, text: Text<'_>, bounds: &Bounds<'_>, out: &mut Vec<u32>) -> Result<()> {
        let mut scratch = CharScratch::default();
        self.parts(&self.normalized(text, bounds)?, out, |part, out| {
            self.tokens.merge(&self.tokens.written(part), bounds.stop(), &mut scratch, out)
        })
    }

    /// The normalized text in the form in which it is merged.
    fn whole(&self, text: Text<'_>, bounds: &Bounds<'_>) -> Result<Vec<u8>> {
        let normal = self.normalizer.apply(text, self.frozen.as_ref(), bounds)?;
        let mut whole = if normal.prefix { b" ".to_vec() } else { Vec::new() };
        whole.extend_from_slice(&written(&normal.text, self.normalizer.escape));
        Ok(whole)
    }

    /// The normalized text, with all its spaces escaped.
    fn normalized(&self, text: Text<'_>, bounds: &Bounds<'_>) -> Result<Vec<u8>> {
        self.normalizer.whole(text, self.frozen.as_ref(), bounds)
    }

    /// Appends the ids of the frozen symbols in a normalized text, leftmost and then longest, and calls `each` with the text
    /// between them.
    fn parts(
        &self,
        text: &[u8],
        out: &mut Vec<u32>,
        mut each: impl FnMut(&[u8], &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        self.each_part(text, |part, frozen| {
            let start = from;
            from += part.len();
            match frozen {
                Some(id) => {
                    out.push(id);
                    Ok(())
                }
                None => {
                    each(part, out).map_err(|error| self.unwritten(error, &self.tokens.written(part)).shifted(start))
                }
            }
        })
    }

    /// Calls `each` with the frozen symbols and their ids, and with the text between them. Unigram models freeze none.
    pub(crate) fn each_part(&self, text: &[u8], mut each: impl FnMut(&[u8], Option<u32>) -> Result<()>) -> Result<()> {
        let mut start = 0;
        for found in
            self.frozen.iter().filter(|_| self.way == CharsWay::Merge).flat_map(|frozen| frozen.find_iter(text))
        {
            each(&text[start..found.start()], None)?;
            start = found.end();
            each(&text[found.start()..start], Some(self.frozen_ids[found.pattern().as_usize()]))?;
        }
        each(&text[start..], None)
    }

    /// Appends the ids of a text that [`Self::each_part`] gives, with one unknown id for each unknown character.
    pub(crate) fn encode_part(&self, part: &[u8], slow: bool, stop: &Stop, out: &mut Vec<u32>) -> Result<()> {
        if let Some(unigram) = &self.unigram {
            let written = self.tokens.written(part);
            return self.with_session(|session| unigram.encode(&written, stop, &mut session.unigram, out));
        }
        #[cfg(feature = "fast")]
        if !slow {
            return self.with_session(|session| self.segments(part, stop, session, out));
        }
        self.tokens.merge(&self.tokens.written(part), stop, &mut CharScratch::default(), out)
    }
}

/// The ids of the 256 byte tokens.
///
/// # Errors
/// [`Error::Model`] for one that is missing.
pub fn byte_ids(vocab: &Vocab) -> Result<Vec<u32>> {
    let id = |byte: u8| {
        let token = format!("<0x{byte:02X}>");
        let id = vocab.id(token.as_bytes());
        id.ok_or_else(|| Error::model(format!("byte_fallback needs the token {token}, which is missing"), None))
    };
    (0..=255).map(id).collect()
}

/// Replaces several unknown ids in a row by one.
pub(crate) fn join_unknown(unknown: u32, start: usize, out: &mut Vec<u32>) {
    let mut last = None;
    let mut at = start;
    for place in start..out.len() {
        let id = out[place];
        if id != unknown || last != Some(unknown) {
            out[at] = id;
            at += 1;
        }
        last = Some(id);
    }
    out.truncate(at);
}
