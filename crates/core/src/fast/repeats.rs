//! Merging a long stretch that repeats itself, such as one character a million times.
//!
//! By the proof in [`crate::fast::windows`], the last token of every start of the stretch follows from what comes
//! before. The last token of `text[..at]` is the only made token that ends there and has a joint with the last token of
//! the text before it. So it depends on the bytes of one longest token before `at`, and on the last tokens of as many
//! shorter starts. If these are the same as some periods earlier, everything after is the same too. The walk goes through
//! the stretch until that happens. Then it reads the tokens off from the end of the stretch.

use crate::error::Result;
use crate::fast::valid_pairs::{Making, SizedToken, ValidPairs};
use crate::threads::parallel::Stop;
use crate::vocab::Vocab;

/// Shorter stretches are merged in another way.
const LEAST: usize = 1 << 10;

/// The longest period in bytes: two characters of four bytes each.
const LONGEST_PERIOD: usize = 8;

/// The longest token in bytes with which this is tried, and the most starts that are walked through.
const LONGEST_TOKEN: usize = 1 << 9;
const MOST_STARTS: usize = 1 << 14;

/// How many tokens are found between two looks at the stop flag.
const TOKENS_PER_LOOK: usize = 1 << 16;

/// No token. No token has this id.
const NONE: u32 = u32::MAX;

/// In the place of a last token where a start has no tokens.
const NOTHING: SizedToken = SizedToken { id: NONE, len: 0 };

/// The last tokens of the starts of a stretch; from `from` on, every `every` bytes the same.
struct LastTokens {
    by_length: Vec<SizedToken>,
    from: usize,
    every: usize,
}

/// Puts what merging gives for `text` into `ids`, and says whether it could. `joints` gives what knows the joints, if it is
/// there.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn merge<'j>(
    vocab: &Vocab,
    joints: impl FnOnce() -> Option<&'j ValidPairs>,
    text: &[u8],
    stop: &Stop,
    ids: &mut Vec<u32>,
) -> Result<bool> {
    if text.len() < LEAST {
        return Ok(false);
    }
    let Some(period) = (1..=LONGEST_PERIOD).find(|&period| text[period..] == text[..text.len() - period]) else {
        return Ok(false);
    };
    let Some(ends) = joints().and_then(|joints| LastTokens::new(vocab, joints, text, period)) else {
        return Ok(false);
    };
    ids.clear();
    let could = ends.read(text.len(), stop, ids)?;
    ids.reverse();
    Ok(could)
}

impl LastTokens {
    /// Those of `text`; `None` where they do not repeat soon or cannot be found this way.
    fn new(vocab: &Vocab, joints: &ValidPairs, text: &[u8], period: usize) -> Option<Self> {
        let longest = vocab.tokens().map(|(token, _)| token.len()).max().filter(|&longest| longest <= LONGEST_TOKEN)?;
        let tokens = tokens(vocab, joints, &text[..longest + period], period)?;
        let mut ends = vec![NOTHING];
        let mut mark = 2 * longest;
        for at in 1..text.len().min(MOST_STARTS) {
            let found = tokens[at % period].iter().find(|end| {
                let Some(start) = at.checked_sub(end.len as usize) else { return false };
                let before = ends[start];
                start == 0
                    || before != NOTHING
                        && joints.holds(vocab, [before, **end], |[left, right]| {
                            let joined = &text[start - left.len as usize..start + right.len as usize];
                            vocab.merge(left.id, right.id, joined).map(|merge| merge.rank)
                        })
            });
            ends.push(found.copied().unwrap_or(NOTHING));
            let window = |at: usize| &ends[at + 1 - longest..=at];
            if at > mark && (at - mark).is_multiple_of(period) && window(at) == window(mark) {
                return Some(Self { from: mark, every: at - mark, by_length: ends });
            }
            if at == 2 * mark {
                mark = at;
            }
        }
        None
    }

