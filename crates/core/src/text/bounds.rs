//! Limits the cost of one text: its growth by steps, and the searching by its regexes.
//!
//! Both bounds grow linearly with the text. They do not depend on threads, batches or segments: a call makes them once
//! for the caller's text, and passes them to all work on its parts.

use std::cell::Cell;

use crate::error::{Error, Result};
use crate::threads::parallel::Stop;

/// The factor by which a text can grow.
pub const GROWTH: usize = 64;
/// The bytes that a text can grow in addition.
pub const GROWTH_MORE: usize = 1 << 20;
/// The steps of a regex engine for each byte of a text.
pub const STEPS: u64 = 64;
/// The steps of a regex engine in addition.
pub const STEPS_MORE: u64 = 1 << 24;
/// The steps of an engine between two checks of the stop flag.
const STEPS_PER_LOOK: u64 = 1 << 12;

/// The remaining budget of one text.
#[derive(Debug)]
pub struct Bounds<'s> {
    stop: &'s Stop,
    /// The length limit of the text, all its parts together.
    longest: usize,
    /// The bytes that it can still grow.
    room: Cell<usize>,
    /// The remaining steps before the next check of the stop flag.
    now: Cell<u64>,
    /// The remaining steps after that.
    later: Cell<u64>,
}

/// A snapshot of the remaining budget.
#[derive(Debug, Clone, Copy)]
pub struct RemainingBounds {
    room: usize,
    now: u64,
    later: u64,
}

impl<'s> Bounds<'s> {
    /// The bounds of a text of `len` bytes.
    #[must_use]
    pub fn new(len: usize, stop: &'s Stop) -> Self {
        let longest = len.saturating_mul(GROWTH).saturating_add(GROWTH_MORE);
        let steps = (len as u64).saturating_mul(STEPS).saturating_add(STEPS_MORE);
        Self { stop, longest, room: Cell::new(longest - len), now: Cell::new(0), later: Cell::new(steps) }
    }

    /// The flag that the caller raises to end the call.
    #[must_use]
    pub fn stop(&self) -> &'s Stop {
        self.stop
    }

    /// The remaining budget, for [`Self::reset`].
    #[must_use]
    pub fn remaining(&self) -> RemainingBounds {
        RemainingBounds { room: self.room.get(), now: self.now.get(), later: self.later.get() }
    }

    /// Restores the budget, because the same work is done again.
    pub fn reset(&self, left: RemainingBounds) {
        self.room.set(left.room);
        self.now.set(left.now);
        self.later.set(left.later);
    }

    /// The bytes that the text can still grow.
    #[must_use]
    pub fn room(&self) -> usize {
        self.room.get()
    }

    /// Charges the growth of a part from `before` to `after` bytes; `step` names the step that does it.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the budget is exceeded.
    pub fn resize(&self, before: usize, after: usize, step: impl FnOnce() -> String) -> Result<()> {
        let room = self.room.get().saturating_add(before);
        let left = room.checked_sub(after).ok_or_else(|| Error::TooLong { step: step(), limit: self.longest })?;
        self.room.set(left);
        Ok(())
    }

    /// Charges one step of a search.
    ///
    /// # Errors
    /// [`Spent`] if none is left, or the caller requested a stop.
    #[inline]
    pub fn charge_step(&self) -> std::result::Result<(), Spent> {
        match self.now.get().checked_sub(1) {
            Some(left) => {
                self.now.set(left);
                Ok(())
            }
            None => self.check_stop().and_then(|()| self.charge_steps(1)),
        }
    }

    /// Charges several steps, or none of them.
    ///
    /// # Errors
    /// As [`Self::charge_step`].
    pub fn charge_steps(&self, steps: u64) -> std::result::Result<(), Spent> {
        let left = (self.now.get() + self.later.get()).checked_sub(steps).ok_or(Spent::Steps)?;
        self.now.set(left.min(STEPS_PER_LOOK));
        self.later.set(left - left.min(STEPS_PER_LOOK));
        Ok(())
    }

    /// # Errors
    /// [`Spent::Stopped`] if the caller requested a stop.
    pub fn check_stop(&self) -> std::result::Result<(), Spent> {
        self.stop.check().map_err(|_| Spent::Stopped)
    }
}

/// The reason why a search ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// The text has no steps left.
    Steps,
    /// The caller requested a stop.
    Stopped,
}

impl Spent {
    /// The error of a search for `pattern` from `offset` on.
    #[must_use]
    pub fn error(self, pattern: &str, offset: usize) -> Error {
        match self {
            Self::Stopped => Error::Interrupted,
            Self::Steps => Error::Pattern {
                pattern: pattern.to_owned(),
                problem: format!("the search takes more steps than the {STEPS} per byte and {STEPS_MORE} of a text"),
                offset: Some(offset),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_grows_to_its_limit_and_no_further() {
        let stop = Stop::default();
        let bounds = Bounds::new(2, &stop);
        let limit = 2 * GROWTH + GROWTH_MORE;
        bounds.resize(2, limit, String::new).unwrap();
        let refused = bounds.resize(1, 2, || "a step".to_owned()).unwrap_err();
        assert_eq!(refused, Error::TooLong { step: "a step".to_owned(), limit });
        bounds.resize(limit, 1, String::new).unwrap();
        assert_eq!(bounds.room(), limit - 1);
    }

    #[test]
    fn a_search_ends_without_steps_or_on_a_raised_flag() {
        let stop = Stop::default();
        let bounds = Bounds::new(1, &stop);
        let all = STEPS + STEPS_MORE;
        for _ in 0..all - 10 {
            bounds.charge_step().unwrap();
        }
        assert_eq!(
            (bounds.charge_steps(11), bounds.charge_steps(10), bounds.charge_step()),
            (Err(Spent::Steps), Ok(()), Err(Spent::Steps))
        );
        let bounds = Bounds::new(1, &stop);
        stop.raise();
        assert_eq!((bounds.charge_step(), bounds.check_stop()), (Err(Spent::Stopped), Err(Spent::Stopped)));
    }
}
