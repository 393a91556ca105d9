//! Piece counts to merges: the pair with the highest count merges everywhere, and again, until a limit is reached.
//!
//! All distinct pieces stand one after another in one array of symbols, each with a separator after it, and every pair
//! keeps the positions where it stands. A merge touches those positions only, so that the whole training costs
//! n log n. The unsplit stream is the case of few, long pieces and needs nothing of its own.
//!
//! A count is the number of places where the pair stands, each times the count of its piece: `aaa` holds `aa` twice,
//! though it merges only once. After a pair's first count its counts only fall, and its first position only grows: new
//! places arise only when the younger of its two tokens does. So a heap entry is never too low, and one that is out of
//! date is simply put back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::count::PieceCounts;
use crate::error::{Error, Result};

/// Which of several pairs with the highest count merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one with the smallest left id, then the smallest right id.
    LowestIds,
    /// The one that is met first in the text as it stands now.
    FirstSeen,
}

/// What the symbols are before the first merge, each with its own value as id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// The 256 bytes.
    Bytes,
    /// The 128 ASCII characters; a corpus with others is refused.
    Ascii,
}

/// When to stop, and how to choose.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first symbols.
    pub alphabet: Alphabet,
    /// The most merges to learn.
    pub limit: usize,
    /// The least count of a pair that still merges; at least 1.
    pub min_count: u64,
    /// The rule for ties.
    pub ties: Ties,
    /// The longest token, in bytes; pairs that would make a longer one never merge.
    pub max_token_bytes: Option<u32>,
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The limit was reached.
    Limit,
    /// No pair was left.
    NoPairs,
    /// Every pair that was left had a lower count than `min_count`.
    MinCount,
    /// The caller asked to stop.
    Interrupted,
}

/// The merges that training learned. The id of merge i is the alphabet's size + i.
#[derive(Debug)]
pub struct Trained {
    /// Left and right id of each merge.
    pub pairs: Vec<(u32, u32)>,
    /// Its count when it was chosen.
    pub counts: Vec<u64>,
    /// The symbols left in the corpus after it.
    pub left: Vec<u64>,
    /// The symbols before the first merge.
    pub symbols: u64,
    /// Why training ended.
    pub stopped: Stopped,
}

/// Stands between pieces.
const SEPARATOR: u32 = u32::MAX;
/// Stands where a symbol was that has been merged into the one before it.
const GONE: u32 = u32::MAX - 1;
/// The longest array of symbols, so that positions are u32.
const MOST_SYMBOLS: usize = (u32::MAX - 16) as usize;
/// How many places are visited between two looks at the clock.
const PLACES_PER_LOOK: usize = 1 << 16;
/// How long training runs between two reports.
const REPORT_EVERY: Duration = Duration::from_millis(50);

impl Alphabet {
    /// The number of symbols, and the id of the first merge.
    #[must_use]
    pub fn size(self) -> u32 {
        match self {
            Self::Bytes => 256,
            Self::Ascii => 128,
        }
    }
}

/// The merges of a corpus. `report` gets the number of merges now and then, and may end training.
///
/// # Errors
/// [`Error::NotInVocabulary`] for a symbol outside the alphabet; [`Error::Option`] for more than 4 GiB of distinct
/// pieces.
pub fn train(
    counts: &PieceCounts,
    options: Options,
    report: &mut dyn FnMut(usize) -> ControlFlow<()>,
) -> Result<Trained> {
    let mut text = Text::new(counts, options.alphabet)?;
    let mut trained =
        Trained { pairs: vec![], counts: vec![], left: vec![], symbols: text.symbols, stopped: Stopped::Limit };
    let mut watch = Watch { merges: 0, reported: Instant::now(), report };
    trained.stopped = match Pairs::new(&text, options, &mut watch) {
        Some(mut pairs) => learn(&mut text, &mut pairs, &mut watch, &mut trained),
        None => Stopped::Interrupted,
    };
    Ok(trained)
}

