//! A long piece of work on a thread of its own, while the caller's thread looks up.

use super::parallel::{Plan, Stop, in_order};
use crate::error::{Error, Result};

/// The result of `work`. Meanwhile the caller's thread calls `look` at least every 50 ms; after an error of it the flag is
/// raised, and `work` ends when it sees that.
///
/// # Errors
/// That of `work`, or of `look`.
pub fn watched<T: Send>(
    stop: &Stop,
    work: impl FnOnce(&Stop) -> Result<T> + Send,
    mut look: impl FnMut() -> Result<()>,
) -> Result<T> {
    let (mut work, mut result) = (Some(work), None);
    let plan = Plan { threads: 1, heavy: Some(&|_| true), in_turn: false, stop };
    let look = |mut done: Vec<T>| {
        result = result.take().or(done.pop());
        if result.is_none() { look() } else { Ok(()) }
    };
    in_order(&plan, || Ok(work.take()), |jobs| jobs.each(|work| work(stop)), look)?;
    result.ok_or(Error::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_a_look_fails() {
        let endless = |stop: &Stop| -> Result<()> {
            loop {
                stop.check()?;
            }
        };
        assert_eq!(watched(&Stop::default(), endless, || Err(Error::Interrupted)), Err(Error::Interrupted));
        assert_eq!(watched(&Stop::default(), |_| Ok(7), || Ok(())), Ok(7));
    }
}
