//! Encodings that are drawn at random, so that what is trained on them does not depend on a single one: merges are passed
//! over (BPE-dropout), and tokens with scores are drawn as often as their scores say (subword regularization).
//!
//! What is drawn follows from the seed alone.
//!
//! Sources: Provilkov et al., ACL 2020; Kudo, ACL 2018; the numbers are those of `SplitMix64`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::bounds::Bounds;
use crate::encode::Encoder;
use crate::encode::staged::{Call, placed_by};
use crate::error::Result;
use crate::kinds::cover::Cover;
use crate::merge::{Scratch, merge, sample};
use crate::split::Text;
use crate::split::special::{Allow, Segment};
use crate::steps::Line;
use crate::threads::parallel::Stop;
use crate::vocab::{Merge, Unit, Vocab};

/// How many merges happen between two looks at the stop flag.
const MERGES_PER_LOOK: usize = 1 << 12;
/// Stands before the first symbol, and behind the last.
const NOTHING: usize = usize::MAX;

/// How an encoding is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    /// What everything drawn follows from.
    pub seed: u64,
    /// How likely a merge is passed over each time, from 0 to 1.
    pub dropout: f64,
    /// What the sums of scores are multiplied by: 0 draws each way as often, a high number the best.
    pub alpha: f64,
}

/// Numbers that look random.
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ number >> 31
    }

    /// The next one, from 0 to below 1.
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A symbol: its id, and where it starts and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// The id.
    pub id: u32,
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// Merges symbols that stand side by side until no pair is left, or all that are left were passed over.
///
/// Each time, the pairs have their turn by rank and from left to right, and each is passed over with the probability
/// `dropout`; the first that is not merges. `look` gives the merge of two neighbours.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn merge_dropping(
    symbols: &mut Vec<Symbol>,
    look: impl Fn(Symbol, Symbol) -> Option<Merge>,
    dropout: f64,
    draws: &mut Draws,
    stop: &Stop,
) -> Result<()> {
    let count = symbols.len();
    let mut before: Vec<usize> = (0..count).map(|at| at.wrapping_sub(1)).collect();
    let mut after: Vec<usize> = (1..=count).map(|at| if at < count { at } else { NOTHING }).collect();
    let mut gone = vec![false; count];
    let entry = |symbols: &[Symbol], after: &[usize], at: usize| {
        let right = *symbols.get(*after.get(at)?)?;
        look(symbols[at], right).map(|merge| Reverse((merge.rank, at, right.end, merge.id)))
    };
    let mut heap: BinaryHeap<_> = (0..count).filter_map(|at| entry(symbols, &after, at)).collect();
    let mut dropped = Vec::new();
    let mut merges = 0usize;
    while let Some(Reverse((rank, at, end, id))) = heap.pop() {
        // An entry whose symbols are not what they were is out of date.
        let right = after[at];
        if gone[at] || symbols.get(right).is_none_or(|right| right.end != end) {
            continue;
        }
        if entry(symbols, &after, at) != Some(Reverse((rank, at, end, id))) {
            continue;
        }
        if draws.share() < dropout {
            dropped.push(Reverse((rank, at, end, id)));
            continue;
        }
        merges += 1;
        if merges.is_multiple_of(MERGES_PER_LOOK) {
            stop.check()?;
        }
        heap.extend(dropped.drain(..));
        symbols[at] = Symbol { id, start: symbols[at].start, end };
        gone[right] = true;
        after[at] = after[right];
        if let Some(next) = before.get_mut(after[at]) {
            *next = at;
        }
        heap.extend(entry(symbols, &after, at));
        if before[at] != NOTHING {
            heap.extend(entry(symbols, &after, before[at]));
        }
    }
    let mut gone = gone.into_iter();
    symbols.retain(|_| !gone.next().unwrap_or(true));
    Ok(())
}

/// Appends the ids of a piece in an encoding that is drawn.
pub(crate) fn sample_piece(
    vocab: &Vocab,
    piece: &[u8],
    (sampling, draws): (&Sampling, &mut Draws),
    stop: &Stop,
    (scratch, out): (&mut Scratch, &mut Vec<u32>),
) -> Result<()> {
    match vocab.cover() {
        Some(Cover::Unigram(unigram)) => unigram.sample(piece, sampling.alpha, draws, stop, out),
        None if vocab.unit() != Unit::Piece => sample(vocab, piece, (sampling.dropout, draws), stop, (scratch, out)),
        _ => merge(vocab, piece, stop, scratch, out),
    }
}

