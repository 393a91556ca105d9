//! Piece counts to merges: the pair with the highest count merges everywhere, and again, until a limit is reached.
//!
//! All distinct pieces stand one after another in one array of cells (`text`), and every pair keeps the places where
//! it stands (`pairs`), so that a merge touches those places only and the whole training costs n log n. The unsplit
//! stream is the case of few, long pieces and needs nothing of its own. What waits is in `queue`, and what may merge
//! at all is in `rules`.
//!
//! A count is the number of places where the pair stands, each times the count of its piece: `aaa` holds `aa` twice,
//! though it merges only once. After a pair's first count its counts only fall, and its first place only grows: new
//! places arise only when the younger of its two tokens does.
//!
//! Merges that are given come first, whatever their counts. So one loop continues a tokenizer, takes up a training
//! that was interrupted, makes seed tokens, and trains superwords on what the merges of words leave.

pub mod alphabet;
pub mod unigram;
pub mod unigram_seeds;

mod pairs;
mod queue;
mod rules;
mod text;

#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::count::PieceCounts;
use crate::error::{Error, Result};
use crate::vocab::Vocab;
use pairs::Pairs;
use queue::{Next, Queue};
use rules::Rules;
use text::Text;

pub use rules::NO_ID;

/// Which of several pairs with the highest count merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one with the smallest left id, then the smallest right id.
    LowestIds,
    /// The one that is met first in the text as it stands now.
    FirstSeen,
}

/// One merge: left id, right id and the id of the result.
pub type Merge = (u32, u32, u32);

/// What training starts from, when it stops, and how it chooses.
#[derive(Debug, Clone)]
pub struct Options {
    /// The id of each byte's symbol; [`NO_ID`] for one that must not occur.
    pub alphabet: [u32; 256],
    /// A tokenizer to go on from: pieces start as its ids, and no pair whose joined bytes are one of its tokens merges.
    /// Of `alphabet` nothing is used then.
    pub base: Option<Arc<Vocab>>,
    /// Merges that come first, in this order, whatever their counts and whatever the rules below.
    pub given: Vec<Merge>,
    /// The id of the first merge that is learned; above all ids of `alphabet`, `base` and `given`.
    pub next_id: u32,
    /// The most merges to learn.
    pub limit: usize,
    /// The least count of a pair that still merges; at least 1.
    pub min_count: u64,
    /// The rule for ties.
    pub ties: Ties,
    /// The longest token, in bytes; pairs that would make a longer one never merge.
    pub max_token_bytes: Option<u32>,
    /// Whether no token may hold a part of a character and something beside it.
    pub whole_characters: bool,
}

impl Options {
    /// Every byte is the symbol of its own value, and nothing ends training but the end of pairs.
    #[must_use]
    pub fn of_bytes() -> Self {
        Self {
            alphabet: std::array::from_fn(|byte| byte as u32),
            base: None,
            given: Vec::new(),
            next_id: 256,
            limit: usize::MAX,
            min_count: 1,
            ties: Ties::LowestIds,
            max_token_bytes: None,
            whole_characters: false,
        }
    }

    /// # Errors
    /// [`Error::Option`] for ids that are taken twice, or parts that no merge before made.
    fn check(&self) -> Result<()> {
        let refuse = |argument, value: String, allowed: &str| {
            Err(Error::Option { argument, value, allowed: allowed.to_owned() })
        };
        let mut known = vec![false; self.next_id as usize];
        let first: Vec<u32> = match &self.base {
            Some(vocab) => vocab.tokens().map(|(_, id)| id).collect(),
            None => self.alphabet.iter().copied().filter(|&id| id != NO_ID).collect(),
        };
        for id in first {
            match known.get_mut(id as usize) {
                Some(known) if !*known => *known = true,
                _ => return refuse("alphabet", id.to_string(), "different ids below that of the first merge"),
            }
        }
        for &(left, right, id) in &self.given {
            let made = |part: u32| known.get(part as usize).is_some_and(|&known| known);
            if !made(left) || !made(right) || known.get(id as usize) != Some(&false) {
                let value = format!("({left}, {right}, {id})");
                return refuse("given", value, "merges in the order of training, each of parts made before it");
            }
            known[id as usize] = true;
        }
        Ok(())
    }
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The limit was reached.
    Limit,
    /// No pair was left.
    NoPairs,
    /// Every pair that was left had a lower count than `min_count`.
    MinCount,
    /// The caller asked to stop.
    Interrupted,
}

