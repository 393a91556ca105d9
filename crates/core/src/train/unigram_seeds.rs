//! Finds the stretches of characters that words share, from which unigram training starts.
//!
//! A stretch counts if every longer one would lose an occurrence. Such stretches are the inner nodes of the suffix
//! tree, which the suffix array and its common prefixes give, and the ends of words that the corpus has more than once.
//! Stretches that cover most of the corpus come first.

#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // a place is at least 0 and below 2^31

#[cfg(feature = "sais")]
use libsais::SuffixArrayConstruction;
#[cfg(not(feature = "sais"))]
use suffixes_by_doubling as suffixes;

use crate::error::{Error, Result};
use crate::threads::parallel::Stop;

/// The separator after every word; no text contains this byte.
const SEPARATOR: u8 = 0xFF;
/// The most bytes of words, so that places fit 31 bits.
const MOST: usize = i32::MAX as usize - 1;

/// A stretch of characters, and the number of characters of the corpus that it covers.
pub type Seed = (Vec<u8>, u64);
/// A stretch: its score, its start, and its length.
type FoundStretch = (u64, u32, u32);

/// The `most` best stretches of 2 to `longest` characters that occur at least twice in the counted words.
///
/// # Errors
/// [`Error::Option`] if the words are too long together; [`Error::Interrupted`], but not while the suffixes are sorted.
pub fn find_seeds(words: &[(&[u8], u64)], most: usize, longest: usize, stop: &Stop) -> Result<Vec<Seed>> {
    let size = words.iter().map(|(word, _)| word.len() + 1).sum::<usize>();
    let refuse = |value: String| Error::Option {
        argument: "corpus",
        value,
        allowed: format!("at most {MOST} bytes of distinct words; split the text, or give fewer documents"),
    };
    if size > MOST {
        return Err(refuse(format!("{size} bytes of distinct words")));
    }
    let mut text = Vec::with_capacity(size);
    // By place in the suffix array: the counts of the words of all suffixes before.
    let mut weights: Vec<u64> = Vec::with_capacity(size);
    for (word, count) in words {
        text.extend_from_slice(word);
        text.push(SEPARATOR);
        weights.resize(text.len(), *count);
    }
    let (suffixes, common) = suffixes(&text, stop)?.ok_or_else(|| refuse("words that cannot be sorted".to_owned()))?;
    let mut sums: Vec<u64> = Vec::with_capacity(size + 1);
    sums.push(0);
    for &start in &suffixes {
        sums.push(sums[sums.len() - 1] + weights[start as usize]);
    }
    let mut stretches: Vec<FoundStretch> = Vec::new();
    visit_intervals(&common, |from, to, depth, parent| {
        stop.check()?;
        let start = suffixes[from] as usize;
        if let Some((bytes, chars)) = stretch(&text[start..(start + depth).min(text.len())], longest)
            && bytes > parent
            && chars > 1
        {
            stretches.push(((sums[to] - sums[from]) * chars as u64, start as u32, bytes as u32));
        }
        Ok(())
    })?;
    for (place, &start) in suffixes.iter().enumerate() {
        stop.check()?;
        let (start, count) = (start as usize, weights[start as usize]);
        let shared = common[place].max(common.get(place + 1).copied().unwrap_or(0)).max(0) as usize;
        let end = text.len().min(start + 4 * longest + 1);
        // A stretch that is not longer is an inner node.
        if count > 1
            && let Some((bytes, chars)) = stretch(&text[start..end], longest)
            && bytes > shared
            && chars > 1
        {
            stretches.push((count * chars as u64, start as u32, bytes as u32));
        }
    }
    drop(weights);
    best_stretches(stretches, &text, most, stop)
}

/// The stretches with the highest scores, the best first.
fn best_stretches(mut stretches: Vec<FoundStretch>, text: &[u8], most: usize, stop: &Stop) -> Result<Vec<Seed>> {
    let text_of = |start: u32, len: u32| &text[start as usize..(start + len) as usize];
    let best_first = |left: &FoundStretch, right: &FoundStretch| {
        right.0.cmp(&left.0).then_with(|| text_of(left.1, left.2).cmp(text_of(right.1, right.2)))
    };
    if most < stretches.len() {
        stretches.select_nth_unstable_by(most, best_first);
        stretches.truncate(most);
    }
    stop.check()?;
    stretches.sort_unstable_by(best_first);
    Ok(stretches.into_iter().map(|(score, start, len)| (text_of(start, len).to_vec(), score)).collect())
}

/// The suffix array, and the number of bytes that each suffix shares with the one before.
#[cfg(feature = "sais")]
fn suffixes(text: &[u8], stop: &Stop) -> Result<Option<(Vec<i32>, Vec<i32>)>> {
    if text.is_empty() {
        return Ok(Some((Vec::new(), Vec::new())));
    }
    let Ok(sorted) = SuffixArrayConstruction::for_text(text).in_owned_buffer32().single_threaded().run() else {
        return Ok(None);
    };
    stop.check()?;
    let Ok(places) = sorted.plcp_construction().single_threaded().run() else { return Ok(None) };
    stop.check()?;
    let Ok(prefixes) = places.lcp_construction().single_threaded().run() else { return Ok(None) };
    let (suffixes, common, ..) = prefixes.into_parts();
    Ok(Some((suffixes, common)))
}

