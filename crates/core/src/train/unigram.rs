//! Trains a unigram model on counted words: few tokens, with scores that make the words likely.
//!
//! Training starts from many stretches that words share ([`crate::train::unigram_seeds`]). Then it repeats three steps.
//! It computes the expected count of each token in the words from the scores. It computes new scores from these counts.
//! It drops the tokens whose loss lowers the likelihood of the words least, until the requested number is left.
//!
//! Source: Kudo, ACL 2018, and the rules of `SentencePiece`'s trainer. Sums are over a fixed number of parts of the
//! words, in order, so that the number of threads changes nothing.

// Counts become probabilities here, and shares become sizes. None is below 0, and their last digits do not matter.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss)]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::safe_cuts::char_len;
use crate::threads::parallel::{Stop, map_items};
use crate::threads::watched::run_watched;
use crate::train::unigram_seeds::find_seeds;
use crate::vocab::trie::{ROOT, Trie};

/// The parts that the words are divided into, whatever the number of threads.
const PARTS: usize = 8;
/// Longer words, in bytes, are cut here, at a character.
const LONGEST_WORD: usize = 1 << 10;
/// Tokens with a lower expected count are dropped.
const LEAST_EXPECTED: f64 = 0.5;
/// The factor by which the set of tokens exceeds the requested size when its shrinking ends, so that the best can be
/// chosen.
const SURPLUS: f64 = 1.1;
/// The distance of the score of a character without a token from the lowest score.
const PENALTY: f64 = 10.0;
/// The distance between the scores of characters that were dropped and come back.
const STEP: f64 = 1e-4;
const MISSING: u32 = u32::MAX;

/// The size of the model, and the settings of training.
#[derive(Debug, Clone, Copy)]
pub struct UnigramOptions {
    /// The number of tokens.
    pub size: usize,
    /// The most stretches that training starts from.
    pub seeds: usize,
    /// The longest token, in characters.
    pub longest: usize,
    /// The share of tokens that each pruning keeps.
    pub shrink: f64,
    /// The recomputations of scores before each pruning.
    pub rounds: usize,
    /// The number of threads.
    pub threads: usize,
}

/// A token and its score.
pub type ScoredToken = (Vec<u8>, f64);

/// Learns the tokens of the words, the highest score first; each character of `alphabet` is one. `report` gets the
/// number of tokens about every 50 ms and at the end, and can end the training. The result is smaller than requested if
/// the words have no more tokens.
///
/// # Errors
/// [`Error::Option`] for too many words, [`Error::Interrupted`].
pub fn train(
    words: &[(&[u8], u64)],
    alphabet: &[&str],
    options: UnigramOptions,
    report: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Vec<ScoredToken>> {
    let left = AtomicUsize::new(0);
    let mut look = || if report(left.load(Ordering::Relaxed)).is_break() { Err(Error::Interrupted) } else { Ok(()) };
    let tokens = run_watched(&Stop::default(), |stop| learn_tokens(words, alphabet, options, &left, stop), &mut look)?;
    look()?;
    Ok(tokens)
}

/// The same without reports; `left` is set to the current number of tokens.
fn learn_tokens(
    words: &[(&[u8], u64)],
    alphabet: &[&str],
    options: UnigramOptions,
    left: &AtomicUsize,
    stop: &Stop,
) -> Result<Vec<ScoredToken>> {
    let words = cut_words(words);
    let mut model = UnigramModel::from_seeds(&words, alphabet, options, stop)?;
    let target = (options.size as f64 * SURPLUS) as usize;
    loop {
        for _ in 0..options.rounds {
            left.store(model.tokens.len(), Ordering::Relaxed);
            let expected = model.expected_counts(&words, options.threads, stop)?;
            model.update_scores(&expected);
        }
        if model.tokens.len() <= target {
            break;
        }
        let size = target.max((model.tokens.len() as f64 * options.shrink) as usize);
        let before = model.tokens.len();
        model.prune(&words, size, options.threads, stop)?;
        if model.tokens.len() == before {
            break;
        }
    }
    Ok(model.choose_tokens(alphabet, options.size))
}

fn cut_words<'w>(words: &[(&'w [u8], u64)]) -> Vec<(&'w [u8], u64)> {
    let mut all = Vec::with_capacity(words.len());
    for &(mut word, count) in words {
        while word.len() > LONGEST_WORD {
            let end = (0..=LONGEST_WORD).rev().find(|&at| word[at] & 0xC0 != 0x80).filter(|&at| at > 0);
            let (part, rest) = word.split_at(end.unwrap_or(LONGEST_WORD));
            all.push((part, count));
            word = rest;
        }
        all.push((word, count));
    }
    all
}

