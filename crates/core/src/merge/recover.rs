//! Recovers the list of merges from a table of tokens.

use std::ops::Range;

use crate::merge::heap::{Heap, MergeLimits};
use crate::merge::rule::{RESCAN_LIMIT, Symbols, rescan};
use crate::threads::parallel::Stop;
use crate::vocab::{MergeRule, Vocab};

/// Returns the merges as left, right and result id, in rank order.
///
/// For [`MergeRule::Bytes`] a token's merge is the last one of encoding the token's bytes without the whole-piece
/// lookup; tokens that merging alone does not reach have none. Replacing the rule by this list changes no id: inside
/// the bytes of a token that was merged from two neighbours no merge crossed an edge, so the token alone has the same
/// neighbours.
#[must_use]
pub fn recover_merges(vocab: &Vocab) -> Vec<[u32; 3]> {
    if vocab.merge_rule() == MergeRule::Pair {
        return vocab.merges().to_vec();
    }
    let merges =
        vocab.tokens().filter_map(|(token, id)| last_merge(vocab, token).map(|[left, right]| [left, right, id]));
    merges.collect()
}

/// The two symbols that the last merge joins when merging turns a token's bytes into the token.
fn last_merge(vocab: &Vocab, token: &[u8]) -> Option<[u32; 2]> {
    let mut symbols = Symbols::default();
    symbols.start(vocab, None, token).ok()?;
    if symbols.ids.len() <= RESCAN_LIMIT {
        rescan(vocab, token, &mut symbols, &mut Vec::new(), 2);
    } else {
        let look = |[left, right]: [u32; 2], range: Range<usize>| vocab.merge(left, right, &token[range]);
        Heap::default().merge(&mut symbols, look, MergeLimits { least: 2, stop: &Stop::default() }, None).ok()?;
    }
    let [left, right] = symbols.ids[..] else { return None };
    vocab.merge(left, right, token).map(|_| [left, right])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::bytes_vocab;

    #[test]
    fn a_bytes_vocabulary_recovers_its_merges() {
        let vocab = bytes_vocab(&["ab", "abc", "bc"]);
        let merges = recover_merges(&vocab);
        assert_eq!(merges, [[97, 98, 256], [256, 99, 257], [98, 99, 258]]);
    }

    #[test]
    fn a_token_that_merging_does_not_reach_has_no_merge() {
        let vocab = bytes_vocab(&["abc"]);
        assert!(recover_merges(&vocab).is_empty());
    }
}
