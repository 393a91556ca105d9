//! Counts the characters of pieces, and restricts pieces to an alphabet, for training on characters.

use hashbrown::HashMap;

use crate::count::PieceCounts;
use crate::count::arena::Arena;
use crate::count::tally::{Tally, TallyTable};
use crate::error::Result;
use crate::slots::key::{Seeds, Window};
use crate::threads::parallel::Stop;

/// The code points counted in an array without hashing.
const PLAIN: usize = 1 << 16;

/// The occurrences of each character in the pieces, by code point. Bytes that are not UTF-8 do not count.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn characters(counts: &PieceCounts, stop: &Stop) -> Result<Vec<(char, u64)>> {
    let mut plain = vec![0u64; PLAIN];
    let mut others: HashMap<char, u64> = HashMap::new();
    for (piece, tally) in counts.arena().iter() {
        stop.check()?;
        for char in piece.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
            match plain.get_mut(char as usize) {
                Some(sum) => *sum += tally.count,
                None => *others.entry(char).or_default() += tally.count,
            }
        }
    }
    let totals = (0..).zip(plain).filter(|&(_, count)| count > 0);
    let mut totals: Vec<_> = totals.filter_map(|(code, count)| Some((char::from_u32(code)?, count))).collect();
    totals.extend(others);
    totals.sort_unstable();
    Ok(totals)
}

/// Splits pieces at characters outside the alphabet, and returns the counts of the parts.
///
/// # Errors
/// [`crate::Error::Option`] for counts whose sum exceeds 64 bits; [`crate::Error::Interrupted`].
pub fn restrict_to(counts: &PieceCounts, alphabet: &[char], stop: &Stop) -> Result<PieceCounts> {
    let mut allowed = vec![false; PLAIN];
    let mut others: HashMap<char, ()> = HashMap::new();
    for &char in alphabet {
        match allowed.get_mut(char as usize) {
            Some(allowed) => *allowed = true,
            None => drop(others.insert(char, ())),
        }
    }
    let is_known = |char: char| allowed.get(char as usize).copied().unwrap_or_else(|| others.contains_key(&char));
    let arena = counts.arena();
    let window = Window::new(&arena.bytes);
    let mut table = TallyTable::new(Seeds::default());
    let mut start = 0;
    for (piece, tally) in arena.iter() {
        stop.check()?;
        let mut from = 0;
        let mut part = |end: usize, next: usize| {
            let first = (tally.first.0, tally.first.1 + from as u64);
            let len = end - from;
            let at = start + std::mem::replace(&mut from, next);
            if len == 0 { Ok(()) } else { table.add(&window, at, len, Tally { first, ..tally }) }
        };
        let mut at = 0;
        for chunk in piece.utf8_chunks() {
            for (place, char) in chunk.valid().char_indices().filter(|&(_, char)| !is_known(char)) {
                part(at + place, at + place + char.len_utf8())?;
            }
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                part(at, at + chunk.invalid().len())?;
            }
            at += chunk.invalid().len();
        }
        part(piece.len(), piece.len())?;
        start += piece.len();
    }
    counts.with_arena(Arena::from_table(&table), stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{Splitter, Text};

    #[test]
    fn pieces_are_cut_at_unknown_characters() {
        let mut counts = PieceCounts::new(Splitter::new(&["[^ ]+"]).unwrap());
        let documents = ["aéa 日a𝒳aé", "aéa"].map(Text::Str);
        counts.add(&documents, 1, &Stop::default()).unwrap();
        assert_eq!(characters(&counts, &Stop::default()).unwrap(), [(' ', 1), ('a', 6), ('é', 3), ('日', 1), ('𝒳', 1)]);
        let cut = restrict_to(&counts, &['a', 'é', '𝒳'], &Stop::default()).unwrap();
        let found: Vec<_> = cut.arena().iter().map(|(piece, tally)| (piece, tally.count, tally.first)).collect();
        assert_eq!(found, [("aéa".as_bytes(), 2, (0, 0)), ("a𝒳aé".as_bytes(), 1, (0, 8))]);
        let cut = restrict_to(&counts, &['a'], &Stop::default()).unwrap();
        assert!(cut.arena().iter().eq([(&b"a"[..], Tally { count: 6, first: (0, 0) })]));
    }
}