struct UnigramModel {
    tokens: Vec<Vec<u8>>,
    scores: Vec<f64>,
    unknown: f64,
    trie: Trie,
    /// By place in the trie: the current place of the token, or none.
    places: Vec<u32>,
}

/// A token of a word: its start and end, and its number.
struct Edge {
    start: u32,
    end: u32,
    token: u32,
    weight: f64,
}

/// Buffers for the tokens of a word.
#[derive(Default)]
struct Lattice {
    edges: Vec<Edge>,
    /// By place: the score of the best path to it, and its last edge.
    best: Vec<(f64, u32)>,
    before: Vec<f64>,
    after: Vec<f64>,
}

impl UnigramModel {
    fn from_seeds(words: &[(&[u8], u64)], alphabet: &[&str], options: UnigramOptions, stop: &Stop) -> Result<Self> {
        let mut counts: Vec<(Vec<u8>, u64)> = characters(words, alphabet);
        counts.extend(find_seeds(words, options.seeds, options.longest, stop)?);
        let sum = counts.iter().map(|(_, count)| *count as f64).sum::<f64>().ln();
        let scores = counts.iter().map(|(_, count)| (*count.max(&1) as f64).ln() - sum).collect();
        let tokens = counts.into_iter().map(|(token, _)| token).collect();
        let mut model = Self { tokens, scores, unknown: 0.0, trie: Trie::new(Vec::new()), places: Vec::new() };
        model.build_index();
        Ok(model)
    }

    fn build_index(&mut self) {
        self.trie = Trie::new(self.tokens.iter().zip(0..).map(|(token, place)| (&token[..], place)).collect());
        self.places = (0..self.tokens.len() as u32).collect();
        self.unknown = self.scores.iter().copied().fold(0.0, f64::min) - PENALTY;
    }

    /// Keeps the tokens at these places, with new scores.
    fn keep_tokens(&mut self, tokens: &[(u32, f64)]) {
        let mut place_of = vec![MISSING; self.tokens.len()];
        for (place, &(old, _)) in tokens.iter().enumerate() {
            place_of[old as usize] = place as u32;
        }
        for place in &mut self.places {
            *place = place_of.get(*place as usize).copied().unwrap_or(MISSING);
        }
        self.tokens = tokens.iter().map(|&(old, _)| std::mem::take(&mut self.tokens[old as usize])).collect();
        self.scores = tokens.iter().map(|&(_, score)| score).collect();
        self.unknown = self.scores.iter().copied().fold(0.0, f64::min) - PENALTY;
        if self.tokens.len() < self.places.len() / 2 {
            self.build_index();
        }
    }

    /// Finds the tokens of a word, and the best path to each place of it, leaving out the token `without`.
    fn fill_lattice(&self, word: &[u8], without: u32, lattice: &mut Lattice) {
        let Lattice { edges, best, .. } = lattice;
        edges.clear();
        best.clear();
        best.resize(word.len() + 1, (f64::NEG_INFINITY, MISSING));
        best[0] = (0.0, MISSING);
        let mut start = 0;
        while start < word.len() {
            let char = char_len(word[start]).min(word.len() - start);
            let here = best[start].0;
            let (mut node, mut alone) = (ROOT, false);
            let mut push = |token: u32, len: usize, score: f64| {
                let target = &mut best[start + len];
                if here + score > target.0 {
                    *target = (here + score, edges.len() as u32);
                }
                edges.push(Edge { start: start as u32, end: (start + len) as u32, token, weight: score });
            };
            for (len, &byte) in (1..).zip(&word[start..]) {
                let Some(next) = self.trie.step(node, byte) else { break };
                node = next;
                let place = self.trie.value(node).map_or(MISSING, |place| self.places[place as usize]);
                if place != MISSING && place != without {
                    push(place, len, self.scores[place as usize]);
                    alone |= len == char;
                }
            }
            if !alone {
                push(MISSING, char, self.unknown);
            }
            start += char;
        }
    }

    fn expected_counts(&self, words: &[(&[u8], u64)], threads: usize, stop: &Stop) -> Result<Vec<f64>> {
        self.sum_parts(words, threads, stop, |word, count, lattice, sums| {
            self.fill_lattice(word, MISSING, lattice);
            let Lattice { edges, best, before, after } = lattice;
            before.clear();
            before.resize(word.len() + 1, 0.0);
            after.clone_from(before);
            (before[0], after[word.len()]) = (1.0, 1.0);
            // All weights are relative to the best path, so that no number underflows.
            for edge in edges.iter_mut() {
                let (start, end) = (edge.start as usize, edge.end as usize);
                edge.weight = (best[start].0 + edge.weight - best[end].0).exp();
                before[end] += before[start] * edge.weight;
            }
            let share = count as f64 / before[word.len()];
            for edge in edges.iter().rev() {
                let (start, end) = (edge.start as usize, edge.end as usize);
                let way = edge.weight * after[end];
                after[start] += way;
                if let Some(sum) = sums.get_mut(edge.token as usize) {
                    *sum += before[start] * way * share;
                }
            }
        })
    }

