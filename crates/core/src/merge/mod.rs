//! A piece to ids: merge one pair at a time, always the lowest rank and the leftmost of equals, until no pair merges.
//!
//! Short pieces are rescanned after each merge; longer ones keep their pairs in a heap, so that time grows as n log n.
//! Long ones go through [`crate::merge::repeats`] or [`crate::merge::backtracking`], in linear time. All give the same ids, which tests hold.

pub mod backtracking;
pub mod memory;
pub mod prefixes;
pub mod repeats;
pub mod safe_cuts;
pub mod short;
pub mod valid_pairs;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::encode::sampled::{Draws, Symbol, merge_dropping};
use crate::error::{Error, Result};
use crate::merge::backtracking::Row;
use crate::threads::parallel::Stop;
use crate::vocab::{Merge, MergeRule, Unit, Vocab};

/// Pieces of more symbols than this go to the heap.
const RESCAN_LIMIT: usize = 64;

/// Pieces of more bytes are refused: places are numbers of 32 bits here.
const MOST_BYTES: usize = u32::MAX as usize - 1;

/// How many merges of a long piece happen between two looks at the stop flag.
const MERGES_PER_LOOK: usize = 1 << 16;

const NONE: Merge = Merge { rank: u32::MAX, id: u32::MAX };

/// Buffers that are kept from piece to piece.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) ids: Vec<u32>,
    unigram: crate::kinds::unigram::Scratch,
    /// Where each symbol starts in the piece; one more for the piece's end.
    pub(crate) starts: Vec<u32>,
    merges: Vec<Merge>,
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<(u32, u32, u32)>>,
    row: Row,
}

impl Scratch {
    /// The memory of the buffers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let symbols = (self.ids.capacity() + self.starts.capacity()) * size_of::<u32>();
        let merges = self.merges.capacity() * size_of::<Merge>() + self.links.capacity() * size_of::<Link>();
        let heap = self.heap.capacity() * size_of::<Reverse<(u32, u32, u32)>>();
        symbols + merges + heap + self.row.bytes() + self.unigram.bytes()
    }
}

/// A symbol's neighbours in a long piece, by position.
#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

/// Appends the ids of `piece` to `out`.
///
/// # Errors
/// [`Error::NotInVocabulary`] (with an offset inside the piece) for a character or piece without a token;
/// [`Error::Option`] for a piece of 4 GiB that has to be merged as a whole; [`Error::Interrupted`].
pub fn merge(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch, out: &mut Vec<u32>) -> Result<()> {
    if vocab.looks_up()
        && let Some(id) = vocab.id(piece)
    {
        out.push(id);
        return Ok(());
    }
    merge_slowly(vocab, piece, stop, scratch)?;
    out.extend_from_slice(&scratch.ids);
    Ok(())
}

/// Puts what merging gives for `piece` into `scratch.ids`, whatever whole pieces there are.
///
/// # Errors
/// As [`merge`].
pub(crate) fn merge_symbols(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch) -> Result<()> {
    if merge_repeating(vocab, piece, stop, scratch)? {
        return Ok(());
    }
    let forward = vocab.forward();
    if vocab.unit() != Unit::Piece
        && forward.pays(piece.len())
        && forward.merge(vocab, piece, stop, &mut scratch.row, &mut scratch.ids)?
    {
        return Ok(());
    }
    merge_slowly(vocab, piece, stop, scratch)
}

/// The same for a long piece that repeats itself; says whether `piece` is one.
///
/// # Errors
/// [`Error::Interrupted`].
pub(crate) fn merge_repeating(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch) -> Result<bool> {
    Ok(vocab.unit() != Unit::Piece && repeats::merge(vocab, vocab.forward(), piece, stop, &mut scratch.ids)?)
}

/// The twin of [`merge_symbols`], merge after merge.
pub(crate) fn merge_slowly(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch) -> Result<()> {
    if let Some(cover) = vocab.cover() {
        scratch.ids.clear();
        return cover.encode(piece, stop, &mut scratch.unigram, &mut scratch.ids);
    }
    symbols(vocab, piece, scratch)?;
    merge_started(vocab, piece, stop, scratch)
}

/// The same where the symbols and their starts are in `scratch` already; of characters the starts are then right as well.
pub(crate) fn merge_started(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch) -> Result<()> {
    if scratch.ids.len() <= RESCAN_LIMIT {
        rescan(vocab, piece, scratch, 1);
    } else {
        heap(vocab, piece, stop, scratch, 1)?;
    }
    Ok(())
}

