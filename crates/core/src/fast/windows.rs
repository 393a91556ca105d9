//! Merges a long stretch of bytes by windows: overlapping parts, merged separately and joined where they agree.
//!
//! A token is *made* if merging its own bytes gives it. A place between two made tokens is a *joint* if merging the
//! bytes of both gives just these two. Merging a stretch gives the tokens `t1 … tn` exactly if they are made, their
//! bytes are the stretch, and every place between two of them is a joint:
//!
//! - If merging gives `t1 … tn`, no merge crossed a place between them. Inside `ti` the merges are then the merges of
//!   its bytes alone, and inside `ti t(i+1)` the merges of the bytes of both: a pair with the lowest rank, and the
//!   leftmost of equals, among all pairs is so among the pairs of a part too. So each is made, and each place between
//!   two is a joint.
//! - If all places are joints, no merge crosses one: the first to do so would be the next merge of the bytes of its two
//!   tokens alone as well, because inside these the merges so far are the merges of them alone. So merging makes
//!   each token from its own bytes. Two of them do not merge either, or their joint would not hold.
//!
//! So the result of merging a window consists of made tokens with joints between them. If two overlapping windows both
//! have one token at the same bytes, then the tokens of the first up to this one and the tokens of the second after it
//! are again such a row. A row from the start of the stretch to its end is the result of merging the stretch.
//!
//! Windows are as long as [`crate::fast::batch_merge`] can merge side by side. Where two do not agree, a window across
//! both can agree with each: first a short one, then a long one that is merged slowly. If there is still no agreement,
//! as when a token is longer than a window, or if long windows are needed too often, the stretch must be merged in
//! another way.

use std::ops::Range;

use crate::error::Result;
use crate::fast::batch_merge::{ByteMerges, LANES, MergeBatch};
use crate::merge::rule::{Symbols, check_size};
use crate::slots::key::LONGEST;
use crate::slots::piece_walk::PiecePart;
use crate::threads::parallel::Stop;

/// The distance from one window's start to the next. The rest of a window's bytes overlap the next window.
const STRIDE: usize = 24;

/// The bytes of a long window.
const LONG: usize = 1 << 10;

/// Buffers that are reused from stretch to stretch.
#[derive(Debug, Default)]
pub struct Windows {
    batch: MergeBatch,
    /// The short window across two windows that do not agree.
    across: MergeBatch,
    parts: Vec<PiecePart>,
    /// The symbols of a long window.
    long: Symbols,
    /// The symbols of the stretch.
    pub row: Symbols,
}

impl Windows {
    /// The memory of the buffers in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.parts.capacity() * size_of::<PiecePart>() + self.long.bytes() + self.row.bytes()
    }

    /// Merges the text of `rule` into the row, and returns whether it could. `slowly` merges a part of it by the rule.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for a text of 4 GiB; [`crate::Error::Interrupted`].
    pub fn merge(
        &mut self,
        rule: ByteMerges<'_>,
        stop: &Stop,
        slowly: impl FnMut(&[u8], &mut Symbols) -> Result<()>,
    ) -> Result<bool> {
        let text = rule.window().text;
        check_size(text.len())?;
        WindowWalk { rule, text, stop, slowly, left: text.len() / 2 }.run(self)
    }
}

struct WindowWalk<'m, S> {
    rule: ByteMerges<'m>,
    text: &'m [u8],
    stop: &'m Stop,
    slowly: S,
    /// The bytes that can still be merged slowly.
    left: usize,
}