    /// The count of each token in the best paths through the words.
    fn best_path_counts(&self, words: &[(&[u8], u64)], threads: usize, stop: &Stop) -> Result<Vec<f64>> {
        self.sum_parts(words, threads, stop, |word, count, lattice, sums| {
            self.fill_lattice(word, MISSING, lattice);
            for token in lattice.path(word.len()) {
                if let Some(sum) = sums.get_mut(token as usize) {
                    *sum += count as f64;
                }
            }
        })
    }

    fn sum_parts(
        &self,
        words: &[(&[u8], u64)],
        threads: usize,
        stop: &Stop,
        each: impl Fn(&[u8], u64, &mut Lattice, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let parts: Vec<_> = words.chunks(words.len().div_ceil(PARTS).max(1)).collect();
        let sums = map_items(parts.len(), threads, stop, |next| {
            let mut lattice = Lattice::default();
            next.for_each_item(|part| {
                let mut sums = vec![0.0; self.tokens.len()];
                for &(word, count) in parts[part] {
                    stop.check()?;
                    each(word, count, &mut lattice, &mut sums);
                }
                Ok(sums)
            });
        })?;
        let mut total = vec![0.0; self.tokens.len()];
        for part in sums {
            for (sum, value) in total.iter_mut().zip(part) {
                *sum += value;
            }
        }
        Ok(total)
    }

    /// Computes scores from expected counts, and drops tokens with low ones. The digamma function in place of the
    /// logarithm makes rare tokens rarer.
    fn update_scores(&mut self, expected: &[f64]) {
        let tokens = (0..).zip(expected).filter(|&(_, &count)| count >= LEAST_EXPECTED);
        let tokens: Vec<(u32, f64)> = tokens.map(|(place, &count)| (place, count)).collect();
        let sum = digamma(tokens.iter().map(|(_, count)| count).sum());
        let scored: Vec<_> = tokens.into_iter().map(|(place, count)| (place, digamma(count) - sum)).collect();
        if !scored.is_empty() {
            self.keep_tokens(&scored);
        }
    }

    /// Keeps the `most` tokens whose loss would lower the likelihood of the words most.
    fn prune(&mut self, words: &[(&[u8], u64)], most: usize, threads: usize, stop: &Stop) -> Result<()> {
        let used = self.best_path_counts(words, threads, stop)?;
        let sum: f64 = used.iter().sum();
        let all: f64 = words.iter().map(|&(_, count)| count as f64).sum();
        let mut lattice = Lattice::default();
        let mut losses: Vec<(f64, u32)> = Vec::new();
        for (place, &count) in (0..).zip(&used) {
            stop.check()?;
            let token = &self.tokens[place as usize];
            self.fill_lattice(token, place, &mut lattice);
            let alone = char_len(token[0]) >= token.len();
            let other = lattice.best[token.len()].0;
            if alone {
                losses.push((f64::INFINITY, place));
            } else if count > 0.0 && other <= self.scores[place as usize] {
                let path: Vec<u32> = lattice.path(token.len()).collect();
                let sum_other = (sum + count * (path.len() as f64 - 1.0)).ln();
                let with_it = |token: u32| used.get(token as usize).map_or(self.unknown, |other| (other + count).ln());
                let other = path.iter().map(|&token| with_it(token) - sum_other).sum::<f64>();
                losses.push((count / all * (count.ln() - sum.ln() - other), place));
            }
        }
        losses.sort_unstable_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        losses.truncate(most);
        let mut tokens: Vec<(u32, f64)> =
            losses.iter().map(|&(_, place)| (place, self.scores[place as usize])).collect();
        tokens.sort_unstable_by_key(|&(place, _)| place);
        self.keep_tokens(&tokens);
        Ok(())
    }

    /// The characters of the alphabet, and the tokens with the highest scores.
    fn choose_tokens(&self, alphabet: &[&str], size: usize) -> Vec<ScoredToken> {
        let lowest = self.scores.iter().copied().fold(0.0, f64::min);
        let mut missing = 0.0;
        let mut chosen: Vec<ScoredToken> = Vec::with_capacity(size);
        for char in alphabet {
            let place = self.trie.find(char.as_bytes()).map_or(MISSING, |place| self.places[place as usize]);
            let score = self.scores.get(place as usize).copied().unwrap_or_else(|| {
                missing += STEP;
                lowest + missing
            });
            chosen.push((char.as_bytes().to_vec(), score));
        }
        let mut others: Vec<(&Vec<u8>, f64)> = self.tokens.iter().zip(self.scores.iter().copied()).collect();
        others.retain(|(token, _)| char_len(token[0]) < token.len());
        others.sort_unstable_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(right.0)));
        others.truncate(size.saturating_sub(chosen.len()));
        chosen.extend(others.into_iter().map(|(token, score)| (token.clone(), score)));
        chosen.sort_by(|left, right| right.1.total_cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
        chosen
    }
}

