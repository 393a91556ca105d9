//! Merging a long stretch in linear time: token after token from its start, instead of merge after merge.
//!
//! A token is *made* if merging its own bytes gives it. A *joint* is a place between two made tokens where merging the
//! bytes of both gives just these two ([`crate::merge::valid_pairs`]). Then merging a stretch gives the tokens `t1 … tn`
//! exactly if they are made, their bytes are the stretch, and there is a joint between any two neighbours:
//!
//! - If merging gives `t1 … tn`, no merge crossed a place between them. Inside `ti` the merges are then those of its
//!   bytes alone, and inside `ti t(i+1)` those of the bytes of both: a pair with the lowest rank, and the leftmost of
//!   equals, among all pairs is so among the pairs of a part too. So each is made, and each place between two is a joint.
//! - If all places are joints, no merge crosses one: the first to do so would be the next merge of the bytes of its two
//!   tokens alone as well, because inside these nothing else has happened than merging them alone does. So merging makes
//!   each token from its own bytes. Two of them do not merge either, or their joint would not hold.
//!
//! So there is one such row of tokens, the start of a row is the row of its bytes, and **at most one row reaches a place
//! in the stretch**. The search goes on from the place it reached with the longest token that has a joint with the token
//! before it. It tries shorter tokens when that leads nowhere, and goes back one token when all lead nowhere. A place that
//! it went back from is dead, and it does not enter the place again. It enters each place once, and tries at most as many
//! tokens there as begin with one another. So time grows with the length of the stretch, whatever it holds. Memory: four
//! bytes for each token, and one bit for each byte.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::merge::prefixes::{NONE, Prefixes};
use crate::merge::valid_pairs::{Making, SizedToken, ValidPairs};
use crate::threads::once::Once;
use crate::threads::parallel::Stop;
use crate::vocab::{MergeRule, Vocab};

/// How many steps happen between two looks at the stop flag.
const STEPS_PER_LOOK: usize = 1 << 16;

/// How many bytes are merged in another way before the tables are made. By then the other way has cost as much more as the
/// tables do.
const BYTES_BEFORE: usize = 1 << 19;

/// The tables of a vocabulary, made when they are needed first.
#[derive(Debug, Default)]
pub struct Backtracking {
    joints: Once<ValidPairs>,
    prefixes: Once<Option<Prefixes>>,
    bytes_before: AtomicUsize,
}

/// Room for the places that lead nowhere, kept from stretch to stretch.
#[derive(Debug, Default)]
pub struct DeadPlaces {
    dead: Vec<u64>,
}

impl DeadPlaces {
    /// The memory of the places.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.dead.capacity() * size_of::<u64>()
    }
}

impl Backtracking {
    /// The memory of the tables that were made.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let prefixes = self.prefixes.made().and_then(Option::as_ref);
        self.joints.made().map_or(0, ValidPairs::bytes) + prefixes.map_or(0, Prefixes::bytes)
    }

    /// What knows the joints.
    pub fn joints(&self, vocab: &Vocab) -> Option<&ValidPairs> {
        self.joints.get(|| ValidPairs::new(vocab))
    }

    /// Counts `bytes` more bytes, and says whether the tables are worth making.
    #[must_use]
    pub fn pays(&self, bytes: usize) -> bool {
        bytes >= BYTES_BEFORE || self.bytes_before.fetch_add(bytes, Ordering::Relaxed) >= BYTES_BEFORE
    }

    /// Puts what merging gives for `text` into `ids`, and says whether it could. A text with a token whose merges come out of
    /// order, or with a character without a token, has to be merged in another way.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub fn merge(
        &self,
        vocab: &Vocab,
        text: &[u8],
        stop: &Stop,
        row: &mut DeadPlaces,
        ids: &mut Vec<u32>,
    ) -> Result<bool> {
        let (Some(joints), Some(Some(prefixes))) = (self.joints(vocab), self.prefixes.get(|| Prefixes::new(vocab)))
        else {
            return Ok(false);
        };
        ids.clear();
        row.dead.clear();
        row.dead.resize(text.len() / 64 + 1, 0);
        Backtrack { vocab, joints, prefixes, text, dead: &mut row.dead, ids }.run(stop)
    }
}

struct Backtrack<'s> {
    vocab: &'s Vocab,
    joints: &'s ValidPairs,
    prefixes: &'s Prefixes,
    text: &'s [u8],
    /// A bit for each place.
    dead: &'s mut [u64],
    ids: &'s mut Vec<u32>,
}

