//! Trains on several languages, letting the worst-off language choose each merge.
//!
//! Merges that all corpora choose together are learned by the loop of `train` on the sum of their counts. Then every
//! corpus is a separate text with separate pairs and, for a language's corpus, a queue ([`Corpus`]). A merge is looked
//! up in each, so that one step costs the places it touches and a table lookup for each corpus. Development texts are
//! such texts without a queue: the symbols that a merge removes from one lower the need of its language.
//!
//! A corpus keeps all pairs that can merge, also those below `min_count`: another language can choose them. A language
//! whose queue is empty never gets a pair again. All its remaining pairs are below `min_count`, every merge is one of
//! these, and the pairs that a merge makes are not more frequent than the merge.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use hashbrown::HashMap;

use super::cell::{self, CellWidth};
use super::learn::learn;
use super::options::{LearnedMerge, TrainOptions};
use super::pairs::Pairs;
use super::queue::{PopResult, Queue};
use super::rules::TrainRules;
use super::text::TrainText;
use super::watch::{StopReason, Trained, Watch};
use crate::count::PieceCounts;
use crate::error::{Error, Result};

/// The language of a merge that no language chose.
pub const NO_LANGUAGE: u32 = u32::MAX;

/// The measure of the worst-off language.
#[derive(Debug, Clone, Copy)]
pub enum Aim<'a> {
    /// The tokens of these texts, one per language.
    Development(&'a [&'a PieceCounts]),
    /// The shortfall of its compression from this target, one per language.
    Ratios(&'a [f64]),
}

/// The rules by which languages take turns.
#[derive(Debug, Clone, Copy)]
pub struct ParityOptions<'a> {
    /// The merges that all corpora choose together after the merges of seed tokens.
    pub shared: usize,
    /// The given merges that no corpus chose: the merges of seed tokens.
    pub seeds: usize,
    /// In the last merges of languages, as many as the first number, one language can have chosen the second number
    /// times its share; None for no limit.
    pub window: Option<(usize, f64)>,
    /// The measure of the worst-off language.
    pub aim: Aim<'a>,
}

/// The corpora of a training.
#[derive(Debug, Clone, Copy)]
pub struct Corpora<'a> {
    /// The counts of all corpora together.
    pub sum: &'a PieceCounts,
    /// The corpus of each language.
    pub languages: &'a [&'a PieceCounts],
    /// Text of no language.
    pub others: &'a [&'a PieceCounts],
}

/// The result of training on several languages.
#[derive(Debug)]
pub struct ParityTrained {
    /// The merges, with counts in all corpora together. A merge's lead is over the next pair of the languages that
    /// chose it.
    pub trained: Trained,
    /// The language that chose each merge, or [`NO_LANGUAGE`].
    pub chosen: Vec<u32>,
    /// By language: the tokens of its development text, or of its corpus if ratios decide, before the first merge and
    /// after the last.
    pub tokens: Vec<(u64, u64)>,
    /// By language: the number of merges when it ran out of pairs, if it did.
    pub ran_out: Vec<Option<usize>>,
}

/// Learns the merges of several languages. `report` regularly gets the merges so far, and can end training.
///
/// # Errors
/// As [`super::train`]; [`Error::Option`] for texts or targets that do not match the languages, and for a sum that
/// lacks a piece.
pub fn train_parity(
    corpora: Corpora<'_>,
    options: &TrainOptions,
    parity: &ParityOptions<'_>,
    report: &mut dyn FnMut(&Trained) -> ControlFlow<()>,
) -> Result<ParityTrained> {
    options.check()?;
    check(corpora, parity)?;
    let in_cells = if cell::fits_narrow(options) { in_cells::<u16> } else { in_cells::<u32> };
    in_cells(corpora, options, parity, Watch::new(report))
}