impl Lattice {
    /// The tokens of the best path to a place, from its end.
    fn path(&self, end: usize) -> impl Iterator<Item = u32> + '_ {
        let mut at = end;
        std::iter::from_fn(move || {
            let edge = self.edges.get(self.best[at].1 as usize)?;
            at = edge.start as usize;
            Some(edge.token)
        })
    }
}

/// The characters of the alphabet with their counts in the words.
fn characters(words: &[(&[u8], u64)], alphabet: &[&str]) -> Vec<(Vec<u8>, u64)> {
    let mut counts = hashbrown::HashMap::<&[u8], u64>::new();
    for &(word, count) in words {
        let mut rest = word;
        while let Some(&byte) = rest.first() {
            let (char, after) = rest.split_at(char_len(byte).min(rest.len()));
            *counts.entry(char).or_default() += count;
            rest = after;
        }
    }
    let count = |char: &&str| (char.as_bytes().to_vec(), counts.get(char.as_bytes()).copied().unwrap_or(0));
    alphabet.iter().map(count).collect()
}

/// The derivative of the logarithm of the gamma function, by its recurrence and its asymptotic series.
fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)));
    result + x.ln() - 0.5 / x - series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train_words(words: &[(&str, u64)], size: usize, threads: usize) -> Vec<ScoredToken> {
        let words: Vec<(&[u8], u64)> = words.iter().map(|&(word, count)| (word.as_bytes(), count)).collect();
        let mut alphabet: Vec<String> =
            words.iter().flat_map(|(word, _)| std::str::from_utf8(word).unwrap().chars()).map(String::from).collect();
        alphabet.sort();
        alphabet.dedup();
        let alphabet: Vec<&str> = alphabet.iter().map(String::as_str).collect();
        let options = UnigramOptions { size, seeds: 1000, longest: 16, shrink: 0.75, rounds: 2, threads };
        train(&words, &alphabet, options, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn shared_stretches_of_words_become_tokens() {
        let words = [("lower", 5), ("lowest", 4), ("newer", 6), ("newest", 3), ("wider", 2), ("low", 8), ("new", 7)];
        let tokens = train_words(&words, 14, 1);
        assert_eq!(tokens.len(), 14);
        assert!(tokens.iter().any(|(token, _)| token == b"low") && tokens.iter().any(|(token, _)| token == b"new"));
        assert!(tokens.windows(2).all(|two| two[0].1 >= two[1].1));
        assert_eq!(tokens, train_words(&words, 14, 3));
    }

    #[test]
    fn expected_counts_weigh_the_paths_of_a_word() {
        let tokens: Vec<Vec<u8>> = ["a", "b", "ab"].iter().map(|token| token.as_bytes().to_vec()).collect();
        let scores = [0.5f64, 0.25, 0.25].map(f64::ln).to_vec();
        let mut model = UnigramModel { tokens, scores, unknown: 0.0, trie: Trie::new(Vec::new()), places: Vec::new() };
        model.build_index();
        // `ab` is one token with 1/4, and two with 1/8: twice as likely the former.
        let expected = model.expected_counts(&[(&b"ab"[..], 3)], 1, &Stop::default()).unwrap();
        assert!(expected.iter().zip([1.0, 1.0, 2.0]).all(|(found, wanted)| (found - wanted).abs() < 1e-9));
        assert_eq!(model.best_path_counts(&[(&b"ab"[..], 3)], 1, &Stop::default()).unwrap(), [0.0, 0.0, 3.0]);
    }

    #[test]
    fn digamma_has_its_known_values() {
        assert!((digamma(1.0) + 0.577_215_664_901_532_9).abs() < 1e-10);
        assert!((digamma(0.5) + 1.963_510_026_021_423_5).abs() < 1e-10);
        assert!((digamma(100.0) - 4.600_161_852_738_087).abs() < 1e-10);
    }
}