impl Backtrack<'_> {
    /// Invariant: `ids` is the row of `text[..at]`, and `next` the longest token to try after it.
    fn run(&mut self, stop: &Stop) -> Result<bool> {
        let mut at = 0;
        let mut next = self.prefixes.longest(self.text);
        let mut until_look = 0;
        while at < self.text.len() {
            if until_look == 0 {
                stop.check()?;
                until_look = STEPS_PER_LOOK;
            }
            until_look -= 1;
            if next == NONE {
                self.dead[at / 64] |= 1 << (at % 64);
                let Some(last) = self.ids.pop() else { return Ok(false) };
                at -= self.prefixes.len(last);
                next = self.prefixes.shorter(last);
                continue;
            }
            match self.fits(at, next) {
                Some(true) => {
                    self.ids.push(next);
                    at += self.prefixes.len(next);
                    next = self.prefixes.longest(&self.text[at..]);
                }
                Some(false) => next = self.prefixes.shorter(next),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether the row may go on from `at` with the token `next`; `None` if this search cannot tell.
    #[inline]
    fn fits(&self, at: usize, next: u32) -> Option<bool> {
        let end = at + self.prefixes.len(next);
        if self.dead[end / 64] >> (end % 64) & 1 != 0 {
            return Some(false);
        }
        match self.joints.making(self.vocab, next) {
            Making::Ordered => {}
            Making::Never => return Some(false),
            Making::Unordered => return None,
        }
        let Some(&last) = self.ids.last() else { return Some(true) };
        let symbol = |id| SizedToken { id, len: self.prefixes.len(id) as u32 };
        Some(self.joints.holds(self.vocab, [symbol(last), symbol(next)], |pair| self.rank(at, pair)))
    }

    /// The rank of the merge of two neighbours that meet at `at`.
    #[inline]
    fn rank(&self, at: usize, [left, right]: [SizedToken; 2]) -> Option<u32> {
        let joined = &self.text[at - left.len as usize..at + right.len as usize];
        if self.vocab.merge_rule() == MergeRule::Bytes {
            return self.prefixes.find(joined).map(|id| self.vocab.rank(id));
        }
        self.vocab.merge(left.id, right.id, joined).map(|merge| merge.rank)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::{Draw, bytes_vocab};
    use crate::merge::{MergeScratch, Merger};
    use crate::table::parse_tiktoken;
    use crate::vocab::{Tables, Unit};

    /// The ids by merge after merge.
    pub(crate) fn slowly(merger: &Merger, text: &[u8]) -> Vec<u32> {
        let mut scratch = MergeScratch::default();
        merger.merge_slowly(text, &Stop::default(), &mut scratch).unwrap();
        scratch.symbols.ids
    }

    /// The ids by token after token, if they can be had.
    fn forward(merger: &Merger, text: &[u8]) -> Option<Vec<u32>> {
        let (mut row, mut ids) = (DeadPlaces::default(), vec![7]);
        let could = merger.backtracking.merge(merger.vocab(), text, &Stop::default(), &mut row, &mut ids).unwrap();
        could.then_some(ids)
    }

    /// A vocabulary of `letters` and of `count` tokens that are two drawn ones each. Where `in_order`, each is made of
    /// earlier ones; otherwise they are shuffled, so that many merges rank below those of their parts.
    pub(crate) fn drawn(draw: &mut Draw, letters: &[&str], count: usize, rule: MergeRule, in_order: bool) -> Merger {
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
        vocab(unit, rule, &tokens, &merges)
    }

    fn vocab(unit: Unit, rule: MergeRule, tokens: &[Vec<u8>], merges: &[[Vec<u8>; 2]]) -> Merger {
        let blob = tokens.concat();
        let ends: Vec<u32> = tokens
            .iter()
            .scan(0, |end, token| {
                *end += token.len() as u32;
                Some(*end)
            })
            .collect();
        // Ids run against the order of the tokens, so that no rank is an id.
        let ids: Vec<u32> = (0..tokens.len() as u32).rev().map(|id| id + 3).collect();
        let id = |token: &[u8]| ids[tokens.iter().position(|other| other == token).unwrap()];
        let listed: Vec<[u32; 3]> =
            merges.iter().map(|[left, right]| [id(left), id(right), id(&[&left[..], right].concat())]).collect();
        let merges = if rule == MergeRule::Pair { &listed[..] } else { &[] };
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges };
        Merger::new(Arc::new(Vocab::new(unit, rule, false, tables).unwrap()), None)
    }

    #[test]
    fn token_after_token_equals_merge_after_merge_on_drawn_vocabularies() {
        let mut draw = Draw(5);
        let (mut could, mut could_not) = (0, 0);
        for round in 0..600 {
            let letters: &[&str] = if round % 3 == 0 { &["a", "日", "é"] } else { &["a", "b"] };
            let rule = if round % 2 == 0 { MergeRule::Pair } else { MergeRule::Bytes };
            let count = 2 + draw.below(24);
            let vocab = drawn(&mut draw, letters, count, rule, round % 5 != 0);
            for _ in 0..20 {
                let length = draw.below(90);
                let text: String = (0..length).map(|_| letters[draw.below(letters.len())]).collect();
                match forward(&vocab, text.as_bytes()) {
                    Some(ids) => {
                        assert_eq!(ids, slowly(&vocab, text.as_bytes()), "{text}");
                        could += 1;
                    }
                    None => could_not += 1,
                }
            }
        }
        assert!(could > 8_000 && could_not > 100, "{could} {could_not}");
    }

    #[test]
    fn a_token_whose_merges_fall_in_rank_is_left_to_the_others() {
        let vocab = Merger::new(Arc::new(bytes_vocab(&["aba", "ab"])), None);
        assert_eq!(forward(&vocab, b"xaba"), None);
        let mut scratch = MergeScratch::default();
        vocab.merge(&b"abaabx".repeat(1 << 14), &Stop::default(), &mut scratch).unwrap();
        assert_eq!(scratch.symbols.ids, [256, 257, 120].repeat(1 << 14));
    }

    #[test]
    fn a_token_that_merging_does_not_reach_is_not_used() {
        let vocab = Merger::new(Arc::new(bytes_vocab(&["bc", "abcd"])), None);
        assert_eq!(forward(&vocab, b"abcdbcabcd").unwrap(), [97, 256, 100, 256, 97, 256, 100]);
    }

    #[test]
    fn a_character_without_a_token_is_named() {
        let mut draw = Draw(1);
        let vocab = drawn(&mut draw, &["a", "日"], 4, MergeRule::Pair, true);
        let text = "a日".repeat(20_000) + "本";
        assert_eq!(forward(&vocab, text.as_bytes()), None);
        let error = vocab.merge(text.as_bytes(), &Stop::default(), &mut MergeScratch::default()).unwrap_err();
        assert_eq!(error, crate::Error::NotInVocabulary { content: "本".into(), offset: 80_000 });
    }

    #[test]
    fn it_stops_when_asked() {
        let vocab = Merger::new(Arc::new(bytes_vocab(&["ab"])), None);
        let stop = Stop::default();
        stop.raise();
        let stopped = |text: &[u8]| vocab.merge(text, &stop, &mut MergeScratch::default());
        assert_eq!(stopped(&b"ab".repeat(1 << 17)), Err(crate::Error::Interrupted));
        assert_eq!(stopped(&[&b"ab".repeat(1 << 17)[..], b"x"].concat()), Err(crate::Error::Interrupted));
    }

    /// A published vocabulary, if it is there.
    fn published(name: &str) -> Option<Merger> {
        let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
        let folder = std::env::var("TOKSMITH_TEST_DATA").unwrap_or_else(|_| beside.into());
        let Ok(data) = std::fs::read(format!("{folder}/vocab/{name}.tiktoken")) else {
            println!("skipped: lacks {folder}/vocab/{name}.tiktoken (name the folder in TOKSMITH_TEST_DATA)");
            return None;
        };
        let tokens = parse_tiktoken(&data).unwrap();
        let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &[] };
        Some(Merger::new(Arc::new(Vocab::new(Unit::Byte, MergeRule::Bytes, true, tables).unwrap()), None))
    }

    #[test]
    fn published_vocabularies_merge_hostile_stretches_alike() {
        const UNITS: [&str; 14] =
            ["a", " ", "\n", "日", "é", "\u{1F600}", "0", "ab", "aab", "=", "-", "\u{301}", "한국", "\t "];
        const ALPHABETS: [&str; 5] = ["abcdefghijklmnopqrstuvwxyz", "0123456789", "ACGT", "+/aZ9", "{}[]\":,.5e"];
        let mut draw = Draw(9);
        for vocab in ["r50k_base", "cl100k_base", "o200k_base", "llama3"].into_iter().filter_map(published) {
            let check = |text: &[u8]| {
                let slow = slowly(&vocab, text);
                let mut scratch = MergeScratch::default();
                vocab.merge(text, &Stop::default(), &mut scratch).unwrap();
                assert_eq!(scratch.symbols.ids, slow, "{}", text.escape_ascii());
                assert_eq!(forward(&vocab, text).unwrap_or_else(|| slow.clone()), slow, "{}", text.escape_ascii());
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
