//! Every pair of neighbours with its count and the places where it occurs.
//!
//! The places of all pairs are in one arena, the places of a pair together and ascending. They are written once, when
//! the pair arises. A visit to a place notices if the pair has left it. A merge of `a b` into `c` makes the pairs `x c`
//! and `c y`, and removes as many of `x a` and `b y`. So counts change once for each new pair, and not for each place.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::cell::CellWidth;
use super::options::{LearnedMerge, NO_ID};
use super::rules::TrainRules;
use super::text::TrainText;
use super::watch::Watch;

/// The minimum garbage to collect, in places.
const LEAST_GARBAGE: usize = 1 << 16;
/// The places prefetched ahead in the text.
const AHEAD: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub key: (u32, u32),
    /// Its occurrences in the current text.
    pub count: u64,
    /// The start of its places in the arena, without those known to be outdated.
    start: usize,
    places: u32,
}

pub struct Pairs {
    table: Vec<Pair>,
    by_key: PairNumbers,
    places: Vec<u32>,
    /// Places in the arena that belong to no pair.
    garbage: usize,
    latest: NewPairs,
}

/// The number of each pair, by its key, which is stored only in the table of pairs.
#[derive(Default)]
struct PairNumbers {
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl PairNumbers {
    fn get(&self, key: (u32, u32), table: &[Pair]) -> Option<u32> {
        self.numbers.find(self.hasher.hash_one(key), |&number| table[number as usize].key == key).copied()
    }

    fn remove(&mut self, key: (u32, u32), table: &[Pair]) -> Option<u32> {
        let slot = self.numbers.find_entry(self.hasher.hash_one(key), |&number| table[number as usize].key == key);
        slot.ok().map(|entry| entry.remove().0)
    }

    /// Adds the last pair of the table, which must be absent.
    fn add_last(&mut self, table: &[Pair]) {
        let Self { numbers, hasher } = self;
        let hash = |&number: &u32| hasher.hash_one(table[number as usize].key);
        let last = table.len() as u32 - 1;
        numbers.insert_unique(hash(&last), last, hash);
    }

    fn rebuild(&mut self, table: &[Pair]) {
        let Self { numbers, hasher } = self;
        numbers.clear();
        numbers.shrink_to(table.len(), |_| 0);
        let hash = |&number: &u32| hasher.hash_one(table[number as usize].key);
        numbers.reserve(table.len(), hash);
        for number in 0..table.len() as u32 {
            numbers.insert_unique(hash(&number), number, hash);
        }
    }
}

/// The new pairs of one merge.
#[derive(Default)]
struct NewPairs {
    /// By the other symbol: the index in `tallies` of its pair with the new symbol before it, and after it.
    slots: [Vec<u32>; 2],
    tallies: Vec<PairTally>,
    /// The tally and the place of each occurrence, in the order of discovery.
    occurrences: Vec<(u32, u32)>,
}

struct PairTally {
    other: u32,
    /// 0 if the other symbol comes before the new one, 1 if after it.
    side: usize,
    /// The count of the found occurrences.
    gained: u64,
    /// The part of it that the same merge removed again.
    lost: u64,
    places: u32,
    start: usize,
}

impl NewPairs {
    /// Merges the pair at a place, and returns the number of symbols that this removes.
    fn merge_at<C: CellWidth>(&mut self, text: &mut TrainText<C>, at: usize, (left, _, id): LearnedMerge) -> u64 {
        let weight = text.weight(at);
        let (before, right) = (text.before(at), text.after(at));
        let after = text.after(right);
        let (other, next) = (text.id(before), text.id(after));
        if other != C::SEPARATOR {
            self.add_occurrence(0, other, before, weight);
        }
        if other == id {
            // The symbol joined just before has lost its new neighbour.
            let slot = self.slots[1][left as usize];
            self.tallies[slot as usize].lost += weight;
        }
        if next != C::SEPARATOR {
            self.add_occurrence(1, next, at, weight);
        }
        text.join(at, right, after, id);
        weight
    }

