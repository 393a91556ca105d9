//! The loop of training: given merges first, then always the pair with the highest count.

use super::cell::CellWidth;
use super::options::TrainOptions;
use super::pairs::Pairs;
use super::queue::{PopResult, Queue};
use super::rules::TrainRules;
use super::text::TrainText;
use super::watch::{StopReason, Watch};

/// Merges until a limit is reached, and returns which; None if the caller requests a stop.
pub fn learn<C: CellWidth>(
    text: &mut TrainText<C>,
    options: &TrainOptions,
    watch: &mut Watch<'_>,
) -> Option<StopReason> {
    let mut rules = TrainRules::new(options, watch)?;
    let mut pairs = Pairs::new(text, watch)?;
    // The rules do not apply to given merges: all pairs are kept as long as given merges remain.
    for &(left, right, id) in &options.given {
        rules.record_token(left, right, id);
        let (count, removed) = pairs.merge((left, right, id), text, None, watch)?;
        watch.record((left, right, id), (count, 0), removed);
    }
    pairs.compact(Some(&rules));
    let mut queue = Queue::new(options.ties, options.min_count);
    for id in (options.next_id..).take(options.limit) {
        let PopResult::Pair(left, right) = queue.pop(&mut pairs, text, &rules, watch)? else {
            // Pairs that are too rare were dropped, but they still occur.
            let rare = text.any_pair(|key| rules.allows(key, u64::MAX));
            return Some(if rare { StopReason::MinCount } else { StopReason::NoPairs });
        };
        rules.record_token(left, right, id);
        let most = queue.highest_count(&mut pairs, &rules, watch)?;
        let fresh = pairs.len();
        let (count, removed) = pairs.merge((left, right, id), text, Some(&rules), watch)?;
        queue.push_all(&pairs, fresh);
        watch.record((left, right, id), (count, count.saturating_sub(most)), removed);
    }
    Some(StopReason::Limit)
}
