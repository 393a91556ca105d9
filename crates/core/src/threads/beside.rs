//! Two pieces of work at the same time.

use std::sync::Mutex;

use crate::threads::parallel::locked;

/// The results of `own`, which this thread does, and of `other`, which another thread does meanwhile. Where no thread can be
/// had, or it has not begun when `own` is done, this thread does both.
pub fn beside<A, B: Send>(own: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    let waiting = Mutex::new(Some(other));
    let take = || locked(&waiting).take();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || take().map(|other| other())).ok();
        let done = own();
        if let Some(other) = take() {
            return (done, other());
        }
        let others = thread.and_then(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        (done, others.unwrap_or_else(|| unreachable!("the other thread took the work")))
    })
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn both_results_are_given() {
        let mut words = vec!["own"];
        let (own, other) = beside(|| words.push("more"), || 6 * 7);
        assert_eq!((own, other, words.len()), ((), 42, 2));
    }

    #[test]
    #[should_panic(expected = "the other's")]
    fn a_panic_of_the_other_reaches_the_caller() {
        beside(
            || std::thread::sleep(std::time::Duration::from_millis(20)),
            || {
                // A panic that the compiler cannot know of.
                std::hint::black_box(None::<u32>).expect("the other's")
            },
        );
    }
}