    fn add_occurrence(&mut self, side: usize, other: u32, at: usize, weight: u64) {
        let slot = &mut self.slots[side][other as usize];
        if *slot == NO_ID {
            *slot = self.tallies.len() as u32;
            self.tallies.push(PairTally { other, side, gained: 0, lost: 0, places: 0, start: 0 });
        }
        let tally = &mut self.tallies[*slot as usize];
        tally.gained += weight;
        tally.places += 1;
        self.occurrences.push((*slot, at as u32));
    }

    /// Makes room for one more symbol.
    fn grow(&mut self, id: u32) {
        for slots in &mut self.slots {
            slots.resize(slots.len().max(id as usize + 1), NO_ID);
        }
    }

    fn clear(&mut self) {
        for tally in self.tallies.drain(..) {
            self.slots[tally.side][tally.other as usize] = NO_ID;
        }
        self.occurrences.clear();
    }
}

impl Pairs {
    /// Finds the pairs of a text before the first merge; None if the caller requests a stop.
    pub fn new<C: CellWidth>(text: &TrainText<C>, watch: &mut Watch<'_>) -> Option<Self> {
        let mut pairs = Self {
            table: Vec::new(),
            by_key: PairNumbers::default(),
            places: Vec::new(),
            garbage: 0,
            latest: NewPairs::default(),
        };
        let mut square = vec![NO_ID; 1 << 16];
        let mut all = 0;
        pairs.visit_pairs(text, watch, &mut square, |pairs, number, at| {
            pairs.table[number].count += text.weight(at);
            pairs.table[number].places += 1;
            all += 1;
        })?;
        let mut start = 0;
        for pair in &mut pairs.table {
            pair.start = start;
            start += std::mem::take(&mut pair.places) as usize;
        }
        pairs.places = vec![0; all];
        pairs.visit_pairs(text, watch, &mut square, |pairs, number, at| {
            let pair = &mut pairs.table[number];
            pairs.places[pair.start + pair.places as usize] = at as u32;
            pair.places += 1;
        })?;
        Some(pairs)
    }

    /// Visits every place of a text before the first merge, with the number of its pair.
    fn visit_pairs<C: CellWidth>(
        &mut self,
        text: &TrainText<C>,
        watch: &mut Watch<'_>,
        square: &mut [u32],
        mut visit: impl FnMut(&mut Self, usize, usize),
    ) -> Option<()> {
        let (mut next, mut visited) = (1, 0);
        while next + 1 < text.len() {
            visited += 1;
            watch.check_at(visited)?;
            let at = next;
            next = text.after(at);
            let key = (text.id(at), text.id(next));
            if key.0 == C::SEPARATOR || key.1 == C::SEPARATOR {
                continue;
            }
            // Small ids, such as the ids of bytes, are looked up without hashing.
            let mut none = NO_ID;
            let cached = if key.0 | key.1 < 256 { &mut square[(key.0 << 8 | key.1) as usize] } else { &mut none };
            if *cached == NO_ID {
                *cached = self.pair_number(key);
            }
            visit(self, *cached as usize, at);
        }
        Some(())
    }