/// Merges until a limit is reached, and says which.
fn learn(text: &mut Text, pairs: &mut Pairs, watch: &mut Watch<'_>, trained: &mut Trained) -> Stopped {
    let mut left = text.symbols;
    while trained.pairs.len() < pairs.options.limit {
        let Some(best) = pairs.pop_best(text) else { return Stopped::NoPairs };
        let Pair { key, count, .. } = pairs.table[best];
        if count < pairs.options.min_count {
            return Stopped::MinCount;
        }
        let id = pairs.options.alphabet.size() + trained.pairs.len() as u32;
        // A merge that was interrupted half-way is not learned; the text is not used any more.
        let Some(gone) = pairs.apply(text, best, id, watch) else { return Stopped::Interrupted };
        left -= gone;
        trained.pairs.push(key);
        trained.counts.push(count);
        trained.left.push(left);
        watch.merges = trained.pairs.len();
    }
    Stopped::Limit
}

/// Reports how far training is, and hears whether to go on.
struct Watch<'w> {
    merges: usize,
    reported: Instant,
    report: &'w mut dyn FnMut(usize) -> ControlFlow<()>,
}

impl Watch<'_> {
    /// Whether to go on; costs next to nothing until a report is due.
    fn go_on(&mut self) -> bool {
        if self.reported.elapsed() < REPORT_EVERY {
            return true;
        }
        self.reported = Instant::now();
        (self.report)(self.merges).is_continue()
    }
}

/// The distinct pieces as one array of symbols.
struct Text {
    /// The id of the symbol that starts here; [`SEPARATOR`] around every piece; [`GONE`] inside a symbol.
    ids: Vec<u32>,
    /// How many places a symbol takes, at its first place and at its last.
    spans: Vec<u32>,
    weights: Weights,
    /// All symbols, each times the count of its piece.
    symbols: u64,
}

/// The count of the piece at a position.
enum Weights {
    /// One count for all.
    Same(u64),
    /// The piece of each position, and the count of each piece.
    Each(Vec<u32>, Vec<u64>),
}

impl Text {
    fn new(counts: &PieceCounts, alphabet: Alphabet) -> Result<Self> {
        let pieces = counts.in_order();
        let places = 1 + pieces.iter().map(|(piece, _)| piece.len() + 1).sum::<usize>();
        if places > MOST_SYMBOLS {
            return Err(Error::Option {
                argument: "corpus",
                value: format!("{places} bytes of distinct pieces"),
                allowed: format!("at most {MOST_SYMBOLS}; use a pattern, or fewer documents"),
            });
        }
        let mut ids = Vec::with_capacity(places);
        ids.push(SEPARATOR);
        for (piece, tally) in &pieces {
            if alphabet == Alphabet::Ascii
                && let Some(inside) = piece.iter().position(|byte| !byte.is_ascii())
            {
                let content = first_character(&piece[inside..]).to_vec();
                return Err(Error::NotInVocabulary { content, offset: tally.first.1 as usize + inside });
            }
            ids.extend(piece.iter().map(|&byte| u32::from(byte)));
            ids.push(SEPARATOR);
        }
        let symbols = pieces.iter().map(|(piece, tally)| piece.len() as u64 * tally.count).sum();
        Ok(Self { spans: vec![1; ids.len()], ids, weights: Weights::new(&pieces, places), symbols })
    }

    /// The symbol after the one at `at`.
    fn after(&self, at: usize) -> usize {
        at + self.spans[at] as usize
    }

    /// The symbol before the one at `at`.
    fn before(&self, at: usize) -> usize {
        at - self.spans[at - 1] as usize
    }

    fn weight(&self, at: usize) -> u64 {
        match &self.weights {
            Weights::Same(count) => *count,
            Weights::Each(piece_at, counts) => counts[piece_at[at] as usize],
        }
    }

    /// Whether the pair stands at `at` now.
    fn stands(&self, key: (u32, u32), at: usize) -> bool {
        self.ids[at] == key.0 && self.ids[self.after(at)] == key.1
    }

