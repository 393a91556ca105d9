//! Which merge makes a token when its own bytes are merged, and the list of merges that follows from a table of tokens.

use std::ops::Range;

use crate::merge::heap::{Heap, Until};
use crate::merge::rule::{RESCAN_LIMIT, Symbols, rescan};
use crate::threads::parallel::Stop;
use crate::vocab::{Merge, MergeRule, Vocab};

/// What makes a token when its own bytes are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastMerge {
    /// It exists before the first merge.
    Base,
    /// By this merge of two ids.
    Of { left: u32, right: u32, rank: u32 },
    /// Not at all.
    Never,
}

/// What makes `token`, and whether the ranks of all its merges, in the order in which they happen, never fall.
pub(crate) fn last_merge(vocab: &Vocab, token: &[u8]) -> (LastMerge, bool) {
    let mut symbols = Symbols::default();
    if symbols.start(vocab, None, token).is_err() {
        return (LastMerge::Never, true);
    }
    let highest = if symbols.ids.len() <= RESCAN_LIMIT {
        rescan(vocab, token, &mut symbols, &mut Vec::new(), 2)
    } else {
        let look = |[left, right]: [u32; 2], range: Range<usize>| vocab.merge(left, right, &token[range]);
        let until = Until { least: 2, stop: &Stop::default() };
        Heap::default().merge(&mut symbols, look, until, None).unwrap_or(None)
    };
    match symbols.ids[..] {
        [_] => (LastMerge::Base, true),
        [left, right] => match vocab.merge(left, right, token) {
            Some(Merge { rank, .. }) => {
                (LastMerge::Of { left, right, rank }, highest.is_some_and(|highest| highest <= rank))
            }
            None => (LastMerge::Never, true),
        },
        _ => (LastMerge::Never, true),
    }
}

/// The merges as a list of left, right and result id, in rank order.
///
/// For [`MergeRule::Bytes`] a token's merge is the last one that happens when its own bytes are encoded without
/// the whole-piece lookup; tokens that merging alone does not reach have none. Replacing the rule by this list
/// changes no id: inside the bytes of a token that was merged from two neighbours no merge crossed an edge, so
/// that the neighbours are those of the token alone.
#[must_use]
pub fn recover_merges(vocab: &Vocab) -> Vec<[u32; 3]> {
    if vocab.merge_rule() == MergeRule::Pair {
        return vocab.merges().to_vec();
    }
    let merges = vocab.tokens().filter_map(|(token, id)| match last_merge(vocab, token).0 {
        LastMerge::Of { left, right, .. } => Some([left, right, id]),
        _ => None,
    });
    merges.collect()
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