    /// Appends the tokens of the first `len` bytes, the last one first; false if there are none.
    fn read(&self, len: usize, stop: &Stop, ids: &mut Vec<u32>) -> Result<bool> {
        let (mut at, mut mark) = (len, (len, 0));
        while at > 0 {
            if ids.len().is_multiple_of(TOKENS_PER_LOOK) {
                stop.check()?;
            }
            let SizedToken { id, len } = self.by_length[self.same(at)];
            if id == NONE {
                return Ok(false);
            }
            ids.push(id);
            at -= len as usize;
            let (marked, since) = mark;
            if at >= self.from && self.same(at) == self.same(marked) {
                // What was read since the mark comes again and again.
                let times = (at - self.from) / (marked - at);
                at -= times * (marked - at);
                let all = ids.len() + times * (ids.len() - since);
                while ids.len() < all {
                    let more = (ids.len() - since).min(all - ids.len());
                    ids.extend_from_within(since..since + more);
                }
                mark = (0, 0);
            } else if ids.len() == 2 * since + 2 {
                mark = (at, ids.len());
            }
        }
        Ok(true)
    }

    /// A start whose last token is that of the first `at` bytes.
    fn same(&self, at: usize) -> usize {
        if at < self.by_length.len() { at } else { self.from + (at - self.from) % self.every }
    }
}

/// By place modulo the period: the made tokens that end there. `text` is one longest token and a period long.
fn tokens(vocab: &Vocab, joints: &ValidPairs, text: &[u8], period: usize) -> Option<Vec<Vec<SizedToken>>> {
    let mut tokens = vec![Vec::new(); period];
    for at in text.len() - period..text.len() {
        for len in (1..=text.len() - period).rev() {
            let Some(id) = vocab.id(&text[at - len..at]) else { continue };
            match joints.making(vocab, id) {
                Making::Ordered => tokens[at % period].push(SizedToken { id, len: len as u32 }),
                Making::Never => {}
                Making::Unordered => return None,
            }
        }
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;
    use crate::fast::windows::tests::{drawn, slowly};
    use crate::kinds::bpe::{MergeScratch, Merger};
    use crate::vocab::MergeRule;

    fn repeating(merger: &Merger, text: &[u8]) -> Option<Vec<u32>> {
        let mut scratch = MergeScratch::default();
        merger.merge_repeating(text, &Stop::default(), &mut scratch).unwrap().then_some(scratch.symbols.ids)
    }

    #[test]
    fn what_repeats_is_merged_as_merge_after_merge_does() {
        let mut draw = Draw(3);
        let mut could = 0;
        for round in 0..240 {
            let letters: &[&str] = if round % 3 == 0 { &["a", "日"] } else { &["a", "b"] };
            let rule = if round % 2 == 0 { MergeRule::Pair } else { MergeRule::Bytes };
            let count = 2 + draw.below(24);
            let vocab = drawn(&mut draw, letters, count, rule, true);
            for letters in [&letters[..1], &letters[1..], letters] {
                let text = letters.concat().repeat((LEAST + draw.below(1000)).div_ceil(letters.concat().len()));
                if let Some(ids) = repeating(&vocab, text.as_bytes()) {
                    assert_eq!(ids, slowly(&vocab, text.as_bytes()));
                    could += 1;
                }
            }
        }
        assert!(could > 600, "{could}");
    }

    #[test]
    fn what_does_not_repeat_is_left_to_others() {
        let vocab = drawn(&mut Draw(3), &["a", "b"], 9, MergeRule::Bytes, true);
        assert_eq!(repeating(&vocab, &[&b"a".repeat(LEAST)[..], b"b"].concat()), None);
        assert_eq!(repeating(&vocab, &b"a".repeat(LEAST - 1)), None);
        assert_eq!(repeating(&vocab, &b"abcdefghi".repeat(LEAST)), None, "the period is too long");
    }
}
