//! Merges a stretch of characters: two neighbours whose joined bytes are a token merge, by the tokens' scores: the
//! highest first, and the leftmost of equals.
//!
//! A character without a token is a symbol like any other, and can merge; at the end, the remaining ones become the
//! ids of their bytes, or the unknown id. Where spaces are escaped, a space replaces `▁` here in texts and tokens
//! alike, which makes both shorter.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashSet;

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::normalize::{SPACE_MARK, write_form};
use crate::kinds::sentencepiece::safe_cuts::char_len;
use crate::merge::heap::{Dropout, Heap, MergeLimits};
use crate::merge::rule::{Symbols, check_size};
use crate::threads::parallel::Stop;
use crate::vocab::{Merge, MergeRule, Tables, Unit, Vocab};

/// The id of a character without a token during merging. No token has it.
const MISSING: u32 = u32::MAX;
const NEVER: u32 = u32::MAX;

/// The result of a character without a token.
#[derive(Debug, Clone)]
pub enum MissingRule {
    /// The ids of its bytes.
    Bytes(Box<[u32; 256]>),
    /// One id, and only one for several such characters in a row.
    Unknown(u32),
    /// An error.
    Error,
}

impl MissingRule {
    /// The rule of a model with the ids of all bytes or none, and with or without an unknown id.
    #[must_use]
    pub fn new(bytes: &[u32], unknown: Option<u32>) -> Self {
        match (<[u32; 256]>::try_from(bytes), unknown) {
            (Ok(bytes), _) => Self::Bytes(Box::new(bytes)),
            (_, Some(id)) => Self::Unknown(id),
            _ => Self::Error,
        }
    }
}

/// The ids of the 256 byte tokens.
///
/// # Errors
/// [`Error::Model`] if one is missing.
pub fn byte_ids(vocab: &Vocab) -> Result<Vec<u32>> {
    let id = |byte: u8| {
        let token = format!("<0x{byte:02X}>");
        let id = vocab.id(token.as_bytes());
        id.ok_or_else(|| Error::model(format!("byte_fallback needs the token {token}, which is missing"), None))
    };
    (0..=255).map(id).collect()
}

/// The tokens by their bytes, with their order.
#[derive(Debug)]
pub struct CharTokens {
    escape: bool,
    /// The tokens as texts are written here, and their ids.
    pub(super) vocab: Vocab,
    /// By place in `vocab`: the rank of the token; several can be equal.
    ranks: Vec<u32>,
    /// The ids of ASCII characters.
    ascii: [u32; 128],
    /// By first and second ASCII character: their merge.
    ascii_pairs: Box<[Merge]>,
    missing: MissingRule,
    /// The ids that no text becomes.
    unused: HashSet<u32>,
}

/// Buffers that are reused from stretch to stretch.
#[derive(Debug, Default)]
pub struct CharScratch {
    symbols: Symbols,
    heap: Heap,
}

impl CharScratch {
    /// The memory of the buffers in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.symbols.bytes() + self.heap.bytes()
    }
}

