//! A priority queue of pairs by their counts.
//!
//! Most pairs are rare and never merge. So the heap only holds pairs with at least a certain count. When it is empty,
//! the queue lowers that count and searches the table for more. Counts only fall and first places only grow, so that an
//! entry is never too low. An outdated entry is put back, or left to the next search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cell::CellWidth;
use super::options::Ties;
use super::pairs::Pairs;
use super::rules::TrainRules;
use super::text::TrainText;
use super::watch::Watch;

/// Count, tie breaker (the smallest first), and the pair's number.
type QueuedPair = (u64, Reverse<u64>, u32);

pub enum PopResult {
    Pair(u32, u32),
    NoPair,
}

pub struct Queue {
    ties: Ties,
    /// Pairs with a lower count never merge, though the table can keep them.
    min_count: u64,
    heap: BinaryHeap<QueuedPair>,
    /// Pairs with a lower count are not in the heap.
    least: u64,
    /// The pair popped last, which no longer waits.
    popped: Option<(u32, u32)>,
}

impl Queue {
    /// An empty queue: the first `pop` fills it.
    pub fn new(ties: Ties, min_count: u64) -> Self {
        Self { ties, min_count: min_count.max(1), heap: BinaryHeap::new(), least: u64::MAX, popped: None }
    }

    pub fn push_all(&mut self, pairs: &Pairs, first: usize) {
        for number in first..pairs.len() {
            self.push(pairs, number);
        }
    }

    fn push(&mut self, pairs: &Pairs, number: usize) {
        let pair = pairs.pair(number);
        if pair.count < self.least || pair.count == 0 || self.popped == Some(pair.key) {
            return;
        }
        let tie = match self.ties {
            Ties::LowestIds => u64::from(pair.key.0) << 32 | u64::from(pair.key.1),
            Ties::FirstSeen => u64::from(pairs.first_place(number)),
        };
        self.heap.push((pair.count, Reverse(tie), number as u32));
    }

    /// Pops the pair that merges next. None if the caller requests a stop.
    pub fn pop<C: CellWidth>(
        &mut self,
        pairs: &mut Pairs,
        text: &TrainText<C>,
        rules: &TrainRules,
        watch: &mut Watch<'_>,
    ) -> Option<PopResult> {
        let mut visited = 0;
        loop {
            while let Some((count, Reverse(tie), number)) = self.heap.pop() {
                visited += 1;
                watch.check_at(visited)?;
                let number = number as usize;
                let pair = *pairs.pair(number);
                let mut first = || u64::from(pairs.first_live_place(number, text));
                if pair.count == count && (self.ties == Ties::LowestIds || first() == tie) {
                    self.popped = Some(pair.key);
                    return Some(PopResult::Pair(pair.key.0, pair.key.1));
                }
                self.push(pairs, number);
            }
            if !self.refill(pairs, rules) {
                return Some(PopResult::NoPair);
            }
            watch.should_continue()?;
        }
    }

    /// The highest count of the waiting pairs, or else of the pairs that are too rare. None if the caller requests a
    /// stop.
    pub fn highest_count(&mut self, pairs: &mut Pairs, rules: &TrainRules, watch: &mut Watch<'_>) -> Option<u64> {
        loop {
            while let Some(&(count, _, number)) = self.heap.peek() {
                if pairs.pair(number as usize).count == count {
                    return Some(count);
                }
                self.heap.pop();
                self.push(pairs, number as usize);
            }
            if !self.refill(pairs, rules) {
                return Some(self.min_count - 1);
            }
            watch.should_continue()?;
        }
    }

    /// Lowers the minimum count, so that about half of the other pairs enter. Returns whether any pair is left.
    fn refill(&mut self, pairs: &mut Pairs, rules: &TrainRules) -> bool {
        pairs.compact(Some(rules));
        let waiting = (0..pairs.len()).map(|number| pairs.pair(number)).filter(|pair| self.popped != Some(pair.key));
        let most = waiting.map(|pair| pair.count).max().filter(|&most| most >= self.min_count);
        self.least = most.unwrap_or(0).div_ceil(2).max(self.min_count);
        self.push_all(pairs, 0);
        most.is_some()
    }
}