    fn pair_number(&mut self, key: (u32, u32)) -> u32 {
        self.by_key.get(key, &self.table).unwrap_or_else(|| {
            self.table.push(Pair { key, count: 0, start: 0, places: 0 });
            self.by_key.add_last(&self.table);
            self.table.len() as u32 - 1
        })
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn pair(&self, number: usize) -> &Pair {
        &self.table[number]
    }

    /// The count of a pair; 0 if it is not kept.
    pub fn count(&self, key: (u32, u32)) -> u64 {
        self.by_key.get(key, &self.table).map_or(0, |number| self.table[number as usize].count)
    }

    /// The first place of the pair that is not known to be outdated.
    pub fn first_place(&self, number: usize) -> u32 {
        self.places[self.table[number].start]
    }

    /// The first place where a pair, whose count is not 0, still occurs.
    pub fn first_live_place<C: CellWidth>(&mut self, number: usize, text: &TrainText<C>) -> u32 {
        let pair = &mut self.table[number];
        while !text.holds_pair(pair.key, self.places[pair.start] as usize) {
            pair.start += 1;
            pair.places -= 1;
            self.garbage += 1;
        }
        self.places[pair.start]
    }

    /// Merges a pair everywhere. Returns its count and the number of symbols that this removes, or None if the caller
    /// requests a stop. Keeps the new pairs that the rules allow.
    pub fn merge<C: CellWidth>(
        &mut self,
        (left, right, id): LearnedMerge,
        text: &mut TrainText<C>,
        rules: Option<&TrainRules>,
        watch: &mut Watch<'_>,
    ) -> Option<(u64, u64)> {
        let Some(number) = self.by_key.remove((left, right), &self.table) else { return Some((0, 0)) };
        let pair = &mut self.table[number as usize];
        let (count, start, end) = (pair.count, pair.start, pair.start + pair.places as usize);
        (pair.count, pair.places) = (0, 0);
        self.garbage += end - start;
        self.latest.grow(id.max(left).max(right));
        let mut removed = 0;
        for place in start..end {
            watch.check_at(place - start)?;
            let at = self.places[place] as usize;
            // Places are far apart, so that a prefetch helps.
            if let Some(&soon) = self.places.get(place + AHEAD) {
                text.prefetch(soon as usize);
            }
            if text.holds_pair((left, right), at) {
                removed += self.latest.merge_at(text, at, (left, right, id));
            }
        }
        self.apply_deltas((left, right, id), rules);
        Some((count, removed))
    }

    fn apply_deltas(&mut self, (left, right, id): LearnedMerge, rules: Option<&TrainRules>) {
        let mut start = self.places.len();
        for tally in &mut self.latest.tallies {
            let (old, new) = match tally.side {
                0 => ((tally.other, left), (tally.other, id)),
                _ => ((right, tally.other), (id, tally.other)),
            };
            // A neighbour that is the new symbol itself was not in an older pair; `lost` counts it.
            if (tally.side == 1 || tally.other != id)
                && let Some(number) = self.by_key.get(old, &self.table)
            {
                let pair = &mut self.table[number as usize];
                pair.count -= tally.gained;
                self.garbage += if pair.count == 0 { pair.places as usize } else { 0 };
            }
            let count = tally.gained - tally.lost;
            tally.start = usize::MAX;
            if count > 0 && rules.is_none_or(|rules| rules.allows(new, count)) {
                tally.start = start;
                self.table.push(Pair { key: new, count, start, places: tally.places });
                self.by_key.add_last(&self.table);
                start += tally.places as usize;
            }
        }
        self.places.resize(start, 0);
        for &(slot, at) in &self.latest.occurrences {
            let tally = &mut self.latest.tallies[slot as usize];
            if tally.start != usize::MAX {
                self.places[tally.start] = at;
                tally.start += 1;
            }
        }
        self.latest.clear();
        self.collect_if_due();
    }

    /// Collects if a third of the places are garbage. More often would take more time than the memory justifies.
    fn collect_if_due(&mut self) {
        if self.garbage > LEAST_GARBAGE.max(self.places.len() / 3) {
            self.collect();
        }
    }

    /// Closes the gaps in the arena. The order of pairs in it is that of the table.
    fn collect(&mut self) {
        let mut to = 0;
        for pair in &mut self.table {
            if pair.count == 0 {
                pair.places = 0;
            }
            let from = pair.start;
            pair.start = to;
            to += pair.places as usize;
            if from != pair.start {
                self.places.copy_within(from..from + pair.places as usize, pair.start);
            }
        }
        self.places.truncate(to);
        self.garbage = 0;
    }

    /// Removes the pairs that cannot merge or no longer occur. The numbers of the others change.
    pub fn compact(&mut self, rules: Option<&TrainRules>) {
        let before = self.table.len();
        self.table.retain(|pair| {
            let stays = pair.count > 0 && rules.is_none_or(|rules| rules.allows(pair.key, pair.count));
            // The places of a pair whose count is 0 are garbage already.
            self.garbage += if stays || pair.count == 0 { 0 } else { pair.places as usize };
            stays
        });
        if self.table.len() < before {
            self.by_key.rebuild(&self.table);
        }
        self.collect_if_due();
    }
}