/// [`train_parity`] after its checks, with cells of this size.
fn in_cells<C: CellWidth>(
    corpora: Corpora<'_>,
    options: &TrainOptions,
    parity: &ParityOptions<'_>,
    mut watch: Watch<'_>,
) -> Result<ParityTrained> {
    let mut run = ParityRun::<C>::new(corpora, options, parity, &mut watch)?;
    // The merges that all choose together, including the merges of seed tokens.
    let shared = parity.seeds.saturating_add(parity.shared);
    let replayed = options.given.len().min(shared);
    let mut union = TrainText::new(corpora.sum, options, &mut watch)?;
    watch.trained.symbols = union.symbols;
    let mut stopped = Some(StopReason::Limit);
    if shared > 0 {
        let limit = (shared - replayed).min(options.limit);
        let first = TrainOptions { given: options.given[..replayed].to_vec(), limit, ..options.clone() };
        stopped = learn(&mut union, &first, &mut watch);
        run.copy_symbols(corpora, &union)?;
    }
    drop(union);
    if stopped.is_some() && run.update_rules(&mut watch).is_none() {
        stopped = None;
    }
    if stopped == Some(StopReason::Limit) {
        stopped = run.learn(options, replayed, &mut watch);
    }
    let mut trained = watch.trained;
    trained.stopped = stopped.unwrap_or(StopReason::Interrupted);
    Ok(ParityTrained { trained, chosen: run.chosen, tokens: run.needs.token_counts(), ran_out: run.turns.ran_out })
}

fn check(corpora: Corpora<'_>, parity: &ParityOptions<'_>) -> Result<()> {
    let sizes = match parity.aim {
        Aim::Development(texts) => texts.len(),
        Aim::Ratios(ratios) => ratios.len(),
    };
    let languages = corpora.languages.len();
    if languages == 0 || sizes != languages {
        let (value, allowed) =
            (format!("{sizes} for {languages} languages"), "one text or ratio a language".to_owned());
        return Err(Error::Option { argument: "languages", value, allowed });
    }
    Ok(())
}

struct Corpus<C> {
    text: TrainText<C>,
    /// None until first needed.
    pairs: Option<Pairs>,
}

impl<C: CellWidth> Corpus<C> {
    fn new(counts: &PieceCounts, options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Self> {
        Ok(Self { text: TrainText::new(counts, options, watch)?, pairs: None })
    }

    /// Finds the pairs. None if the caller requests a stop.
    fn find_pairs(&mut self, watch: &mut Watch<'_>) -> Option<()> {
        self.pairs = Some(Pairs::new(&self.text, watch)?);
        Some(())
    }

    fn pair_count(&self) -> usize {
        self.pairs.as_ref().map_or(0, Pairs::len)
    }

    fn count(&self, key: (u32, u32)) -> u64 {
        self.pairs.as_ref().map_or(0, |pairs| pairs.count(key))
    }

    /// Merges a pair everywhere. Returns its count and the number of symbols that this removes.
    fn merge(&mut self, merge: LearnedMerge, rules: Option<&TrainRules>, watch: &mut Watch<'_>) -> Option<(u64, u64)> {
        let Some(pairs) = &mut self.pairs else { return Some((0, 0)) };
        pairs.merge(merge, &mut self.text, rules, watch)
    }
}

struct Needs<C> {
    /// Development texts; none if ratios decide.
    texts: Vec<Corpus<C>>,
    /// Targets relative to the first; none if texts decide.
    ratios: Vec<f64>,
    /// The tokens before the first merge, and now.
    first: Vec<u64>,
    now: Vec<u64>,
}

impl<C: CellWidth> Needs<C> {
    fn new(aim: Aim<'_>, corpora: &[Corpus<C>], options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Self> {
        let (texts, ratios) = match aim {
            Aim::Development(texts) => {
                (texts.iter().map(|counts| Corpus::new(counts, options, watch)).collect::<Result<Vec<_>>>()?, vec![])
            }
            Aim::Ratios(ratios) => (vec![], ratios.iter().map(|ratio| ratio / ratios[0]).collect()),
        };
        let measured = if ratios.is_empty() { &texts[..] } else { &corpora[..ratios.len()] };
        let first: Vec<u64> = measured.iter().map(|corpus| corpus.text.symbols).collect();
        Ok(Self { texts, ratios, now: first.clone(), first })
    }

    /// The need of a language. The greatest chooses.
    #[allow(clippy::cast_precision_loss)] // the specification computes in float64
    fn need_of(&self, language: usize) -> f64 {
        let now = self.now[language] as f64;
        // A corpus whose pieces are all left out has no symbols, and is not compressed.
        let rate = if now == 0.0 { 1.0 } else { self.first[language] as f64 / now };
        self.ratios.get(language).map_or(now, |ratio| -rate / ratio)
    }

