//! The loop of training: given merges first, then the pair with the highest count, again and again.

use super::cell::CellWidth;
use super::options::TrainOptions;
use super::pairs::Pairs;
use super::queue::{Next, Queue};
use super::rules::TrainRules;
use super::text::TrainText;
use super::watch::{Stopped, Watch};

/// Merges until a limit is reached, and says which; nothing if the caller asks to stop.
pub fn learn<C: CellWidth>(text: &mut TrainText<C>, options: &TrainOptions, watch: &mut Watch<'_>) -> Option<Stopped> {
    let mut rules = TrainRules::new(options, watch)?;
    let mut pairs = Pairs::new(text, watch)?;
    // The rules do not apply to given merges: all pairs are kept as long as a given merge may still come.
    for &(left, right, id) in &options.given {
        rules.made(left, right, id);
        let (count, gone) = pairs.merge((left, right, id), text, None, watch)?;
        watch.learned((left, right, id), (count, 0), gone);
    }
    pairs.compact(Some(&rules));
    let mut queue = Queue::new(options.ties, options.min_count);
    for id in (options.next_id..).take(options.limit) {
        let Next::Pair(left, right) = queue.pop(&mut pairs, text, &rules, watch)? else {
            // Pairs that are too rare were not kept, but they still occur.
            let rare = text.any(|key| rules.allow(key, u64::MAX));
            return Some(if rare { Stopped::MinCount } else { Stopped::NoPairs });
        };
        rules.made(left, right, id);
        let most = queue.most(&mut pairs, &rules, watch)?;
        let fresh = pairs.len();
        let (count, gone) = pairs.merge((left, right, id), text, Some(&rules), watch)?;
        queue.push_all(&pairs, fresh);
        watch.learned((left, right, id), (count, count.saturating_sub(most)), gone);
    }
    Some(Stopped::Limit)
}
