//! Records the progress of training, and reports it to the caller.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::options::LearnedMerge;
use crate::threads::now;

/// The reason why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The limit was reached.
    Limit,
    /// No pair is left.
    NoPairs,
    /// Every remaining pair has a lower count than `min_count`.
    MinCount,
    /// The caller requested a stop.
    Interrupted,
}

/// The merges: the given and the learned ones.
#[derive(Debug)]
pub struct Trained {
    /// Each merge.
    pub merges: Vec<LearnedMerge>,
    /// The count of its pair when it merged.
    pub counts: Vec<u64>,
    /// The lead of that count over any other pair's; 0 for a given merge.
    pub leads: Vec<u64>,
    /// The symbols of the corpus after it.
    pub left: Vec<u64>,
    /// The symbols before the first merge.
    pub symbols: u64,
    /// The reason why training ended.
    pub stopped: StopReason,
}

impl Trained {
    /// The same without the first `merges` merges.
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

/// The places visited between two checks of the clock.
pub(super) const PLACES_PER_LOOK: usize = 1 << 16;
/// The time between two reports.
pub(super) const REPORT_EVERY: Duration = Duration::from_millis(50);

/// Holds the progress, reports it, and gets the caller's decision to continue.
pub(super) struct Watch<'w> {
    pub(super) trained: Trained,
    reported: Option<Instant>,
    report: &'w mut dyn FnMut(&Trained) -> ControlFlow<()>,
}

impl<'w> Watch<'w> {
    /// The state before the first merge.
    pub(super) fn new(report: &'w mut dyn FnMut(&Trained) -> ControlFlow<()>) -> Self {
        let empty = Trained {
            merges: vec![],
            counts: vec![],
            leads: vec![],
            left: vec![],
            symbols: 0,
            stopped: StopReason::Limit,
        };
        Self { trained: empty, reported: None, report }
    }

    /// Whether to continue; costs almost nothing until a report is due.
    pub(super) fn should_continue(&mut self) -> Option<()> {
        if self.reported.is_some_and(|last| last.elapsed() < REPORT_EVERY) {
            return Some(());
        }
        self.reported = now();
        if (self.report)(&self.trained).is_continue() { Some(()) } else { None }
    }

    /// The same, inside a long loop.
    pub(super) fn check_at(&mut self, step: usize) -> Option<()> {
        if step.is_multiple_of(PLACES_PER_LOOK) { self.should_continue() } else { Some(()) }
    }

    pub(super) fn record(&mut self, merge: LearnedMerge, (count, lead): (u64, u64), removed: u64) {
        let before = self.trained.left.last().copied().unwrap_or(self.trained.symbols);
        self.trained.merges.push(merge);
        self.trained.counts.push(count);
        self.trained.leads.push(lead);
        self.trained.left.push(before - removed);
    }
}