impl CharTokens {
    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.vocab.bytes() + size_of_val(&self.ranks[..]) + size_of_val(&*self.ascii_pairs)
    }

    /// The tokens of a vocabulary that `mergeable` accepts, with a score for each place of the vocabulary.
    ///
    /// # Errors
    /// [`Error::Model`] for two tokens with the same written text.
    pub fn new(
        vocab: &Vocab,
        scores: Option<&[f64]>,
        mergeable: impl Fn(u32) -> bool,
        missing: MissingRule,
        escape: bool,
    ) -> Result<Self> {
        let (mut blob, mut ends, mut ids, mut kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let ranks = scores.map_or_else(|| (0..vocab.len() as u32).collect(), ranks);
        for ((token, id), rank) in vocab.tokens().zip(ranks) {
            // No escaped text holds a space.
            if mergeable(id) && !(escape && token.contains(&b' ')) {
                blob.extend_from_slice(&write_form(token, escape));
                ends.push(blob.len() as u32);
                ids.push(id);
                kept.push(rank);
            }
        }
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: &[] };
        let vocab = Vocab::new(Unit::Piece, MergeRule::Bytes, false, tables)?;
        let ascii_pairs = vec![Merge { rank: NEVER, id: MISSING }; 1 << 14].into();
        let (ascii, unused) = ([MISSING; 128], HashSet::default());
        let mut tokens = Self { escape, vocab, ranks: kept, ascii, ascii_pairs, missing, unused };
        tokens.fill_ascii();
        Ok(tokens)
    }

    /// The same tokens with `unused` ids that no text becomes.
    #[must_use]
    pub fn with_unused(mut self, unused: &[u32]) -> Self {
        self.unused = unused.iter().copied().collect();
        self
    }

    /// Whether some tokens are unused.
    #[must_use]
    pub fn has_unused(&self) -> bool {
        !self.unused.is_empty()
    }

    /// Whether no text becomes this id.
    #[must_use]
    pub fn is_unused(&self, id: u32) -> bool {
        self.unused.contains(&id)
    }

    fn fill_ascii(&mut self) {
        for first in 0..128u8 {
            self.ascii[usize::from(first)] = self.vocab.id(&[first]).unwrap_or(MISSING);
            for second in 0..128u8 {
                if let Some(merge) = self.find(&[first, second]) {
                    self.ascii_pairs[usize::from(first) << 7 | usize::from(second)] = merge;
                }
            }
        }
    }

    /// The text in the form that is merged.
    #[must_use]
    pub fn write_form<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        write_form(text, self.escape)
    }

    #[inline]
    pub(super) fn char_id(&self, char: &[u8]) -> u32 {
        match char {
            [byte] if byte.is_ascii() => self.ascii[usize::from(*byte)],
            _ => self.vocab.id(char).unwrap_or(MISSING),
        }
    }

    #[inline]
    fn pair(&self, joined: &[u8]) -> Option<Merge> {
        // Two bytes that are two characters are ASCII.
        if let [first, second] = *joined { self.ascii_pair(first, second) } else { self.find(joined) }
    }

    #[inline(always)]
    pub(super) fn ascii_pair(&self, first: u8, second: u8) -> Option<Merge> {
        let merge = self.ascii_pairs[usize::from(first) << 7 | usize::from(second)];
        (merge.rank != NEVER).then_some(merge)
    }

    /// The merge that makes the token with these bytes.
    #[inline]
    pub(super) fn find(&self, token: &[u8]) -> Option<Merge> {
        self.vocab.merge(MISSING, MISSING, token).map(|merge| self.with_rank(merge))
    }

    #[inline(always)]
    pub(super) fn with_rank(&self, Merge { rank: place, id }: Merge) -> Merge {
        Merge { rank: self.ranks[place as usize], id }
    }

    /// Appends the ids of a symbol at the end of merging.
    #[inline]
    pub(super) fn push(&self, id: u32, char: &[u8], out: &mut Vec<u32>) -> Result<()> {
        if id != MISSING {
            out.push(id);
            return Ok(());
        }
        self.push_missing(if self.escape && char == b" " { SPACE_MARK } else { char }, out)
    }

    /// Appends the ids of a text without a token.
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for [`MissingRule::Error`].
    pub(super) fn push_missing(&self, content: &[u8], out: &mut Vec<u32>) -> Result<()> {
        match &self.missing {
            MissingRule::Bytes(ids) => out.extend(content.iter().map(|&byte| ids[usize::from(byte)])),
            MissingRule::Unknown(id) => out.push(*id),
            MissingRule::Error => return Err(Error::NotInVocabulary { content: content.into(), offset: 0 }),
        }
        Ok(())
    }

    /// Appends the ids of a text in the form of [`Self::write_form`].
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for a character without a token with [`MissingRule::Error`]; [`Error::Interrupted`].
    pub fn merge(&self, text: &[u8], stop: &Stop, scratch: &mut CharScratch, out: &mut Vec<u32>) -> Result<()> {
        self.merge_or_pass(text, None, stop, scratch, out)
    }

    fn merge_or_pass(
        &self,
        text: &[u8],
        dropout: Option<Dropout<'_>>,
        stop: &Stop,
        scratch: &mut CharScratch,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        check_size(text.len())?;
        let CharScratch { symbols, heap } = scratch;
        symbols.clear();
        for (start, char) in characters(text) {
            symbols.ids.push(self.char_id(char));
            symbols.starts.push(start as u32);
        }
        symbols.starts.push(text.len() as u32);
        let look = |_: [u32; 2], range: Range<usize>| self.pair(&text[range]);
        heap.merge(symbols, look, MergeLimits { least: 1, stop }, dropout)?;
        for (&id, ends) in symbols.ids.iter().zip(symbols.starts.windows(2)) {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            self.push(id, &text[start..end], out).map_err(|error| error.shift_offset(start))?;
        }
        Ok(())
    }

    /// The same with merges that can be skipped.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn sample(&self, text: &[u8], dropout: Dropout<'_>, stop: &Stop, out: &mut Vec<u32>) -> Result<()> {
        self.merge_or_pass(text, Some(dropout), stop, &mut CharScratch::default(), out)
    }

    /// The id of characters without a token, one for several in a row.
    #[must_use]
    pub fn unknown(&self) -> Option<u32> {
        if let MissingRule::Unknown(id) = self.missing { Some(id) } else { None }
    }
}

/// The rank of each token: the number of higher scores, so that equal scores have equal ranks. As in `SentencePiece`,
/// scores compare by their bits: -0.0 is below 0.0, and NaN is beyond the infinity of its sign.
fn ranks(scores: &[f64]) -> Vec<u32> {
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by(|&left, &right| scores[right].total_cmp(&scores[left]));
    let mut ranks = vec![0; scores.len()];
    for (rank, neighbours) in (1..).zip(places.windows(2)) {
        let is_equal = scores[neighbours[0]].total_cmp(&scores[neighbours[1]]).is_eq();
        ranks[neighbours[1]] = if is_equal { ranks[neighbours[0]] } else { rank };
    }
    ranks
}

/// The characters of a UTF-8 text, with their starts.
#[inline]
pub(super) fn characters(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let len = char_len(*text.get(at)?);
        at = text.len().min(at + len);
        Some((start, &text[start..at]))
    })
}
