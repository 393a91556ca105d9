//! A search in a text that counts the engine's reads, so that the bounds can end it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fancy_regex::{Input, Regex};

use crate::error::{Error, Result};
use crate::text::bounds::{Bounds, Spent};

/// Calls `each` with the start and end of every match of `regex`, which its user wrote as `pattern`.
///
/// # Errors
/// [`Error::Pattern`] if the engine gives up or the bounds are spent, [`Error::Interrupted`], and the errors of `each`.
pub fn search(
    (regex, pattern): (&Regex, &str),
    text: &str,
    bounds: &Bounds<'_>,
    mut each: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let counted = CountedText { text, bounds };
    let mut finds = regex.find_iter(&counted);
    let mut at = 0;
    loop {
        bounds.check_stop().map_err(|spent| spent.error(pattern, at))?;
        let next_match = catch_unwind(AssertUnwindSafe(|| finds.next()));
        match next_match.map_err(|payload| spent_bound(payload).error(pattern, at))? {
            None => return Ok(()),
            Some(Ok((start, end))) => {
                each(start, end)?;
                at = end;
            }
            Some(Err(error)) => {
                let (pattern, problem) = (pattern.to_owned(), error.to_string());
                return Err(Error::Pattern { pattern, problem, offset: Some(at) });
            }
        }
    }
}

/// Returns the bound that ended the search; any other panic continues.
fn spent_bound(payload: Box<dyn std::any::Any + Send>) -> Spent {
    payload.downcast::<Spent>().map_or_else(|other| resume_unwind(other), |spent| *spent)
}

/// Ends the search; the engine has no other way to be stopped. The panic hook is not called.
#[cfg(panic = "unwind")]
fn end_search(spent: Spent) -> ! {
    resume_unwind(Box::new(spent))
}

/// Ends the program where nothing unwinds. The panic hook gets the message.
#[cfg(not(panic = "unwind"))]
fn end_search(_: Spent) -> ! {
    panic!("a regex takes more steps than its text allows; use a simpler pattern")
}

/// A text that counts an engine's reads.
struct CountedText<'t, 'b> {
    text: &'t str,
    bounds: &'b Bounds<'b>,
}

impl CountedText<'_, '_> {
    #[inline]
    fn count(&self) {
        if let Err(spent) = self.bounds.charge_step() {
            end_search(spent);
        }
    }
}

impl Input for CountedText<'_, '_> {
    type Match<'m>
        = (usize, usize)
    where
        Self: 'm;

    fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        self.count();
        self.text.as_bytes()
    }

    fn is_char_boundary(&self, at: usize) -> bool {
        self.text.is_char_boundary(at)
    }

    fn is_ascii(&self) -> bool {
        self.text.is_ascii()
    }

    fn prev_codepoint_ix(&self, at: usize) -> usize {
        self.count();
        let before = (0..at).rev().find(|&before| self.text.is_char_boundary(before));
        before.unwrap_or(0)
    }

    fn make_match(&self, start: usize, end: usize) -> (usize, usize) {
        (start, end)
    }

    fn advance_position(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }
}