impl Encoder {
    /// Appends the ids of an encoding of `text` that is drawn. `WordPiece` and whole words have one encoding only.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn sample(
        &self,
        text: Text<'_>,
        allow: &Allow,
        sampling: &Sampling,
        stop: &Stop,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut draws = Draws::new(sampling.seed);
        let bounds = &Bounds::new(text.as_bytes().len(), stop);
        self.with_session(|session| {
            self.added().cut(text.as_bytes(), allow, |segment| match segment {
                Segment::Token(id, _) => {
                    out.push(id);
                    Ok(())
                }
                Segment::Text(start, end) => {
                    let part = text.part(start, end);
                    if self.is_staged() {
                        let call = Call::new(self, (allow, bounds), &mut *session, &mut *out, None);
                        return call.drawing(*sampling, &mut draws).text(part, start);
                    }
                    let result = if let Some(chars) = self.chars() {
                        chars.sample(part, sampling, &mut draws, bounds, out)
                    } else {
                        let (vocab, scratch) = (self.vocab(), &mut session.scratch);
                        let mut at = 0;
                        self.splitter().split(part, bounds, |piece| {
                            stop.check()?;
                            sample_piece(vocab, piece, (sampling, &mut draws), stop, (&mut *scratch, &mut *out))
                                .map_err(|error| error.shifted(at))?;
                            at += piece.len();
                            Ok(())
                        })
                    };
                    result.map_err(|error| error.shifted(start))
                }
            })
        })
    }

    /// The best encodings of a text without added tokens, the best first, with their sums of scores, at most `most`; none
    /// for tokens without scores.
    ///
    /// # Errors
    /// Those of [`Self::encode`].
    pub fn best_ways(&self, text: Text<'_>, most: usize, stop: &Stop) -> Result<Vec<(Vec<u32>, f64)>> {
        if let Some(chars) = self.chars() {
            return chars.best_ways(text, most, &Bounds::new(text.as_bytes().len(), stop));
        }
        let Some(Cover::Unigram(unigram)) = self.vocab().cover() else { return Ok(Vec::new()) };
        let mut ways = vec![(Vec::new(), 0.0)];
        let invalid = matches!(text, Text::Bytes(bytes) if std::str::from_utf8(bytes).is_err());
        let replaced = invalid.then(|| Line::replaced(text.as_bytes(), 0, true));
        let origins = replaced.as_ref().and_then(Line::origins);
        let text = replaced.as_ref().map_or(text, |line| Text::Str(line.text()));
        for (number, piece) in self.pieces(text, stop)?.iter().enumerate() {
            let next = unigram.best_ways(piece, most, stop);
            let next = next.map_err(|error| placed_by(self.of_piece(&error, text, (number, stop)), origins))?;
            let both = |(ids, sum): &(Vec<u32>, f64)| {
                let joined = |(more, own): &(Vec<u32>, f64)| ([&ids[..], more].concat(), sum + own);
                next.iter().map(joined).collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(both).collect();
            ways.sort_by(|left, right| right.1.total_cmp(&left.1));
            ways.truncate(most);
        }
        Ok(ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(dropout: f64, seed: u64) -> Vec<(usize, usize)> {
        let text = b"abababcab";
        let mut symbols: Vec<Symbol> =
            (0..).zip(text).map(|(at, &byte)| Symbol { id: u32::from(byte), start: at, end: at + 1 }).collect();
        let tokens: [&[u8]; 4] = [b"ab", b"abab", b"ba", b"cab"];
        let look = |left: Symbol, right: Symbol| {
            let joined = &text[left.start..right.end];
            let rank = tokens.iter().position(|token| *token == joined)?;
            Some(Merge { rank: rank as u32, id: 256 + rank as u32 })
        };
        merge_dropping(&mut symbols, look, dropout, &mut Draws::new(seed), &Stop::default()).unwrap();
        symbols.into_iter().map(|symbol| (symbol.start, symbol.end)).collect()
    }

    #[test]
    fn nothing_all_and_some_merges_are_passed_over() {
        assert_eq!(merged(0.0, 1), [(0, 4), (4, 6), (6, 9)]);
        assert_eq!(merged(1.0, 1).len(), 9);
        let drawn: std::collections::HashSet<_> = (0..100).map(|seed| merged(0.5, seed)).collect();
        assert!(drawn.len() > 10 && drawn.contains(&merged(0.5, 7)));
    }

    #[test]
    fn the_numbers_are_those_of_splitmix() {
        let mut draws = Draws::new(1_234_567);
        assert_eq!([draws.number(), draws.number()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
