//! Encodes texts as `SentencePiece` does, a whole text being one piece of characters: normalize, find the symbols that
//! stay whole, and merge the text between them.
//!
//! Reading order: this file, [`normalize`], [`mod@merge`]. Models of words and models with unused tokens take a
//! separate path (`whole`, `unused`). The slow path takes these steps one by one. The fast path (`segments`) cuts the
//! text where no merge crosses ([`mod@safe_cuts`]) and remembers the ids of each segment. `offsets` finds the ranges of
//! ids, with the table `widths`. [`shown_texts`] has the texts that ids show.
//!
//! Left out: covering a text by scores ([`crate::kinds::unigram`]), reading `.model` files, which the Python package
//! does, and added tokens that are not symbols of the model ([`crate::split::special`]).

#![cfg_attr(not(feature = "fast"), allow(unused_variables, reason = "there is only the slow way"))]

pub mod merge;
pub mod normalize;
pub(crate) mod offsets;
pub mod safe_cuts;
#[cfg(feature = "fast")]
mod segments;
pub mod shown_texts;
mod unused;
mod whole;
pub(crate) mod widths;

use aho_corasick::{AhoCorasick, StartKind};

use crate::error::{Error, Result};
#[cfg(feature = "fast")]
use crate::fast::memory::PieceLookup;
use crate::kinds::Sampling;
use crate::kinds::sentencepiece::merge::{CharScratch, CharTokens, MissingRule, byte_ids};
use crate::kinds::sentencepiece::normalize::{Normalizer, write_form};
use crate::kinds::sentencepiece::safe_cuts::CharCuts;
use crate::kinds::sentencepiece::widths::CharWidths;
use crate::kinds::unigram::{self, Unigram, UnigramRules};
use crate::merge::draws::Draws;
use crate::merge::heap::Dropout;
use crate::split::Text;
use crate::split::special::build_automaton;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::threads::sessions::{MOST_BUFFERS, Pool, Reusable};
use crate::vocab::{Merge, Vocab};

/// The way a normalized text becomes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharRule {
    /// Characters merge.
    Merge,
    /// The tokens with the highest sum of scores cover the text.
    Unigram,
    /// Each word is a token or unknown; a word starts at each `▁`.
    Words,
}

/// The options of an engine for a vocabulary of characters.
#[derive(Debug)]
pub struct CharEngineOptions<'o> {
    /// A score for each token of the vocabulary, in its order. None ranks earlier tokens higher.
    pub scores: Option<&'o [f64]>,
    /// The way a text becomes tokens.
    pub way: CharRule,
    /// The ids of tokens that no text becomes.
    pub unused: &'o [u32],
    /// Whether a character without a token becomes its bytes, whose tokens are written `<0x00>` to `<0xFF>`.
    pub byte_fallback: bool,
    /// The id of every other character without a token.
    pub unknown: Option<u32>,
    /// The symbols of the normalized text that stay whole, with their ids.
    pub frozen: Vec<(String, u32)>,
    /// The normalizer.
    pub normalizer: Normalizer,
}

/// The engine of `SentencePiece` models; see the module.
#[derive(Debug)]
pub struct CharEngine {
    pub(crate) tokens: CharTokens,
    cuts: CharCuts,
    way: CharRule,
    unigram: Option<Unigram>,
    pub(crate) normalizer: Normalizer,
    pub(crate) frozen: Option<AhoCorasick>,
    frozen_ids: Vec<u32>,
    pub(crate) widths: CharWidths,
    sessions: Pool<CharSession>,
}

/// The state of one call at a time.
#[derive(Debug, Default)]
struct CharSession {
    scratch: CharScratch,
    unigram: unigram::UnigramScratch,
    #[cfg(feature = "fast")]
    lookup: PieceLookup,
}

impl CharSession {
    fn buffers(&self) -> usize {
        self.scratch.bytes() + self.unigram.bytes()
    }
}

impl Reusable for CharSession {
    fn bytes(&self) -> usize {
        let bytes = size_of::<Self>() + self.buffers();
        #[cfg(feature = "fast")]
        let bytes = bytes + self.lookup.bytes();
        bytes
    }

