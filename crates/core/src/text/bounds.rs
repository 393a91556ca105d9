//! What one text of the caller may cost: how far its steps may make it grow, and how long its regexes may search.
//!
//! Both bounds grow linearly with the text. They do not depend on threads, batches or segments: a call makes them once for
//! the text that the caller gave, and passes them on to everything that works on a part of it.

use std::cell::Cell;

use crate::error::{Error, Result};
use crate::threads::parallel::Stop;

/// A text may become this many times as long as it was, and …
pub const GROWTH: usize = 64;
/// … this many bytes longer.
pub const GROWTH_MORE: usize = 1 << 20;
/// A regex engine may take this many steps for each byte of a text, and …
pub const STEPS: u64 = 64;
/// … this many steps more.
pub const STEPS_MORE: u64 = 1 << 24;
/// How many steps an engine takes between two looks at the stop flag.
const STEPS_PER_LOOK: u64 = 1 << 12;

/// What one text may still cost.
#[derive(Debug)]
pub struct Bounds<'s> {
    stop: &'s Stop,
    /// How long the text may become, all its parts together.
    longest: usize,
    /// How many bytes it may still grow.
    room: Cell<usize>,
    /// The steps that may be taken before the next look at the stop flag.
    now: Cell<u64>,
    /// The steps that may be taken after that.
    later: Cell<u64>,
}

/// What was left of the bounds of a text at some moment.
#[derive(Debug, Clone, Copy)]
pub struct Left {
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

    /// What is left now, for [`Self::reset`].
    #[must_use]
    pub fn left(&self) -> Left {
        Left { room: self.room.get(), now: self.now.get(), later: self.later.get() }
    }

    /// Forgets what was spent since, because the same work is done again.
    pub fn reset(&self, left: Left) {
        self.room.set(left.room);
        self.now.set(left.now);
        self.later.set(left.later);
    }

    /// How many bytes the text may still grow.
    #[must_use]
    pub fn room(&self) -> usize {
        self.room.get()
    }

    /// Counts that a part of `before` bytes becomes one of `after` bytes; `step` names the step that does so.
    ///
    /// # Errors
    /// [`Error::TooLong`] where the text has no room for it.
    pub fn resize(&self, before: usize, after: usize, step: impl FnOnce() -> String) -> Result<()> {
        let room = self.room.get().saturating_add(before);
        let left = room.checked_sub(after).ok_or_else(|| Error::TooLong { step: step(), limit: self.longest })?;
        self.room.set(left);
        Ok(())
    }

    /// Takes one step of a search.
    ///
    /// # Errors
    /// [`Spent`] where none is left, or the caller asked to stop.
    #[inline]
    pub fn step(&self) -> std::result::Result<(), Spent> {
        match self.now.get().checked_sub(1) {
            Some(left) => {
                self.now.set(left);
                Ok(())
            }
            None => self.look().and_then(|()| self.pay(1)),
        }
    }

    /// Takes several steps at once, or none.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn pay(&self, steps: u64) -> std::result::Result<(), Spent> {
        let left = (self.now.get() + self.later.get()).checked_sub(steps).ok_or(Spent::Steps)?;
        self.now.set(left.min(STEPS_PER_LOOK));
        self.later.set(left - left.min(STEPS_PER_LOOK));
        Ok(())
    }

    /// # Errors
    /// [`Spent::Stopped`] where the caller asked to stop.
    pub fn look(&self) -> std::result::Result<(), Spent> {
        self.stop.check().map_err(|_| Spent::Stopped)
    }
}

/// Why a search ends before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// The text has no steps left.
    Steps,
    /// The caller asked to stop.
    Stopped,
}

impl Spent {
    /// The error of a search for `pattern` that began at `offset`.
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
    fn steps_end_and_a_raised_flag_is_seen() {
        let stop = Stop::default();
        let bounds = Bounds::new(1, &stop);
        let all = STEPS + STEPS_MORE;
        for _ in 0..all - 10 {
            bounds.step().unwrap();
        }
        assert_eq!((bounds.pay(11), bounds.pay(10), bounds.step()), (Err(Spent::Steps), Ok(()), Err(Spent::Steps)));
        let bounds = Bounds::new(1, &stop);
        stop.raise();
        assert_eq!((bounds.step(), bounds.look()), (Err(Spent::Stopped), Err(Spent::Stopped)));
    }
}