/// The same without C code, and slower: suffixes sorted by their first byte, then by twice as many each time.
#[cfg(any(test, not(feature = "sais")))]
fn suffixes_by_doubling(text: &[u8], stop: &Stop) -> Result<Option<(Vec<i32>, Vec<i32>)>> {
    let mut ranks: Vec<i32> = text.iter().map(|&byte| i32::from(byte)).collect();
    let mut sorted: Vec<i32> = (0..text.len() as i32).collect();
    let mut width = 0;
    loop {
        let after = |ranks: &[i32], at: i32| ranks.get(at as usize + width).copied().unwrap_or(-1);
        let key = |at: i32| (ranks[at as usize], if width == 0 { 0 } else { after(&ranks, at) });
        sorted.sort_unstable_by_key(|&at| key(at));
        stop.check()?;
        let (mut next, mut rank) = (vec![0; text.len()], 0);
        for pair in sorted.windows(2) {
            rank += i32::from(key(pair[0]) != key(pair[1]));
            next[pair[1] as usize] = rank;
        }
        ranks = next;
        if rank as usize + 1 >= text.len() {
            break;
        }
        width = (2 * width).max(1);
    }
    // A suffix shares with the one before it at most one byte less than the suffix that starts a byte earlier does.
    let (mut common, mut shared) = (vec![0; text.len()], 0);
    for (at, &rank) in ranks.iter().enumerate() {
        if rank == 0 {
            shared = 0;
            continue;
        }
        let before = sorted[rank as usize - 1] as usize;
        shared +=
            text[at + shared..].iter().zip(&text[before + shared..]).take_while(|(left, right)| left == right).count();
        common[rank as usize] = shared as i32;
        shared = shared.saturating_sub(1);
    }
    Ok(Some((sorted, common)))
}

/// Calls `each` with every inner node of the suffix tree: the range of its suffixes, its depth and its parent's.
fn visit_intervals(common: &[i32], mut each: impl FnMut(usize, usize, usize, usize) -> Result<()>) -> Result<()> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    for place in 1..=common.len() {
        let shared = common.get(place).map_or(0, |&shared| shared.max(0) as usize);
        let mut from = place - 1;
        while let Some((depth, start)) = open.pop_if(|(depth, _)| *depth > shared) {
            let parent = open.last().map_or(0, |&(depth, _)| depth).max(shared);
            each(start, place, depth, parent)?;
            from = start;
        }
        if shared > 0 && open.last().is_none_or(|&(depth, _)| depth < shared) {
            open.push((shared, from));
        }
    }
    Ok(())
}

/// The bytes and characters at the start of `bytes` that are whole characters of one word; None for more than `longest`
/// characters, and if they begin inside a character.
fn stretch(bytes: &[u8], longest: usize) -> Option<(usize, usize)> {
    if bytes.first().is_none_or(|&byte| byte == SEPARATOR || byte & 0xC0 == 0x80) {
        return None;
    }
    let (mut at, mut chars) = (0, 0);
    while let Some(&byte) = bytes.get(at).filter(|&&byte| byte != SEPARATOR) {
        let end = at + crate::kinds::sentencepiece::safe_cuts::char_len(byte);
        if end > bytes.len() {
            break;
        }
        (at, chars) = (end, chars + 1);
        if chars > longest {
            return None;
        }
    }
    Some((at, chars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "sais")]
    fn both_ways_to_sort_suffixes_agree() {
        let stop = Stop::default();
        for text in ["", "a", "aaaaaaaa", "low\u{ff}lower\u{ff}lowest", "abababcabab", "mississippi", "日本本日"] {
            let text = text.repeat(3).into_bytes();
            for end in 0..=text.len() {
                let (left, mut right) = (suffixes(&text[..end], &stop), suffixes_by_doubling(&text[..end], &stop));
                if let (Ok(Some(left)), Ok(Some(right))) = (&left, &mut right)
                    && end > 0
                {
                    right.1[0] = left.1[0]; // it has no predecessor
                }
                assert_eq!(left, right);
            }
        }
    }

    #[test]
    fn every_stretch_that_repeats_and_cannot_grow_is_found() {
        let words: Vec<&str> = vec!["abcab", "bcabc", "日本", "日木", "x", "本日本", "alone"];
        let counted: Vec<(&[u8], u64)> = words.iter().zip(1..).map(|(word, count)| (word.as_bytes(), count)).collect();
        let mut expected: Vec<Seed> = Vec::new();
        let occurrences = |part: &str| -> Vec<(usize, usize)> {
            let mut found = Vec::new();
            for (number, word) in words.iter().enumerate() {
                let starts = (0..word.len()).filter(|&at| word.as_bytes()[at..].starts_with(part.as_bytes()));
                found.extend(starts.map(|at| (number, at)));
            }
            found
        };
        for word in &words {
            let places: Vec<usize> = word.char_indices().map(|(at, _)| at).chain([word.len()]).collect();
            for (number, &start) in places.iter().enumerate() {
                for &end in places[number + 1..].iter().skip(1) {
                    let part = &word[start..end];
                    let all = occurrences(part);
                    let next = |&(word, start): &(usize, usize)| words[word][start + part.len()..].chars().next();
                    let grows = next(&all[0]).is_some() && all.iter().all(|place| next(place) == next(&all[0]));
                    let count = all.iter().map(|&(word, _)| word as u64 + 1).sum::<u64>();
                    if count > 1 && !grows {
                        expected.push((part.as_bytes().to_vec(), count * part.chars().count() as u64));
                    }
                }
            }
        }
        expected.sort();
        expected.dedup();
        let mut found = find_seeds(&counted, 100, 16, &Stop::default()).unwrap();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(find_seeds(&counted, 1, 16, &Stop::default()).unwrap().len(), 1);
        assert!(
            find_seeds(&counted, 9, 2, &Stop::default()).unwrap().iter().all(|(seed, _)| std::str::from_utf8(seed)
                .unwrap()
                .chars()
                .count()
                == 2)
        );
    }
}