    /// Makes one symbol of the one at `at` and the one after it.
    fn join(&mut self, at: usize, after: usize, id: u32) {
        let span = self.spans[at] + self.spans[after];
        self.ids[at] = id;
        self.ids[after] = GONE;
        self.spans[at] = span;
        self.spans[at + span as usize - 1] = span;
    }
}

impl Weights {
    fn new(pieces: &[(&[u8], crate::count::Tally)], places: usize) -> Self {
        let first = pieces.first().map_or(1, |(_, tally)| tally.count);
        if pieces.iter().all(|(_, tally)| tally.count == first) {
            return Self::Same(first);
        }
        let mut piece_at = Vec::with_capacity(places);
        piece_at.push(0);
        for (number, (piece, _)) in pieces.iter().enumerate() {
            piece_at.extend(std::iter::repeat_n(number as u32, piece.len() + 1));
        }
        Self::Each(piece_at, pieces.iter().map(|(_, tally)| tally.count).collect())
    }
}

fn first_character(bytes: &[u8]) -> &[u8] {
    let chunk = bytes.utf8_chunks().next();
    chunk.map_or(bytes, |chunk| match chunk.valid().chars().next() {
        Some(character) => &bytes[..character.len_utf8()],
        None => chunk.invalid(),
    })
}

/// One pair of neighbours.
struct Pair {
    key: (u32, u32),
    /// How often it stands in the text now.
    count: u64,
    /// Where it stood when its places were found, ascending; some may be out of date.
    places: Vec<u32>,
    /// The places before this one are out of date for good.
    cursor: usize,
}

/// A pair that waits: the highest count first, then the smallest tie, which is its key or its first position.
type Entry = (u64, Reverse<u64>, usize);

struct Pairs {
    options: Options,
    table: Vec<Pair>,
    by_key: HashMap<(u32, u32), usize>,
    heap: BinaryHeap<Entry>,
    token_bytes: Vec<u32>,
}

impl Pairs {
    /// The pairs of the text, or nothing if the caller asks to stop.
    fn new(text: &Text, options: Options, watch: &mut Watch<'_>) -> Option<Self> {
        let mut pairs = Self {
            options,
            table: Vec::new(),
            by_key: HashMap::default(),
            heap: BinaryHeap::new(),
            token_bytes: vec![1; options.alphabet.size() as usize],
        };
        for at in 1..text.ids.len() {
            if at.is_multiple_of(PLACES_PER_LOOK) && !watch.go_on() {
                return None;
            }
            let key = (text.ids[at - 1], text.ids[at]);
            if key.0 != SEPARATOR && key.1 != SEPARATOR {
                pairs.gain(key, at - 1, text.weight(at));
            }
        }
        for number in 0..pairs.table.len() {
            pairs.push(number);
        }
        Some(pairs)
    }

    fn gain(&mut self, key: (u32, u32), at: usize, weight: u64) {
        let new = self.table.len();
        let number = *self.by_key.entry(key).or_insert(new);
        if number == new {
            self.table.push(Pair { key, count: 0, places: Vec::new(), cursor: 0 });
        }
        let pair = &mut self.table[number];
        pair.count += weight;
        pair.places.push(at as u32);
    }

    fn lose(&mut self, key: (u32, u32), weight: u64) {
        if let Some(&number) = self.by_key.get(&key) {
            self.table[number].count -= weight;
        }
    }

    /// Puts a pair into the heap, unless it can never merge.
    fn push(&mut self, number: usize) {
        let pair = &self.table[number];
        let (left, right) = pair.key;
        let bytes = self.token_bytes[left as usize] + self.token_bytes[right as usize];
        if pair.count == 0 || self.options.max_token_bytes.is_some_and(|most| bytes > most) {
            return;
        }
        let tie = match self.options.ties {
            Ties::LowestIds => u64::from(left) << 32 | u64::from(right),
            Ties::FirstSeen => u64::from(pair.places[pair.cursor]),
        };
        self.heap.push((pair.count, Reverse(tie), number));
    }

