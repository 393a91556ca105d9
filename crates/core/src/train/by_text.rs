//! Learns merges as HF's trainer does, for its drop-in: a token is identified by its text.
//!
//! A pair whose joined text is already a token, such as a special token, makes that token and not a new one. Counts can
//! then grow again, so the loop of `learn` does not apply. As there, the pair with the highest count merges first, and
//! of equal ones the pair with the lowest ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::HashMap;

use crate::error::Result;
use crate::threads::parallel::Stop;

type IdPair = (u32, u32);

/// The limits of learning.
#[derive(Debug, Clone, Copy)]
pub struct TextRules<'a> {
    /// The most tokens at the end.
    pub size: usize,
    /// The minimum count of a pair that merges.
    pub min_count: u64,
    /// The prefix that the right token of a pair loses.
    pub prefix: &'a str,
    /// A token of this many characters or more must consist of two characters only.
    pub longest: Option<usize>,
}

/// Words as ids of tokens, each with its count.
#[derive(Debug)]
pub struct CountedWords {
    /// The ids of each word.
    pub symbols: Vec<Vec<u32>>,
    /// The count of each word.
    pub counts: Vec<u64>,
}

/// The tokens, and the number of characters that training joined in each.
struct TextTokens<'t> {
    tokens: &'t mut Vec<String>,
    ids: HashMap<String, u32>,
    lengths: Vec<usize>,
}

impl TextTokens<'_> {
    /// The token of a pair, possibly a new one.
    fn join_pair(&mut self, (left, right): IdPair, prefix: &str) -> u32 {
        let right_text = &self.tokens[right as usize];
        let text = format!("{}{}", self.tokens[left as usize], right_text.strip_prefix(prefix).unwrap_or(right_text));
        let length = self.lengths[left as usize] + self.lengths[right as usize];
        if let Some(&id) = self.ids.get(&text) {
            self.lengths[id as usize] = length;
            return id;
        }
        let id = self.tokens.len() as u32;
        self.tokens.push(text.clone());
        self.ids.insert(text, id);
        self.lengths.push(length);
        id
    }
}

/// Appends the learned tokens to `tokens`, and returns the merging pairs, in order.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn train_by_text(
    mut words: CountedWords,
    tokens: &mut Vec<String>,
    rules: TextRules<'_>,
    stop: &Stop,
) -> Result<Vec<IdPair>> {
    let ids = tokens.iter().cloned().zip(0..).collect();
    let mut table = TextTokens { lengths: vec![1; tokens.len()], tokens, ids };
    let mut counts: HashMap<IdPair, i64> = HashMap::new();
    let mut places: Vec<(IdPair, Vec<u32>)> = Vec::new();
    let mut places_by_pair: HashMap<IdPair, Vec<u32>> = HashMap::new();
    for ((word, symbols), &count) in (0..).zip(&words.symbols).zip(&words.counts) {
        stop.check()?;
        for pair in symbols.windows(2).map(|pair| (pair[0], pair[1])) {
            *counts.entry(pair).or_default() += count.cast_signed();
            add_place(places_by_pair.entry(pair).or_default(), word);
        }
    }
    let (mut queue, mut merges) = (BinaryHeap::new(), Vec::new());
    loop {
        for (pair, words) in places_by_pair.drain() {
            if counts[&pair] > 0 {
                queue.push((counts[&pair], Reverse(pair), places.len()));
                places.push((pair, words));
            }
        }
        let Some(place) = most_frequent(&mut queue, &counts, rules.min_count) else { return Ok(merges) };
        if table.tokens.len() >= rules.size {
            return Ok(merges);
        }
        stop.check()?;
        let (pair, of_pair) = std::mem::take(&mut places[place]);
        let id = table.join_pair(pair, rules.prefix);
        merges.push(pair);
        let length = table.lengths[id as usize];
        let counted = |other: u32| rules.longest.is_none_or(|longest| table.lengths[other as usize] + length < longest);
        for word in of_pair {
            stop.check()?;
            let count = words.counts[word as usize].cast_signed();
            merge_word(&mut words.symbols[word as usize], pair, id, |changed, other, gains| {
                if !gains || counted(other) {
                    *counts.entry(changed).or_default() += if gains { count } else { -count };
                    if gains {
                        add_place(places_by_pair.entry(changed).or_default(), word);
                    }
                }
            });
        }
    }
}

