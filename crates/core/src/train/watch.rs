//! What training has learned so far, and its reports to the caller.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::options::LearnedMerge;
use crate::threads::now;

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
    pub merges: Vec<LearnedMerge>,
    /// The count of its pair when it merged.
    pub counts: Vec<u64>,
    /// By how much that count was above that of any other pair; 0 for a merge that was given.
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
pub(super) const PLACES_PER_LOOK: usize = 1 << 16;
/// How long training runs between two reports.
pub(super) const REPORT_EVERY: Duration = Duration::from_millis(50);

/// Holds what was learned, reports it, and hears whether to go on.
pub(super) struct Watch<'w> {
    pub(super) trained: Trained,
    reported: Option<Instant>,
    report: &'w mut dyn FnMut(&Trained) -> ControlFlow<()>,
}

impl<'w> Watch<'w> {
    /// Nothing learned yet.
    pub(super) fn new(report: &'w mut dyn FnMut(&Trained) -> ControlFlow<()>) -> Self {
        let empty = Trained {
            merges: vec![],
            counts: vec![],
            leads: vec![],
            left: vec![],
            symbols: 0,
            stopped: Stopped::Limit,
        };
        Self { trained: empty, reported: None, report }
    }

    /// Whether to go on; costs next to nothing until a report is due.
    pub(super) fn go_on(&mut self) -> Option<()> {
        if self.reported.is_some_and(|last| last.elapsed() < REPORT_EVERY) {
            return Some(());
        }
        self.reported = now();
        if (self.report)(&self.trained).is_continue() { Some(()) } else { None }
    }

    /// The same, inside a long loop.
    pub(super) fn look(&mut self, step: usize) -> Option<()> {
        if step.is_multiple_of(PLACES_PER_LOOK) { self.go_on() } else { Some(()) }
    }

    pub(super) fn learned(&mut self, merge: LearnedMerge, (count, lead): (u64, u64), gone: u64) {
        let before = self.trained.left.last().copied().unwrap_or(self.trained.symbols);
        self.trained.merges.push(merge);
        self.trained.counts.push(count);
        self.trained.leads.push(lead);
        self.trained.left.push(before - gone);
    }
}