    /// Takes the pair that merges next out of the heap.
    fn pop_best(&mut self, text: &Text) -> Option<usize> {
        while let Some((count, Reverse(tie), number)) = self.heap.pop() {
            let pair = &mut self.table[number];
            if pair.count == 0 {
                continue;
            }
            if self.options.ties == Ties::FirstSeen {
                while !text.stands(pair.key, pair.places[pair.cursor] as usize) {
                    pair.cursor += 1;
                }
                if u64::from(pair.places[pair.cursor]) != tie {
                    self.push(number);
                    continue;
                }
            }
            if pair.count == count {
                return Some(number);
            }
            self.push(number);
        }
        None
    }

    /// Merges a pair everywhere, and gives the number of symbols that went; nothing if the caller asks to stop.
    fn apply(&mut self, text: &mut Text, number: usize, id: u32, watch: &mut Watch<'_>) -> Option<u64> {
        let pair = &mut self.table[number];
        let key = pair.key;
        let places = std::mem::take(&mut pair.places);
        pair.count = 0;
        self.by_key.remove(&key);
        self.token_bytes.push(self.token_bytes[key.0 as usize] + self.token_bytes[key.1 as usize]);
        let first_new = self.table.len();
        let mut gone = 0;
        for (looked, at) in places.into_iter().enumerate() {
            if looked.is_multiple_of(PLACES_PER_LOOK) && !watch.go_on() {
                return None;
            }
            let at = at as usize;
            if !text.stands(key, at) {
                continue;
            }
            let weight = text.weight(at);
            let (before, right) = (text.before(at), text.after(at));
            let after = text.after(right);
            if text.ids[before] != SEPARATOR {
                self.lose((text.ids[before], key.0), weight);
                self.gain((text.ids[before], id), before, weight);
            }
            if text.ids[after] != SEPARATOR {
                self.lose((key.1, text.ids[after]), weight);
                self.gain((id, text.ids[after]), at, weight);
            }
            text.join(at, right, id);
            gone += weight;
        }
        for number in first_new..self.table.len() {
            self.push(number);
        }
        Some(gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::Stop;
    use crate::split::Splitter;

    fn trained(documents: &[&str], options: Options) -> Trained {
        let mut counts = PieceCounts::new(Splitter::new(&[""; 0]).unwrap());
        let documents: Vec<_> = documents.iter().map(|&text| text.into()).collect();
        counts.add(&documents, 1, &Stop::default()).unwrap();
        train(&counts, options, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    const OPTIONS: Options =
        Options { alphabet: Alphabet::Bytes, limit: 100, min_count: 2, ties: Ties::LowestIds, max_token_bytes: None };

    #[test]
    fn the_textbook_example() {
        // aaabdaaabac: aa 4 times (counted), then ab, then ZY; XdXac is left.
        let found = trained(&["aaabdaaabac"], OPTIONS);
        assert_eq!(found.pairs, [(97, 97), (97, 98), (256, 257)]);
        assert_eq!((found.counts, found.left), (vec![4, 2, 2], vec![9, 7, 5]));
        assert_eq!(found.stopped, Stopped::MinCount);
        let found = trained(&["aaabdaaabac"], Options { ties: Ties::FirstSeen, ..OPTIONS });
        assert_eq!(found.pairs[..2], [(97, 97), (256, 97)]);
    }

    #[test]
    fn runs_and_repeated_documents() {
        let found = trained(&["aaaa", "aaaa", "b"], Options { min_count: 1, ..OPTIONS });
        assert_eq!(found.pairs, [(97, 97), (256, 256)]);
        assert_eq!((found.counts, found.left), (vec![6, 2], vec![5, 3]));
        assert_eq!((found.symbols, found.stopped), (9, Stopped::NoPairs));
    }

    #[test]
    fn long_tokens_can_be_forbidden() {
        let found = trained(&["abcabc"], Options { max_token_bytes: Some(2), ..OPTIONS });
        assert_eq!(found.pairs, [(97, 98)]);
    }
}