/// Pops the next pair from the queue, whose counts can be outdated; None if all are too rare.
fn most_frequent(
    queue: &mut BinaryHeap<(i64, Reverse<IdPair>, usize)>,
    counts: &HashMap<IdPair, i64>,
    least: u64,
) -> Option<usize> {
    while let Some((count, Reverse(pair), place)) = queue.pop() {
        let now = counts[&pair];
        if now == count {
            return (count >= 1 && count.cast_unsigned() >= least).then_some(place);
        }
        queue.push((now, Reverse(pair), place));
    }
    None
}

fn add_place(places: &mut Vec<u32>, word: u32) {
    if places.last() != Some(&word) {
        places.push(word);
    }
}

/// Merges a pair in a word. `changed` gets each removed or added pair, its other symbol, and whether it is added.
fn merge_word(word: &mut Vec<u32>, pair: IdPair, id: u32, mut changed: impl FnMut(IdPair, u32, bool)) {
    let (mut to, mut at) = (0usize, 0);
    while at < word.len() {
        if word.get(at + 1).is_some_and(|&right| (word[at], right) == pair) {
            if let Some(&before) = to.checked_sub(1).and_then(|before| word.get(before)) {
                changed((before, pair.0), before, false);
                changed((before, id), before, true);
            }
            if let Some(&after) = word.get(at + 2) {
                changed((pair.1, after), after, false);
                changed((id, after), after, true);
            }
            word[to] = id;
            at += 2;
        } else {
            word[to] = word[at];
            at += 1;
        }
        to += 1;
    }
    word.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train_words(words: &[(&str, u64)], given: &[&str], rules: TextRules<'_>) -> (Vec<String>, Vec<IdPair>) {
        let mut tokens: Vec<String> = given.iter().map(|&token| token.to_owned()).collect();
        let id = |char: char| given.iter().position(|&token| token == char.to_string()).unwrap() as u32;
        let symbols = words.iter().map(|(word, _)| word.chars().map(id).collect()).collect();
        let words = CountedWords { symbols, counts: words.iter().map(|&(_, count)| count).collect() };
        let merges = train_by_text(words, &mut tokens, rules, &Stop::default()).unwrap();
        (tokens.split_off(given.len()), merges)
    }

    const ALL: TextRules<'static> = TextRules { size: 99, min_count: 1, prefix: "", longest: None };

    #[test]
    fn pairs_with_equal_texts_make_one_token() {
        // `ab` and `bc` merge in other words, so that both `ab c` and `a bc` become `abc`.
        let (tokens, merges) = train_words(&[("ab", 9), ("abc", 2), ("bc", 12)], &["a", "b", "c"], ALL);
        assert_eq!((tokens, merges), (vec!["bc".into(), "ab".into(), "abc".into()], vec![(1, 2), (0, 1), (0, 3)]));
    }

    #[test]
    fn a_pair_that_spells_a_given_token_makes_it() {
        let (tokens, merges) = train_words(&[("abc", 2)], &["ab", "a", "b", "c"], ALL);
        assert_eq!((tokens, merges), (vec!["abc".into()], vec![(1, 2), (0, 3)]));
    }

    #[test]
    fn tokens_are_shorter_than_the_limit_or_of_two_characters() {
        let longest = |most| train_words(&[("aaaaaaaa", 1)], &["a"], TextRules { longest: Some(most), ..ALL }).0;
        assert_eq!(
            (longest(2), longest(4), longest(5)),
            (vec!["aa".into()], vec!["aa".into()], vec!["aa".into(), "aaaa".into()])
        );
    }
}