    /// Records a merge, which removed `lost` symbols from each corpus.
    fn record_merge(&mut self, merge: LearnedMerge, lost: &[u64], watch: &mut Watch<'_>) -> Option<()> {
        for (language, now) in self.now.iter_mut().enumerate() {
            *now -= match self.texts.get_mut(language) {
                Some(text) => text.merge(merge, None, watch)?.1,
                None => lost[language],
            };
        }
        Some(())
    }

    fn token_counts(&self) -> Vec<(u64, u64)> {
        self.first.iter().copied().zip(self.now.iter().copied()).collect()
    }
}

struct Turns {
    ran_out: Vec<Option<usize>>,
    window: Option<(usize, f64)>,
    /// The languages that chose the last merges, as many as the window has.
    recent: VecDeque<usize>,
    /// The number of times each language is among these.
    times: Vec<usize>,
}

impl Turns {
    /// The language that chooses, if one is left.
    #[allow(clippy::cast_precision_loss)] // the specification computes in float64
    fn next_language<C: CellWidth>(&self, needs: &Needs<C>) -> Option<usize> {
        let left = || (0..self.ran_out.len()).filter(|&language| self.ran_out[language].is_none());
        let languages = left().count() as f64;
        let waits = |language: usize| {
            self.window.is_some_and(|(size, share)| self.times[language] as f64 * languages > share * size as f64)
        };
        let mut best: Option<(usize, f64)> = None;
        for language in left().filter(|&language| !waits(language)) {
            let need = needs.need_of(language);
            if best.is_none_or(|(_, most)| need > most) {
                best = Some((language, need));
            }
        }
        best.map(|(language, _)| language)
    }

    fn record_choice(&mut self, language: usize) {
        let Some((size, _)) = self.window else { return };
        self.recent.push_back(language);
        self.times[language] += 1;
        if self.recent.len() > size
            && let Some(first) = self.recent.pop_front()
        {
            self.times[first] -= 1;
        }
    }
}

/// The language that chooses, its pair, and the lead of that pair.
type Choice = (usize, (u32, u32), u64);

/// The corpora, the languages' first, and the state of training.
struct ParityRun<C> {
    corpora: Vec<Corpus<C>>,
    /// One per language; empty while merges are replayed.
    queues: Vec<Queue>,
    needs: Needs<C>,
    turns: Turns,
    chosen: Vec<u32>,
    /// The symbols that the last merge removed from each corpus.
    lost: Vec<u64>,
    /// The rules of shape, without a minimum count.
    rules: TrainRules,
    min_count: u64,
}

impl<C: CellWidth> ParityRun<C> {
    fn new(
        corpora: Corpora<'_>,
        options: &TrainOptions,
        parity: &ParityOptions<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let all = corpora.languages.iter().chain(corpora.others);
        let parts = all.map(|counts| Corpus::new(counts, options, watch)).collect::<Result<Vec<_>>>()?;
        let languages = corpora.languages.len();
        Ok(Self {
            queues: Vec::new(),
            needs: Needs::new(parity.aim, &parts, options, watch)?,
            turns: Turns {
                ran_out: vec![None; languages],
                window: parity.window,
                recent: VecDeque::new(),
                times: vec![0; languages],
            },
            chosen: Vec::new(),
            lost: vec![0; parts.len()],
            rules: TrainRules::new(&TrainOptions { min_count: 1, ..options.clone() }, watch)
                .ok_or(Error::Interrupted)?,
            min_count: options.min_count,
            corpora: parts,
        })
    }

    /// Takes over the symbols of the corpora's common merges.
    fn copy_symbols(&mut self, corpora: Corpora<'_>, union: &TrainText<C>) -> Result<()> {
        let pieces = corpora.sum.arena();
        let mut places = HashMap::with_capacity(pieces.len());
        let mut place = 1;
        for (piece, _) in pieces.iter() {
            places.insert(piece, place);
            place += piece.len() + 1;
        }
        for (number, counts) in corpora.languages.iter().chain(corpora.others).enumerate() {
            let Some(left) =
                self.corpora[number].text.copy_symbols(counts.arena(), union, |piece| places.get(piece).copied())
            else {
                let (value, allowed) = ("a sum that lacks a piece".to_owned(), "the sum of all counts".to_owned());
                return Err(Error::Option { argument: "languages", value, allowed });
            };
            if number < self.needs.ratios.len() {
                self.needs.now[number] = left;
            }
        }
        Ok(())
    }