/// The merges, those that were given and those that training learned.
#[derive(Debug)]
pub struct Trained {
    /// Each merge.
    pub merges: Vec<Merge>,
    /// The count of its pair when it merged.
    pub counts: Vec<u64>,
    /// By how much that was more than the count of any other pair; 0 for a merge that was given.
    pub leads: Vec<u64>,
    /// The symbols left in the corpus after it.
    pub left: Vec<u64>,
    /// The symbols before the first merge.
    pub symbols: u64,
    /// Why training ended.
    pub stopped: Stopped,
}

impl Trained {
    /// The same without the first merges.
    #[must_use]
    pub fn since(&self, merges: usize) -> Self {
        Self {
            merges: self.merges[merges..].to_vec(),
            counts: self.counts[merges..].to_vec(),
            leads: self.leads[merges..].to_vec(),
            left: self.left[merges..].to_vec(),
            ..*self
        }
    }
}

/// How many places are visited between two looks at the clock.
const PLACES_PER_LOOK: usize = 1 << 16;
/// How long training runs between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// The merges of a corpus. `report` gets what was learned so far now and then, and may end training.
///
/// # Errors
/// [`Error::NotInVocabulary`] for a byte outside the alphabet; [`Error::Option`] for options that contradict, and for
/// more than 4 GiB of distinct pieces.
pub fn train(
    counts: &PieceCounts,
    options: &Options,
    report: &mut dyn FnMut(&Trained) -> ControlFlow<()>,
) -> Result<Trained> {
    options.check()?;
    let empty =
        Trained { merges: vec![], counts: vec![], leads: vec![], left: vec![], symbols: 0, stopped: Stopped::Limit };
    let mut watch = Watch { trained: empty, reported: None, report };
    let mut text = Text::new(counts, options)?;
    watch.trained.symbols = text.symbols;
    let stopped = learn(&mut text, options, &mut watch);
    let mut trained = watch.trained;
    trained.stopped = stopped.unwrap_or(Stopped::Interrupted);
    Ok(trained)
}

/// Merges until a limit is reached, and says which; nothing if the caller asks to stop.
fn learn(text: &mut Text, options: &Options, watch: &mut Watch<'_>) -> Option<Stopped> {
    let mut rules = Rules::new(options);
    let mut pairs = Pairs::new(text, watch)?;
    // Merges that are given need no leave: all pairs are kept as long as one of them may still come.
    for &(left, right, id) in &options.given {
        rules.made(left, right, id);
        let (count, gone) = pairs.merge((left, right, id), text, None, watch)?;
        watch.learned((left, right, id), (count, 0), gone);
    }
    pairs.compact(Some(&rules));
    let mut queue = Queue::new(options.ties);
    for id in (options.next_id..).take(options.limit) {
        let Next::Pair(left, right) = queue.pop(&mut pairs, text, &rules, watch)? else {
            // Pairs that are too rare were not kept, but they still stand there.
            let rare = text.any(|key| rules.allow(key, u64::MAX));
            return Some(if rare { Stopped::MinCount } else { Stopped::NoPairs });
        };
        rules.made(left, right, id);
        let most = queue.most(&mut pairs, &rules, watch)?;
        let fresh = pairs.len();
        let (count, gone) = pairs.merge((left, right, id), text, Some(&rules), watch)?;
        queue.push_all(&pairs, fresh);
        watch.learned((left, right, id), (count, count.saturating_sub(most)), gone);
    }
    Some(Stopped::Limit)
}

/// Holds what was learned, reports it, and hears whether to go on.
struct Watch<'w> {
    trained: Trained,
    reported: Option<Instant>,
    report: &'w mut dyn FnMut(&Trained) -> ControlFlow<()>,
}

impl Watch<'_> {
    /// Whether to go on; costs next to nothing until a report is due.
    fn go_on(&mut self) -> Option<()> {
        if self.reported.is_some_and(|last| last.elapsed() < REPORT_EVERY) {
            return Some(());
        }
        self.reported = Some(Instant::now());
        if (self.report)(&self.trained).is_continue() { Some(()) } else { None }
    }

    /// The same, inside a long loop.
    fn look(&mut self, step: usize) -> Option<()> {
        if step.is_multiple_of(PLACES_PER_LOOK) { self.go_on() } else { Some(()) }
    }

    fn learned(&mut self, merge: Merge, (count, lead): (u64, u64), gone: u64) {
        let before = self.trained.left.last().copied().unwrap_or(self.trained.symbols);
        self.trained.merges.push(merge);
        self.trained.counts.push(count);
        self.trained.leads.push(lead);
        self.trained.left.push(before - gone);
    }
}