    fn shrink(&mut self) {
        if self.buffers() > MOST_BUFFERS {
            (self.scratch, self.unigram) = Default::default();
        }
    }
}

impl CharEngine {
    /// The engine of a vocabulary.
    ///
    /// # Errors
    /// [`Error::Model`] if a token is not UTF-8, there are too few scores, or a byte has no token.
    pub fn new(vocab: &Vocab, options: CharEngineOptions<'_>) -> Result<Self> {
        let CharEngineOptions { scores, way, unused, byte_fallback, unknown, frozen, normalizer } = options;
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
        let missing = MissingRule::new(&bytes, unknown);
        let widths = CharWidths::new(vocab, &frozen, &bytes, unknown, escape);
        let unigram = if way == CharRule::Unigram {
            let scores = scores.ok_or_else(|| Error::model("kind 'unigram' needs a score for each token", None))?;
            let (missing, silent) = (missing.clone(), &[&bytes[..], unused].concat());
            let rules = UnigramRules { scores, single: true, symbols: &frozen, silent, missing, unknown, escape };
            Some(Unigram::new(vocab, rules)?)
        } else {
            None
        };
        let tokens = CharTokens::new(vocab, scores, |id| !bytes.contains(&id), missing, escape)?.with_unused(unused);
        let (contents, frozen_ids): (Vec<_>, _) = frozen.into_iter().unzip();
        let (frozen, sessions) = (build_automaton(&contents, StartKind::Both)?, Pool::default());
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
                let whole = self.write_normalized(text, bounds)?;
                self.sessions.with_session(|session| unigram.encode(&whole, bounds.stop(), &mut session.unigram, out))
            }
            None if self.needs_whole() => {
                let normal = self.normalizer.normalize_whole(text, self.frozen.as_ref(), bounds)?;
                self.encode_whole(&normal, None, bounds.stop(), out, &mut |_| {})
            }
            #[cfg(feature = "fast")]
            None if !slow => self.sessions.with_session(|session| self.encode_fast(text, bounds, session, out)),
            None => self.encode_slowly(text, bounds, out),
        };
        result.map_err(|error| self.locate_error(error, text, bounds.stop()))
    }

    /// Appends the ids of a sampled encoding of `text`.
    ///
    /// # Errors
    /// As [`Self::encode`].
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
                let whole = self.write_normalized(text, bounds)?;
                let outcome = unigram.sample(&whole, sampling.alpha, draws, bounds.stop(), out);
                outcome.map_err(|error| self.place_written_error(error, &whole))
            }
            None if self.needs_whole() => {
                let normal = self.normalizer.normalize_whole(text, self.frozen.as_ref(), bounds)?;
                let dropout = Dropout { share: sampling.dropout, draws };
                self.encode_whole(&normal, Some(dropout), bounds.stop(), out, &mut |_| {})
            }
            None => self.for_each_text(&self.normalize(text, bounds)?, out, |part, out| {
                let dropout = Dropout { share: sampling.dropout, draws };
                self.tokens.sample(&self.tokens.write_form(part), dropout, bounds.stop(), out)
            }),
        };
        if let Some(unknown) = self.tokens.unknown() {
            join_unknown(unknown, start, out);
        }
        result.map_err(|error| self.place_error(error, text))
    }

    /// At most `most` encodings of a unigram model, the best first, with their sums of scores; none for other models.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn best_encodings(&self, text: Text<'_>, most: usize, bounds: &Bounds<'_>) -> Result<Vec<(Vec<u32>, f64)>> {
        let Some(unigram) = &self.unigram else { return Ok(Vec::new()) };
        let whole = self.write_normalized(text, bounds)?;
        let ways = unigram.best_encodings(&whole, most, bounds.stop());
        let mut ways = ways.map_err(|error| self.place_error(self.place_written_error(error, &whole), text))?;
        if let Some(unknown) = self.tokens.unknown() {
            for (ids, _) in &mut ways {
                join_unknown(unknown, 0, ids);
            }
        }
        Ok(ways)
    }

    /// The memory of the tables in bytes.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        let frozen = self.frozen.as_ref().map_or(0, AhoCorasick::memory_usage) + size_of_val(&self.frozen_ids[..]);
        let unigram = self.unigram.as_ref().map_or(0, Unigram::bytes);
        self.tokens.bytes() + self.cuts.bytes() + self.widths.bytes() + unigram + frozen
    }

    /// The number of idle sessions, and their bytes.
    #[must_use]
    pub fn sessions(&self) -> (usize, usize) {
        self.sessions.idle()
    }

    /// Drops the idle sessions.
    pub fn release(&self) {
        self.sessions.release();
    }

    fn encode_slowly(&self, text: Text<'_>, bounds: &Bounds<'_>, out: &mut Vec<u32>) -> Result<()> {
        let mut scratch = CharScratch::default();
        self.for_each_text(&self.normalize(text, bounds)?, out, |part, out| {
            self.tokens.merge(&self.tokens.write_form(part), bounds.stop(), &mut scratch, out)
        })
    }

    /// The normalized text in the form that is merged.
    fn write_normalized(&self, text: Text<'_>, bounds: &Bounds<'_>) -> Result<Vec<u8>> {
        let normal = self.normalizer.apply(text, self.frozen.as_ref(), bounds)?;
        let mut whole = if normal.prefix { b" ".to_vec() } else { Vec::new() };
        whole.extend_from_slice(&write_form(&normal.text, self.normalizer.escape));
        Ok(whole)
    }

    /// The normalized text, with all its spaces escaped.
    pub(crate) fn normalize(&self, text: Text<'_>, bounds: &Bounds<'_>) -> Result<Vec<u8>> {
        self.normalizer.normalize_whole(text, self.frozen.as_ref(), bounds)
    }

    /// Appends the ids of the frozen symbols in a normalized text, leftmost and then longest, and calls `each` with the
    /// text between them.
    fn for_each_text(
        &self,
        text: &[u8],
        out: &mut Vec<u32>,
        mut each: impl FnMut(&[u8], &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        self.for_each_part(text, |part, frozen| {
            let start = from;
            from += part.len();
            match frozen {
                Some(id) => {
                    out.push(id);
                    Ok(())
                }
                None => each(part, out).map_err(|error| {
                    self.place_written_error(error, &self.tokens.write_form(part)).shift_offset(start)
                }),
            }
        })
    }

    /// Whether the words of a text are tokens or unknown.
    #[must_use]
    pub fn has_words(&self) -> bool {
        self.way == CharRule::Words
    }

    /// The merge that makes the token with these bytes of a normalized text.
    #[must_use]
    pub fn merge_of(&self, token: &[u8]) -> Option<Merge> {
        if self.normalizer.escape && token.contains(&b' ') {
            None
        } else {
            self.tokens.find(&self.tokens.write_form(token))
        }
    }

    /// Calls `each` with the frozen symbols and their ids, and with the text between them. Unigram models freeze none.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn for_each_part(&self, text: &[u8], mut each: impl FnMut(&[u8], Option<u32>) -> Result<()>) -> Result<()> {
        let mut start = 0;
        for found in
            self.frozen.iter().filter(|_| self.way == CharRule::Merge).flat_map(|frozen| frozen.find_iter(text))
        {
            each(&text[start..found.start()], None)?;
            start = found.end();
            each(&text[found.start()..start], Some(self.frozen_ids[found.pattern().as_usize()]))?;
        }
        each(&text[start..], None)
    }

    /// Appends the ids of a part from [`Self::for_each_part`], with one unknown id for each unknown character.
    pub(crate) fn encode_part(&self, part: &[u8], slow: bool, stop: &Stop, out: &mut Vec<u32>) -> Result<()> {
        if let Some(unigram) = &self.unigram {
            let written = self.tokens.write_form(part);
            return self.sessions.with_session(|session| unigram.encode(&written, stop, &mut session.unigram, out));
        }
        #[cfg(feature = "fast")]
        if !slow {
            return self.sessions.with_session(|session| self.encode_segments(part, stop, session, out));
        }
        self.tokens.merge(&self.tokens.write_form(part), stop, &mut CharScratch::default(), out)
    }
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
