//! Runs long work on a second thread, while the caller's thread polls for signals.

use super::parallel::{Plan, Stop, run_ordered};
use crate::error::{Error, Result};

/// Returns the result of `work`. Meanwhile the caller's thread calls `look` at least every 50 ms. An error of `look`
/// raises the flag, and `work` ends when it checks the flag.
///
/// # Errors
/// That of `work`, or of `look`.
pub fn run_watched<T: Send>(
    stop: &Stop,
    work: impl FnOnce(&Stop) -> Result<T> + Send,
    mut look: impl FnMut() -> Result<()>,
) -> Result<T> {
    let (mut work, mut result) = (Some(work), None);
    let plan = Plan { threads: 1, watched: true, stop };
    let look = |mut results: Vec<T>| {
        result = result.take().or(results.pop());
        if result.is_none() { look() } else { Ok(()) }
    };
    run_ordered(plan, || Ok(work.take()), |jobs| jobs.for_each(|work| work(stop)), look)?;
    result.ok_or(Error::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_polling_fails() {
        let endless = |stop: &Stop| -> Result<()> {
            loop {
                stop.check()?;
            }
        };
        assert_eq!(run_watched(&Stop::default(), endless, || Err(Error::Interrupted)), Err(Error::Interrupted));
        assert_eq!(run_watched(&Stop::default(), |_| Ok(7), || Ok(())), Ok(7));
    }
}
