//! Encodes a stretch of text by the tokens that cover it with the highest sum of scores.
//!
//! The best path to each place of the text is one token longer than the best path to an earlier place, so that one pass
//! over the text finds it. Sums have the precision of the scores and are made one addition after the other. Of equal
//! sums, the one whose last token starts first wins. The libraries that read such models do the same, and roundings
//! decide. Sums of single precision restart from 0 before they get so large that their roundings hide the scores. A
//! character that is not a token has a separate score, below all others.
//!
//! As in [`crate::kinds::sentencepiece::merge`], a space means `▁` if spaces are escaped.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::kinds::best_paths::{BestEdge, best_paths};
use crate::kinds::sentencepiece::merge::{MissingRule, byte_ids};
use crate::kinds::sentencepiece::normalize::{SPACE_MARK, write_form};
use crate::kinds::sentencepiece::safe_cuts::char_len;
use crate::merge::draws::Draws;
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;
use crate::vocab::trie::{ROOT, Trie};

/// The distance of the score of a character without a token from the lowest score.
const PENALTY: f64 = 10.0;
/// The score of a preferred symbol for each of its bytes except one.
const PREFERENCE: f64 = 0.1;
/// The sum beyond which sums of single precision restart from 0.
const MOST_SUMMED: f64 = 100_000.0;
/// The bytes between two checks of the stop flag.
const BYTES_PER_LOOK: usize = 1 << 16;
/// The place of a character without a token.
const MISSING: u32 = u32::MAX;

/// The options of an engine for a vocabulary with scores.
#[derive(Debug)]
pub struct UnigramRules<'o> {
    /// The score of each token, in the order of the vocabulary.
    pub scores: &'o [f64],
    /// Whether sums have single precision, and byte tokens and the unknown token match no text (`SentencePiece`).
    /// Otherwise every token matches its text, and unknown text is looked up as a whole (HF).
    pub single: bool,
    /// Symbols with their ids that are preferred to all tokens and not in the vocabulary.
    pub symbols: &'o [(String, u32)],
    /// The ids of the vocabulary that match no text.
    pub silent: &'o [u32],
    /// The result of a character without a token.
    pub missing: MissingRule,
    /// The unknown id.
    pub unknown: Option<u32>,
    /// Whether a space means `▁`.
    pub escape: bool,
}

#[derive(Debug, Clone, Copy)]
struct TokenScore {
    score: f64,
    id: u32,
}

/// The engine of a unigram model; see the module.
#[derive(Debug)]
pub struct Unigram {
    trie: Trie,
    entries: Vec<TokenScore>,
    /// The places of the preferred symbols.
    symbols: Range<u32>,
    unknown_score: f64,
    /// The most bytes of a step.
    longest: usize,
    single: bool,
    missing: MissingRule,
    unknown: Option<u32>,
    escape: bool,
}

/// The best path to a place: its sum, its last token, and the length of that token, which is 0 if there is no path yet.
#[derive(Debug, Clone, Copy, Default)]
struct BestStep {
    sum: f64,
    place: u32,
    len: u32,
}

/// A token that occurs in a text.
#[derive(Debug, Clone, Copy)]
struct LatticeEdge {
    start: usize,
    end: usize,
    place: u32,
    score: f64,
}

impl LatticeEdge {
    /// Its token and its length, as a path stores them.
    fn step(&self) -> (u32, u32) {
        (self.place, (self.end - self.start) as u32)
    }
}

/// Buffers that are reused from stretch to stretch.
#[derive(Debug, Default)]
pub struct UnigramScratch {
    best: Vec<BestStep>,
    path: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl UnigramScratch {
    /// The memory of the buffers in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let (best, path) =
            (self.best.capacity() * size_of::<BestStep>(), self.path.capacity() * size_of::<(u32, u32)>());
        best + path + self.ends.capacity() * size_of::<usize>()
    }

    /// The end of each of the latest ids.
    #[must_use]
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }
}