impl<S: FnMut(&[u8], &mut Symbols) -> Result<()>> WindowWalk<'_, S> {
    /// Invariant: `row` has made tokens with joints between them from the start of the piece on, or is empty.
    fn run(&mut self, windows: &mut Windows) -> Result<bool> {
        let Windows { batch, across, parts, long, row } = windows;
        row.clear();
        let (window, len) = (self.rule.window(), self.text.len());
        let last = len.saturating_sub(LONGEST).div_ceil(STRIDE);
        for first in (0..=last).step_by(LANES) {
            self.stop.check()?;
            let starts = (first..=last.min(first + LANES - 1)).map(|at| at * STRIDE);
            parts.clear();
            parts.extend(starts.map(|start| window.stretch(start, len.min(start + LONGEST))));
            batch.merge(self.rule, parts);
            for (place, part) in parts.iter().enumerate() {
                let tokens = || shift_tokens(part.start, batch.symbols(place));
                let is_done = row.starts.last().is_some_and(|&end| end as usize >= part.start + part.len as usize);
                if !is_done && !extend_row(row, tokens()) && !self.bridge(across, long, row, part.start, tokens)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Joins a row with tokens from `start` on by a window across both, and returns whether that was possible. A long
    /// window can take the row beyond these tokens.
    fn bridge<I: Iterator<Item = (Range<usize>, u32)>>(
        &mut self,
        across: &mut MergeBatch,
        slow: &mut Symbols,
        row: &mut Symbols,
        start: usize,
        tokens: impl Fn() -> I,
    ) -> Result<bool> {
        let text = self.text;
        let middle = start + (LONGEST - STRIDE) / 2;
        let around = |len: usize| middle.saturating_sub(len / 2)..text.len().min(middle + len / 2);
        let short = around(LONGEST);
        across.merge(self.rule, &[self.rule.window().stretch(short.start, short.end)]);
        if extend_row(row, shift_tokens(short.start, across.symbols(0))) && extend_row(row, tokens()) {
            return Ok(true);
        }
        let long = around(LONG);
        let Some(left) = self.left.checked_sub(long.len()) else { return Ok(false) };
        self.left = left;
        (self.slowly)(&text[long.clone()], slow)?;
        let Symbols { ids, starts } = slow;
        let ranges = starts.windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
        Ok(extend_row(row, shift_tokens(long.start, ranges.zip(ids.iter().copied()))))
    }
}

/// Shifts tokens from their places in a window, which starts at `start`, to those in the piece.
fn shift_tokens(
    start: usize,
    tokens: impl Iterator<Item = (Range<usize>, u32)>,
) -> impl Iterator<Item = (Range<usize>, u32)> {
    tokens.map(move |(range, id)| (start + range.start..start + range.end, id))
}

/// Continues a row with tokens from the first common one on, and returns whether there is one. Tokens from the start of
/// the piece on are a row themselves.
fn extend_row(row: &mut Symbols, tokens: impl Iterator<Item = (Range<usize>, u32)>) -> bool {
    let Symbols { ids, starts } = row;
    let mut tokens = tokens.peekable();
    if tokens.peek().is_none_or(|(first, _)| first.start == 0) {
        ids.clear();
        starts.clear();
        starts.push(0);
    } else {
        let Some((mut range, _)) = tokens.next() else { return false };
        let mut at = starts[..ids.len()].iter().rposition(|&start| start as usize <= range.start).unwrap_or(0);
        while [range.start, range.end] != [at, at + 1].map(|at| starts[at] as usize) {
            if (starts[at] as usize) < range.end && at + 1 < ids.len() {
                at += 1;
                continue;
            }
            let Some((next, _)) = tokens.next() else { return false };
            range = next;
        }
        ids.truncate(at + 1);
        starts.truncate(at + 2);
    }
    for (range, id) in tokens {
        ids.push(id);
        starts.push(range.end as u32);
    }
    true
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::kinds::PieceEncoder;
    use crate::kinds::bpe::MergeScratch;
    use crate::slots::key::Window;
    use crate::table::parse_tiktoken;
    use crate::vocab::{MergeRule, Tables, Unit, Vocab};

    /// The ids by the rule, merge after merge.
    pub(crate) fn merge_slowly(encoder: &PieceEncoder, text: &[u8]) -> Vec<u32> {
        let mut scratch = MergeScratch::default();
        encoder.merger().merge(text, &Stop::default(), &mut scratch).unwrap();
        scratch.symbols.ids
    }

    /// The ids by windows, if these agree.
    fn merge_by_windows(encoder: &PieceEncoder, text: &[u8], stop: &Stop) -> Result<Option<Vec<u32>>> {
        let (mut windows, mut scratch, window) = (Windows::default(), MergeScratch::default(), Window::new(text));
        let rule = ByteMerges::new(encoder.vocab(), encoder.merger().byte_pairs.as_ref().unwrap(), &window);
        let could = windows.merge(rule, stop, |part, symbols| {
            encoder.merger().merge(part, stop, &mut scratch)?;
            std::mem::swap(&mut scratch.symbols, symbols);
            Ok(())
        })?;
        Ok(could.then_some(windows.row.ids))
    }

    /// A vocabulary of `letters` and `count` tokens that join two drawn ones each. With `in_order`, each joins earlier
    /// ones; otherwise they are shuffled, so that many merges rank below the merges of their parts.
    pub(crate) fn draw_encoder(
        draw: &mut Draw,
        letters: &[&str],
        count: usize,
        rule: MergeRule,
        in_order: bool,
    ) -> PieceEncoder {
        let unit = if letters.iter().any(|letter| letter.len() > 1) { Unit::Char } else { Unit::Byte };
        let first: Vec<Vec<u8>> = letters.iter().map(|letter| letter.as_bytes().to_vec()).collect();
        let mut tokens = if unit == Unit::Byte { (0..=255u8).map(|byte| vec![byte]).collect() } else { first.clone() };
        let mut pool = first;
        let mut merges: Vec<[Vec<u8>; 2]> = Vec::new();
        for _ in 0..count {
            let pair = [0, 0].map(|_| pool[draw.below(pool.len())].clone());
            let joined = pair.concat();
            if joined.len() < 40 && !merges.contains(&pair) {
                merges.push(pair);
                pool.push(joined);
            }
        }
        if !in_order {
            for at in (1..merges.len()).rev() {
                merges.swap(at, draw.below(at + 1));
            }
        }
        for pair in &merges {
            if !tokens.contains(&pair.concat()) {
                tokens.push(pair.concat());
            }
        }
        make_encoder(unit, rule, &tokens, &merges)
    }

    fn make_encoder(unit: Unit, rule: MergeRule, tokens: &[Vec<u8>], merges: &[[Vec<u8>; 2]]) -> PieceEncoder {
        let blob = tokens.concat();
        let ends: Vec<u32> = tokens
            .iter()
            .scan(0, |end, token| {
                *end += token.len() as u32;
                Some(*end)
            })
            .collect();
        // Ids descend in the order of the tokens, so that no rank is an id.
        let ids: Vec<u32> = (0..tokens.len() as u32).rev().map(|id| id + 3).collect();
        let id = |token: &[u8]| ids[tokens.iter().position(|other| other == token).unwrap()];
        let listed: Vec<[u32; 3]> =
            merges.iter().map(|[left, right]| [id(left), id(right), id(&[&left[..], right].concat())]).collect();
        let merges = if rule == MergeRule::Pair { &listed[..] } else { &[] };
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges };
        PieceEncoder::plain(Arc::new(Vocab::new(unit, rule, false, tables).unwrap()))
    }

    #[test]
    fn windows_equal_the_rule_on_drawn_vocabularies() {
        let mut draw = Draw(5);
        let (mut could, mut could_not) = (0, 0);
        for round in 0..600 {
            let letters: &[&str] = if round % 3 == 0 { &["a", "b", "c", "d", "e"] } else { &["a", "b"] };
            let rule = if round % 2 == 0 { MergeRule::Pair } else { MergeRule::Bytes };
            let count = 2 + draw.below(24);
            let encoder = draw_encoder(&mut draw, letters, count, rule, round % 5 != 0);
            for _ in 0..10 {
                let most = 16 << draw.below(9);
                let length = draw.below(most);
                let text: String = (0..length).map(|_| letters[draw.below(letters.len())]).collect();
                match merge_by_windows(&encoder, text.as_bytes(), &Stop::default()).unwrap() {
                    Some(ids) => {
                        assert_eq!(ids, merge_slowly(&encoder, text.as_bytes()), "{text}");
                        could += 1;
                    }
                    None => could_not += 1,
                }
            }
        }
        assert!(could > 5_900 && could_not > 0, "{could} {could_not}");
    }

    #[test]
    fn a_token_longer_than_a_window_is_found() {
        let dashes = [2, 4, 8, 16, 32, 64].map(|count| "-".repeat(count));
        let encoder = PieceEncoder::plain(Arc::new(bytes_vocab(&dashes.each_ref().map(String::as_str))));
        // A wide window finds the token among other bytes; with too many of them, windows give up.
        let text = |between: usize| [&b"-".repeat(64)[..], &b"x".repeat(between)].concat().repeat(9);
        let windowed = |text: &[u8]| merge_by_windows(&encoder, text, &Stop::default()).unwrap();
        assert_eq!(windowed(&text(5_000)), Some(merge_slowly(&encoder, &text(5_000))));
        assert_eq!(windowed(&text(1)), None);
    }

    #[test]
    fn merging_stops_on_request() {
        let encoder = PieceEncoder::plain(Arc::new(bytes_vocab(&["ab"])));
        let stop = Stop::default();
        stop.raise();
        for text in [b"ab".repeat(1 << 17), [&b"ab".repeat(1 << 17)[..], b"x"].concat()] {
            assert_eq!(merge_by_windows(&encoder, &text, &stop), Err(crate::Error::Interrupted));
            let slowly = encoder.merger().merge(&text, &stop, &mut MergeScratch::default());
            assert_eq!(slowly, Err(crate::Error::Interrupted));
        }
    }

    /// A published vocabulary, if its file exists.
    fn load_published(name: &str) -> Option<PieceEncoder> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
        let folder = std::env::var("TOKSMITH_TEST_DATA").unwrap_or_else(|_| beside.into());
        let Ok(data) = std::fs::read(format!("{folder}/vocab/{name}.tiktoken")) else {
            println!("skipped: lacks {folder}/vocab/{name}.tiktoken (name the folder in TOKSMITH_TEST_DATA)");
            return None;
        };
        let tokens = parse_tiktoken(&data).unwrap();
        let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &[] };
        Some(PieceEncoder::plain(Arc::new(Vocab::new(Unit::Byte, MergeRule::Bytes, true, tables).unwrap())))
    }

    #[test]
    fn windows_equal_the_rule_on_published_vocabularies() {
        const UNITS: [&str; 14] =
            ["a", " ", "\n", "日", "é", "\u{1F600}", "0", "ab", "aab", "=", "-", "\u{301}", "한국", "\t "];
        const ALPHABETS: [&str; 5] = ["abcdefghijklmnopqrstuvwxyz", "0123456789", "ACGT", "+/aZ9", "{}[]\":,.5e"];
        let mut draw = Draw(9);
        for encoder in ["r50k_base", "cl100k_base", "o200k_base", "llama3"].into_iter().filter_map(load_published) {
            let check = |text: &[u8]| {
                if let Some(ids) = merge_by_windows(&encoder, text, &Stop::default()).unwrap() {
                    assert_eq!(ids, merge_slowly(&encoder, text), "{}", text.escape_ascii());
                }
            };
            for unit in UNITS {
                for length in (1..100usize).chain((100..5000).step_by(173)) {
                    check(unit.repeat(length.div_ceil(unit.len())).as_bytes());
                }
            }
            for alphabet in ALPHABETS {
                for length in (1..100).chain((100..5000).step_by(397)) {
                    let text: Vec<u8> = (0..length).map(|_| alphabet.as_bytes()[draw.below(alphabet.len())]).collect();
                    check(&text);
                }
            }
        }
    }
}