/// The same as [`merge`] for a vocabulary that hides the widths of ids; says where each id ends.
///
/// # Errors
/// As [`merge`].
pub(crate) fn merge_with_ends(
    vocab: &Vocab,
    piece: &[u8],
    stop: &Stop,
    (scratch, out): (&mut Scratch, &mut Vec<u32>),
    ends: &mut Vec<usize>,
) -> Result<()> {
    if vocab.looks_up()
        && let Some(id) = vocab.id(piece)
    {
        out.push(id);
        ends.push(piece.len());
        return Ok(());
    }
    let before = out.len();
    if let Some(cover) = vocab.cover() {
        merge(vocab, piece, stop, scratch, out)?;
        cover.ends(vocab, piece, &out[before..], &scratch.unigram, ends);
        return Ok(());
    }
    symbols(vocab, piece, scratch)?;
    out.extend_from_slice(&scratch.ids);
    ends.extend(scratch.starts[1..].iter().map(|&end| end as usize));
    Ok(())
}

/// Appends the ids of a piece whose merges may be passed over: see [`merge_dropping`]. No piece is looked up as a whole.
///
/// # Errors
/// As [`merge`].
pub fn sample(
    vocab: &Vocab,
    piece: &[u8],
    drawn: (f64, &mut Draws),
    stop: &Stop,
    (scratch, out): (&mut Scratch, &mut Vec<u32>),
) -> Result<()> {
    symbols(vocab, piece, scratch)?;
    sample_started(vocab, piece, drawn, stop, (scratch, out))
}

/// The same where the symbols and their starts are in `scratch` already.
pub(crate) fn sample_started(
    vocab: &Vocab,
    piece: &[u8],
    (dropout, draws): (f64, &mut Draws),
    stop: &Stop,
    (scratch, out): (&Scratch, &mut Vec<u32>),
) -> Result<()> {
    let places = scratch.starts.windows(2).map(|ends| (ends[0] as usize, ends[1] as usize));
    let mut symbols: Vec<Symbol> =
        scratch.ids.iter().zip(places).map(|(&id, (start, end))| Symbol { id, start, end }).collect();
    let look = |left: Symbol, right: Symbol| vocab.merge(left.id, right.id, &piece[left.start..right.end]);
    merge_dropping(&mut symbols, look, dropout, draws, stop)?;
    out.extend(symbols.into_iter().map(|symbol| symbol.id));
    Ok(())
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
    let merges = vocab.tokens().filter_map(|(token, id)| match last(vocab, token).0 {
        Last::Merge { left, right, .. } => Some([left, right, id]),
        _ => None,
    });
    merges.collect()
}

/// How a token comes about last when its own bytes are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is there before the first merge.
    Base,
    /// By this merge of two ids.
    Merge { left: u32, right: u32, rank: u32 },
    /// Not at all.
    Never,
}

/// How `token` comes about, and whether the ranks of all its merges, in the order in which they happen, never fall.
pub(crate) fn last(vocab: &Vocab, token: &[u8]) -> (Last, bool) {
    let mut scratch = Scratch::default();
    if symbols(vocab, token, &mut scratch).is_err() {
        return (Last::Never, true);
    }
    let highest = if scratch.ids.len() <= RESCAN_LIMIT {
        Ok(rescan(vocab, token, &mut scratch, 2))
    } else {
        heap(vocab, token, &Stop::default(), &mut scratch, 2)
    };
    match (&scratch.ids[..], highest) {
        ([_], _) => (Last::Base, true),
        (&[left, right], Ok(highest)) => match vocab.merge(left, right, token) {
            Some(Merge { rank, .. }) => {
                (Last::Merge { left, right, rank }, highest.is_some_and(|highest| highest <= rank))
            }
            None => (Last::Never, true),
        },
        _ => (Last::Never, true),
    }
}

/// Refuses a piece of too many bytes.
fn fits(bytes: usize) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let value = format!("a text with {bytes} bytes in one piece");
    let allowed = format!("pieces of at most {MOST_BYTES} bytes; cut the text, or use a split pattern");
    Err(Error::Option { argument: "text", value, allowed })
}