impl Unigram {
    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.trie.bytes() + size_of_val(&self.entries[..])
    }

    /// The engine of a vocabulary.
    ///
    /// # Errors
    /// [`Error::Model`] unless each token has one finite score.
    pub fn new(vocab: &Vocab, rules: UnigramRules<'_>) -> Result<Self> {
        let UnigramRules { scores, single, symbols, silent, missing, unknown, escape } = rules;
        if scores.len() != vocab.len() || scores.iter().any(|score| !score.is_finite()) {
            return Err(Error::model("each token must have one score, and it must be finite", None));
        }
        let (mut entries, mut texts) = (Vec::with_capacity(vocab.len()), Vec::with_capacity(vocab.len()));
        let mut lowest = f64::from(f32::MAX);
        for ((token, id), &score) in vocab.tokens().zip(scores) {
            if !silent.contains(&id) {
                lowest = score.min(lowest);
                entries.push(TokenScore { score, id });
                texts.push(token);
            }
        }
        for (content, id) in symbols {
            entries.push(TokenScore { score: preference_score(content.len()), id: *id });
            texts.push(content.as_bytes());
        }
        let symbols = (entries.len() - symbols.len()) as u32..entries.len() as u32;
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0).max(4);
        let texts: Vec<_> =
            texts.into_iter().zip(0..).map(|(text, place)| (text, write_form(text, escape), place)).collect();
        // No escaped text holds a space.
        let possible = texts.iter().filter(|(text, ..)| !(escape && text.contains(&b' ')));
        let trie = Trie::new(possible.map(|(_, written, place)| (&**written, *place)).collect());
        let unknown_score = if single { f64::from(lowest as f32 - PENALTY as f32) } else { lowest - PENALTY };
        Ok(Self { trie, entries, symbols, unknown_score, longest, single, missing, unknown, escape })
    }

    /// The engine of pieces, as HF has it; with `single`, as `SentencePiece` has it.
    ///
    /// # Errors
    /// As [`Self::new`], and [`Error::Model`] if `byte_fallback` lacks the token of a byte.
    pub fn of_pieces(
        vocab: &Vocab,
        scores: &[f64],
        single: bool,
        byte_fallback: bool,
        unknown: Option<u32>,
    ) -> Result<Self> {
        let bytes = if byte_fallback { byte_ids(vocab)? } else { Vec::new() };
        let missing = MissingRule::new(&bytes, unknown);
        let silent: &[u32] = if single { &bytes } else { &[] };
        Self::new(vocab, UnigramRules { scores, single, symbols: &[], silent, missing, unknown, escape: false })
    }

    /// Appends the ids of a UTF-8 text in the form of [`write_form`].
    ///
    /// # Errors
    /// [`Error::NotInVocabulary`] for a character without a token with [`MissingRule::Error`]; [`Error::Interrupted`].
    pub fn encode(&self, text: &[u8], stop: &Stop, scratch: &mut UnigramScratch, out: &mut Vec<u32>) -> Result<()> {
        let UnigramScratch { best, path, ends } = scratch;
        self.find_best(text, stop, best)?;
        path.clear();
        let mut end = text.len();
        while end > 0 {
            path.push((best[end].place, best[end].len));
            end -= best[end].len as usize;
        }
        ends.clear();
        self.push_path(text, path, out, |end| ends.push(end))
    }

    fn find_best(&self, text: &[u8], stop: &Stop, best: &mut Vec<BestStep>) -> Result<()> {
        best.clear();
        best.resize(text.len() + 1, BestStep::default());
        let (mut start, mut look) = (0, BYTES_PER_LOOK);
        while start < text.len() {
            if start > look {
                stop.check()?;
                look = start + BYTES_PER_LOOK;
            }
            if self.single && best[start].sum.abs() > MOST_SUMMED {
                self.recenter(&mut best[start..]);
            }
            let here = best[start].sum;
            start += self.for_each_token(text, start, |place, len| {
                let sum = self.round_sum(here + self.score(place));
                keep_better(&mut best[start + len], BestStep { sum, place, len: len as u32 });
            });
        }
        Ok(())
    }

    /// Makes the sum at the first of these places 0, and shifts the others by the same amount.
    #[cold]
    fn recenter(&self, best: &mut [BestStep]) {
        let offset = best[0].sum;
        let ahead = self.longest.min(best.len() - 1);
        best[0].sum = 0.0;
        for reached in best[1..=ahead].iter_mut().filter(|best| best.len > 0) {
            reached.sum = self.round_sum(reached.sum - offset);
        }
    }

    #[inline(always)]
    fn round_sum(&self, sum: f64) -> f64 {
        if self.single { f64::from(sum as f32) } else { sum }
    }

    /// Calls `each` with the place and the length of every token that starts at `start`, the shortest first, and of the
    /// character there if it is not a token. Returns the length of the character.
    #[inline(always)]
    fn for_each_token(&self, text: &[u8], start: usize, mut each: impl FnMut(u32, usize)) -> usize {
        let char = char_len(text[start]).min(text.len() - start);
        let (mut node, mut alone) = (ROOT, false);
        for (len, &byte) in (1..).zip(&text[start..]) {
            let Some(next) = self.trie.step(node, byte) else { break };
            node = next;
            if let Some(place) = self.trie.value(node) {
                each(place, len);
                alone |= len == char;
            }
        }
        if !alone {
            each(MISSING, char);
        }
        char
    }

    #[inline(always)]
    fn score(&self, place: u32) -> f64 {
        self.entries.get(place as usize).map_or(self.unknown_score, |entry| entry.score)
    }

    /// Every token that occurs in a text, ordered by its end and then by its start.
    fn edges(&self, text: &[u8]) -> Vec<LatticeEdge> {
        let (mut edges, mut start) = (Vec::new(), 0);
        while start < text.len() {
            start += self.for_each_token(text, start, |place, len| {
                let end = start + len;
                let score = if self.symbols.contains(&place) {
                    // The lattice counts the characters of a symbol, while the best path counts its bytes.
                    preference_score(text[start..end].iter().filter(|&&byte| byte & 0xC0 != 0x80).count())
                } else {
                    self.score(place)
                };
                edges.push(LatticeEdge { start, end, place, score });
            });
        }
        edges.sort_by_key(|edge| edge.end);
        edges
    }

    /// Returns at most `most` paths through a text, the best first, with their sums.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn best_encodings(&self, text: &[u8], most: usize, stop: &Stop) -> Result<Vec<(Vec<u32>, f64)>> {
        let edges = self.edges(text);
        if self.single {
            let best_edges: Vec<_> = edges
                .iter()
                .map(|&LatticeEdge { start, end, score, .. }| BestEdge { start, end, score: score as f32 })
                .collect();
            if let Some(found) = best_paths(&best_edges, text.len(), most, stop)? {
                let ids = |(way, sum): (Vec<usize>, f32)| {
                    let path: Vec<_> = way.iter().rev().map(|&number| edges[number].step()).collect();
                    let mut ids = Vec::new();
                    self.push_path(text, &path, &mut ids, |_| {})?;
                    Ok((ids, f64::from(sum)))
                };
                return found.into_iter().map(ids).collect();
            }
        }
        // By place: sums, each with the edge that leads there and the index of the path to its start that it continues.
        let mut ways: Vec<Vec<(f64, usize, usize)>> = vec![Vec::new(); text.len() + 1];
        ways[0].push((0.0, usize::MAX, 0));
        let mut from = 0;
        for ending in edges.chunk_by(|left, right| left.end == right.end) {
            stop.check()?;
            let mut found = Vec::new();
            for (number, edge) in (from..).zip(ending) {
                let before = ways[edge.start].iter().enumerate();
                found.extend(before.map(|(way, &(sum, ..))| (sum + edge.score, number, way)));
            }
            found.sort_by(|left, right| right.0.total_cmp(&left.0));
            found.truncate(most);
            from += ending.len();
            ways[ending[0].end] = found;
        }
        let mut all = Vec::with_capacity(ways[text.len()].len());
        for way in 0..ways[text.len()].len() {
            let (mut path, mut at, mut way) = (Vec::new(), text.len(), way);
            let sum = ways[at][way].0;
            while at > 0 {
                let (_, number, before) = ways[at][way];
                path.push(edges[number].step());
                (at, way) = (edges[number].start, before);
            }
            let mut ids = Vec::new();
            self.push_path(text, &path, &mut ids, |_| {})?;
            all.push((ids, sum));
        }
        Ok(all)
    }

    /// Appends the ids of a sampled path through a text. The probability of a path grows with the exponential of
    /// `alpha` times its sum.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn sample(&self, text: &[u8], alpha: f64, draws: &mut Draws, stop: &Stop, out: &mut Vec<u32>) -> Result<()> {
        stop.check()?;
        let edges = self.edges(text);
        // By place, the logarithm of the weight of all paths to it; by edge, that of all paths that end with it.
        let mut sums = vec![f64::NEG_INFINITY; text.len() + 1];
        sums[0] = 0.0;
        let mut weights = Vec::with_capacity(edges.len());
        let mut first = vec![0; text.len() + 2];
        for ending in edges.chunk_by(|left, right| left.end == right.end) {
            let begun = weights.len();
            weights.extend(ending.iter().map(|edge| sums[edge.start] + alpha * edge.score));
            let highest = weights[begun..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = weights[begun..].iter().map(|weight| (weight - highest).exp()).sum();
            sums[ending[0].end] = highest + sum.ln();
            first[ending[0].end] = begun;
        }
        let (mut path, mut end) = (Vec::new(), text.len());
        while end > 0 {
            let mut left = draws.next_fraction();
            let mut chosen = first[end];
            for (number, edge) in edges.iter().enumerate().skip(first[end]).take_while(|(_, edge)| edge.end == end) {
                chosen = number;
                left -= (weights[number] - sums[edge.end]).exp();
                if left < 0.0 {
                    break;
                }
            }
            path.push(edges[chosen].step());
            end = edges[chosen].start;
        }
        self.push_path(text, &path, out, |_| {})
    }

    /// Appends the ids of the tokens of a path, which is given from its end, and stores the end of each.
    fn push_path(
        &self,
        text: &[u8],
        path: &[(u32, u32)],
        out: &mut Vec<u32>,
        mut on_end: impl FnMut(usize),
    ) -> Result<()> {
        let (mut at, mut missing) = (0, 0..0);
        for &(place, len) in path.iter().rev() {
            let end = at + len as usize;
            let id = self.entries.get(place as usize).map(|entry| entry.id);
            match id.filter(|id| !self.is_unknown(*id)) {
                Some(id) => {
                    self.push_missing(text, missing, out, &mut on_end)?;
                    out.push(id);
                    on_end(end);
                    missing = end..end;
                }
                None if self.single => self.push_missing(text, at..end, out, &mut on_end)?,
                None => missing.end = end,
            }
            at = end;
        }
        self.push_missing(text, missing, out, &mut on_end)
    }

    /// Whether an id is a byte of text without tokens.
    #[must_use]
    pub fn is_missing_byte(&self, id: u32) -> bool {
        matches!(&self.missing, MissingRule::Bytes(ids) if ids.contains(&id))
    }

    /// Whether an id is the unknown one, even if a token has it.
    fn is_unknown(&self, id: u32) -> bool {
        !self.single && self.unknown == Some(id)
    }

    /// Appends the ids of several characters without tokens in a row.
    fn push_missing(
        &self,
        text: &[u8],
        missing: Range<usize>,
        out: &mut Vec<u32>,
        mut on_end: impl FnMut(usize),
    ) -> Result<()> {
        let (start, end) = (missing.start, missing.end);
        let run = &text[missing];
        if run.is_empty() {
            return Ok(());
        }
        if let Some(place) = self.trie.find(run).filter(|_| !self.single) {
            out.push(self.entries[place as usize].id);
            on_end(end);
            return Ok(());
        }
        let shown = |byte: &u8| -> &'static [u8] { if self.escape && *byte == b' ' { SPACE_MARK } else { b"" } };
        match &self.missing {
            MissingRule::Bytes(ids) => {
                for (at, byte) in (start..).zip(run) {
                    let content = match shown(byte) {
                        [] => std::slice::from_ref(byte),
                        content => content,
                    };
                    for &byte in content {
                        out.push(ids[usize::from(byte)]);
                        on_end(at + 1);
                    }
                }
            }
            MissingRule::Unknown(id) => {
                out.push(*id);
                on_end(end);
            }
            MissingRule::Error => {
                let char = &run[..char_len(run[0]).min(run.len())];
                let content = if shown(&char[0]).is_empty() { char } else { SPACE_MARK };
                return Err(Error::NotInVocabulary { content: content.into(), offset: start });
            }
        }
        Ok(())
    }
}

/// The score of a preferred symbol of this many units.
#[allow(clippy::cast_precision_loss)] // no content is so long
fn preference_score(units: usize) -> f64 {
    f64::from((PREFERENCE * (units as f64 - 1.0)) as f32)
}

/// Updates the path to a place if the offered one is better.
#[inline(always)]
fn keep_better(target: &mut BestStep, offered: BestStep) {
    if target.len == 0 || offered.sum > target.sum {
        *target = offered;
    }
}