    /// Brings the rules and the development texts up to date. None if the caller requests a stop.
    fn update_rules(&mut self, watch: &mut Watch<'_>) -> Option<()> {
        let merges = watch.trained.merges.clone();
        self.chosen = vec![NO_LANGUAGE; merges.len()];
        for text in &mut self.needs.texts {
            text.find_pairs(watch)?;
        }
        for (left, right, id) in merges {
            self.rules.record_token(left, right, id);
            if !self.needs.texts.is_empty() {
                self.needs.record_merge((left, right, id), &[], watch)?;
            }
        }
        Some(())
    }

    /// Continues learning after the common merges. Languages chose the given merges from `from` on.
    fn learn(&mut self, options: &TrainOptions, from: usize, watch: &mut Watch<'_>) -> Option<StopReason> {
        let learned = self.chosen.len() - from;
        for corpus in &mut self.corpora {
            corpus.find_pairs(watch)?;
        }
        for &merge in &options.given[from..] {
            let language = self.replay_choice((merge.0, merge.1));
            self.step(merge, language, 0, watch)?;
        }
        for corpus in &mut self.corpora {
            if let Some(pairs) = &mut corpus.pairs {
                pairs.compact(Some(&self.rules));
            }
        }
        self.queues = self.turns.ran_out.iter().map(|_| Queue::new(options.ties, self.min_count)).collect();
        for id in (options.next_id..).skip(learned).take(options.limit - learned) {
            let Some((language, key, lead)) = self.choose(watch)? else {
                let mut languages = self.corpora[..self.queues.len()].iter();
                let rare = languages.any(|corpus| corpus.text.any_pair(|key| self.rules.allows(key, 1)));
                return Some(if rare { StopReason::MinCount } else { StopReason::NoPairs });
            };
            self.step((key.0, key.1, id), Some(language), lead, watch)?;
        }
        Some(StopReason::Limit)
    }

    /// The language that chose a merge of an earlier run. A language has run out if it has too few of this pair.
    fn replay_choice(&mut self, key: (u32, u32)) -> Option<usize> {
        while let Some(language) = self.turns.next_language(&self.needs) {
            if self.corpora[language].count(key) >= self.min_count {
                return Some(language);
            }
            self.turns.ran_out[language] = Some(self.chosen.len());
        }
        None
    }

    /// The language that chooses, its pair, and the lead of its count over any other pair there. The inner value is
    /// None if no language has a pair left, the outer if the caller requests a stop.
    #[allow(clippy::option_option)] // two different ends of training
    fn choose(&mut self, watch: &mut Watch<'_>) -> Option<Option<Choice>> {
        while let Some(language) = self.turns.next_language(&self.needs) {
            let (queue, corpus) = (&mut self.queues[language], &mut self.corpora[language]);
            let Some(pairs) = &mut corpus.pairs else { break };
            if let PopResult::Pair(left, right) = queue.pop(pairs, &corpus.text, &self.rules, watch)? {
                let count = pairs.count((left, right));
                let most = queue.highest_count(pairs, &self.rules, watch)?;
                return Some(Some((language, (left, right), count.saturating_sub(most))));
            }
            self.turns.ran_out[language] = Some(self.chosen.len());
        }
        Some(None)
    }

    /// Merges a pair everywhere.
    fn step(&mut self, merge: LearnedMerge, language: Option<usize>, lead: u64, watch: &mut Watch<'_>) -> Option<()> {
        self.rules.record_token(merge.0, merge.1, merge.2);
        // Given merges need not follow the rules: all pairs are kept as long as given merges remain.
        let rules = (!self.queues.is_empty()).then_some(&self.rules);
        let (mut count, mut removed) = (0, 0);
        for (number, corpus) in self.corpora.iter_mut().enumerate() {
            let fresh = corpus.pair_count();
            let (occurrences, lost) = corpus.merge(merge, rules, watch)?;
            if let (Some(queue), Some(pairs)) = (self.queues.get_mut(number), &corpus.pairs) {
                queue.push_all(pairs, fresh);
            }
            self.lost[number] = lost;
            (count, removed) = (count + occurrences, removed + lost);
        }
        self.needs.record_merge(merge, &self.lost, watch)?;
        watch.record(merge, (count, lead), removed);
        if let Some(language) = language {
            self.turns.record_choice(language);
        }
        self.chosen.push(language.map_or(NO_LANGUAGE, |language| language as u32));
        Some(())
    }
}