/// The ids of a piece before the first merge, and where each starts.
fn symbols(vocab: &Vocab, piece: &[u8], scratch: &mut Scratch) -> Result<()> {
    fits(piece.len())?;
    let Scratch { ids, starts, .. } = scratch;
    ids.clear();
    starts.clear();
    let missing = |content: &[u8], offset| Error::NotInVocabulary { content: content.to_vec(), offset };
    match vocab.unit() {
        Unit::Byte => {
            ids.extend(piece.iter().map(|&byte| vocab.byte_id(byte)));
            starts.extend(0..piece.len() as u32);
        }
        Unit::Piece => return Err(missing(piece, 0)),
        Unit::Char => {
            let mut offset = 0;
            for chunk in piece.utf8_chunks() {
                for char in chunk.valid().split_inclusive(|_| true) {
                    let id = vocab.id(char.as_bytes()).or(vocab.unknown());
                    ids.push(id.ok_or_else(|| missing(char.as_bytes(), offset))?);
                    starts.push(offset as u32);
                    offset += char.len();
                }
                if !chunk.invalid().is_empty() {
                    return Err(missing(chunk.invalid(), offset));
                }
            }
        }
    }
    starts.push(piece.len() as u32);
    Ok(())
}

/// Merges `scratch.ids` in place until no pair merges or `least` ids are left: finds the best pair by looking at all.
/// Gives the highest rank that merged (0 for none), or `None` if the ranks did not come in order.
fn rescan(vocab: &Vocab, piece: &[u8], scratch: &mut Scratch, least: usize) -> Option<u32> {
    let Scratch { ids, starts, merges, .. } = scratch;
    let look = |ids: &[u32], starts: &[u32], at: usize| {
        let joined = &piece[starts[at] as usize..starts[at + 2] as usize];
        vocab.merge(ids[at], ids[at + 1], joined).unwrap_or(NONE)
    };
    merges.clear();
    if vocab.unit() == Unit::Byte {
        merges.extend(piece.windows(2).map(|pair| vocab.byte_pair(pair[0], pair[1])));
    } else {
        merges.extend((1..ids.len()).map(|right| look(ids, starts, right - 1)));
    }
    let mut highest = Some(0);
    while ids.len() > least {
        // `min_by_key` gives the first of equals, which is the leftmost.
        let Some((at, &best)) = merges.iter().enumerate().min_by_key(|(_, merge)| merge.rank) else { break };
        if best == NONE {
            break;
        }
        highest = highest.filter(|&highest| highest <= best.rank).map(|_| best.rank);
        ids[at] = best.id;
        ids.remove(at + 1);
        starts.remove(at + 1);
        merges.remove(at);
        if at > 0 {
            merges[at - 1] = look(ids, starts, at - 1);
        }
        if at < merges.len() {
            merges[at] = look(ids, starts, at);
        }
    }
    highest
}

/// The same for a long piece: pairs wait in a heap by (rank, position), and symbols are linked to their neighbours.
///
/// An entry is out of date when its left symbol is gone or its pair has another merge by now; it is then passed over.
fn heap(vocab: &Vocab, piece: &[u8], stop: &Stop, scratch: &mut Scratch, least: usize) -> Result<Option<u32>> {
    let Scratch { ids, starts, links, heap, .. } = scratch;
    let mut highest = Some(0);
    let mut left_over = ids.len();
    let count = ids.len() as u32;
    links.clear();
    links.extend((0..count).map(|at| Link { before: at.wrapping_sub(1), after: at + 1 }));
    let look = |ids: &[u32], links: &[Link], left: u32| {
        let right = links[left as usize].after;
        if ids[left as usize] == GONE || right == count {
            return None;
        }
        let end = starts[links[right as usize].after as usize];
        let joined = &piece[starts[left as usize] as usize..end as usize];
        vocab.merge(ids[left as usize], ids[right as usize], joined)
    };
    let entry = |merge: Merge, left: u32| Reverse((merge.rank, left, merge.id));
    let mut entries = std::mem::take(heap).into_vec();
    entries.clear();
    for left in 0..count {
        if (left as usize).is_multiple_of(MERGES_PER_LOOK) {
            stop.check()?;
        }
        entries.extend(look(ids, links, left).map(|merge| entry(merge, left)));
    }
    *heap = BinaryHeap::from(entries);
    let mut merges_until_look = MERGES_PER_LOOK;
    while left_over > least
        && let Some(Reverse((rank, at, id))) = heap.pop()
    {
        if look(ids, links, at) != Some(Merge { rank, id }) {
            continue;
        }
        let Link { before, after } = links[at as usize];
        highest = highest.filter(|&highest| highest <= rank).map(|_| rank);
        left_over -= 1;
        ids[at as usize] = id;
        ids[after as usize] = GONE;
        let after = links[after as usize].after;
        links[at as usize].after = after;
        if after < count {
            links[after as usize].before = at;
        }
        for left in [before, at] {
            if left != u32::MAX
                && let Some(merge) = look(ids, links, left)
            {
                heap.push(entry(merge, left));
            }
        }
        merges_until_look -= 1;
        if merges_until_look == 0 {
            stop.check()?;
            merges_until_look = MERGES_PER_LOOK;
        }
    }
    forget(ids, starts, vocab.unit());
    Ok(highest)
}

/// Takes out the symbols that are gone, and of characters where they start.
fn forget(ids: &mut Vec<u32>, starts: &mut Vec<u32>, unit: Unit) {
    if unit == Unit::Char {
        let mut own = ids.iter();
        starts.retain(|_| own.next() != Some(&GONE));
    }
    ids.retain(|&id| id != GONE);
}

/// Stands for a symbol that was merged into the one before it. No token has this id.
const GONE: u32 = u32::MAX;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::vocab::Tables;

    /// The 256 bytes and `tokens` after them, ids in order.
    pub(crate) fn bytes_vocab(tokens: &[&str]) -> Vocab {
        vocab_of(tokens, false)
    }

    /// The same, with or without the whole-piece lookup.
    pub(crate) fn vocab_of(tokens: &[&str], whole_piece: bool) -> Vocab {
        let mut blob: Vec<u8> = (0..=255).collect();
        let mut ends: Vec<u32> = (1..=256).collect();
        for token in tokens {
            blob.extend_from_slice(token.as_bytes());
            ends.push(blob.len() as u32);
        }
        let ids: Vec<u32> = (0..ends.len() as u32).collect();
        let tables = Tables { blob: &blob, ends: &ends, ids: &ids, merges: &[] };
        Vocab::new(Unit::Byte, MergeRule::Bytes, whole_piece, tables).unwrap()
    }

    /// Numbers that look random and are the same each time.
    pub(crate) struct Draw(pub u64);

    impl Draw {
        /// The next one, below `limit`.
        pub(crate) fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    fn merged(vocab: &Vocab, piece: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        merge(vocab, piece, &Stop::default(), &mut Scratch::default(), &mut out).unwrap();
        out
    }

    #[test]
    fn the_lowest_rank_merges_first_and_the_leftmost_of_equals() {
        // `ab` merges on the left before it merges on the right, because `aba`, which is then possible, ranks lower.
        assert_eq!(merged(&bytes_vocab(&["aba", "ab"]), b"abab"), [256, 98]);
        assert_eq!(merged(&bytes_vocab(&["ba", "ab"]), b"abab"), [97, 256, 98]);
        assert_eq!(merged(&bytes_vocab(&["aa"]), b"aaa"), [256, 97]);
    }

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

    #[test]
    fn pieces_beyond_32_bits_are_refused() {
        assert_eq!(fits((1 << 32) - 2), Ok(()));
        for bytes in [(1 << 32) - 1, 1 << 32, 1 << 40] {
            let Err(Error::Option { argument: "text", value, .. }) = fits(bytes) else { panic!("{bytes} bytes fit") };
            assert!(value.contains(&bytes.to_string()));
        }
    }

    #[test]
    fn heap_equals_rescan() {
        let vocab = bytes_vocab(&["aa", "ab", "ba", "aab", "aaaa", "abba", "baab", "bb", "aaaaaaaa"]);
        let mut draw = Draw(1);
        for length in 0..400 {
            let piece: Vec<u8> = (0..length).map(|_| b"aab"[draw.below(3)]).collect();
            let run = |long: bool, least: usize| {
                let mut scratch = Scratch::default();
                symbols(&vocab, &piece, &mut scratch).unwrap();
                if long {
                    heap(&vocab, &piece, &Stop::default(), &mut scratch, least).unwrap();
                } else {
                    rescan(&vocab, &piece, &mut scratch, least);
                }
                scratch.ids
            };
            assert_eq!(run(true, 1), run(false, 1));
            assert_eq!(run(true, 2), run(false, 2));
        }
    }
}
