//! Piece counts: how often each distinct piece occurs in a corpus, and where it occurs first.
//!
//! Reading order: this file has the value [`PieceCounts`], which files hold and training takes. [`mod@counter`] makes
//! it from documents on several threads: [`worker`] is the work of one thread and the shared state, [`tally`] its
//! table, and [`spill`] writes a table to disk when memory is short. [`sort`] sorts the pieces of a table.
//! [`mod@arena`] holds the result, [`dropped`] the sums of left-out pieces, [`jsonl`] reads rows, [`tsv`] writes and
//! reads counts as text, and [`rows`] adds up sorted files of counts.
//!
//! Left out: splitting ([`crate::split`]), merging ([`mod@crate::train`]), and reading files, which the Python package
//! does.

pub mod arena;
pub mod counter;
pub mod dropped;
pub mod jsonl;
pub mod rows;
pub mod sort;
pub mod spill;
pub mod tally;
pub mod tsv;
pub mod unpack;
pub mod worker;

use std::collections::HashSet;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::count::arena::Arena;
use crate::count::counter::{CountTotals, Counter};
use crate::count::dropped::{LeftOut, Rare, RareCounter};
pub use crate::count::tally::Tally;
use crate::count::tally::{TallyTable, overflow_error};
use crate::count::worker::CountLimits;
use crate::error::{Error, Result};
use crate::slots::key::{Seeds, Window};
use crate::split::text_cuts::TextCuts;
use crate::split::{Splitter, Text};
use crate::threads::parallel::{Stop, map_items};

/// The pieces of one job of the digest.
const PIECES_PER_JOB: usize = 1 << 12;

/// The pieces of a corpus with their counts. Only first positions depend on the order of documents.
#[derive(Debug)]
pub struct PieceCounts {
    splitter: Arc<Splitter>,
    /// In the order of first positions if these are known, else of bytes.
    arena: Arena,
    positions: bool,
    totals: CountTotals,
    rare: Rare,
}

/// The facts about counts, without the pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountFacts {
    /// Documents.
    pub documents: u64,
    /// Whether first positions are known.
    pub positions: bool,
    /// Pieces left out because they were too long.
    pub long: LeftOut,
    /// Pieces left out because they were rare.
    pub rare: Rare,
}

impl PieceCounts {
    /// Counts without documents.
    #[must_use]
    pub fn new(splitter: Splitter) -> Self {
        Self {
            splitter: Arc::new(splitter),
            arena: Arena::default(),
            positions: true,
            totals: CountTotals::default(),
            rare: Rare::default(),
        }
    }

    /// The result of a counter with the same splitter, without the pieces that occur fewer than `min_count` times.
    ///
    /// # Errors
    /// As [`Counter::finish`].
    pub fn from_counter(
        counter: Counter,
        splitter: Arc<Splitter>,
        min_count: u64,
        threads: usize,
        stop: &Stop,
    ) -> Result<Self> {
        let totals = counter.totals();
        let (arena, rare) = counter.finish(min_count, threads, stop)?;
        Ok(Self { splitter, arena, positions: true, totals, rare })
    }

    /// Counts that were stored.
    ///
    /// # Errors
    /// [`Error::Format`] for an empty piece, a count of 0 or a piece that occurs twice; [`Error::Option`] for counts
    /// whose sum exceeds 64 bits; [`Error::Interrupted`].
    pub fn from_arena(splitter: Splitter, arena: Arena, facts: CountFacts, stop: &Stop) -> Result<Self> {
        let bad = |place: usize, problem: &str| {
            Err(Error::Format { place: Some(format!("row {}", place + 1)), problem: problem.to_owned() })
        };
        let is_sorted = arena.iter().is_sorted_by(|left, right| left.0 < right.0);
        let mut pieces = HashSet::new();
        for (place, (piece, tally)) in arena.iter().enumerate() {
            stop.check()?;
            if piece.is_empty() || tally.count == 0 {
                return bad(place, "expected a piece of at least one byte with a count of at least 1");
            }
            if !is_sorted && !pieces.insert(piece) {
                return bad(place, "the piece is in an earlier row already; expected each once");
            }
        }
        drop(pieces);
        let bytes = [facts.long.bytes, facts.rare.out.bytes].into_iter().try_fold(total_bytes(&arena)?, plus)?;
        let totals = CountTotals { documents: facts.documents, bytes, long: facts.long, runs: 0 };
        let mut counts =
            Self { splitter: Arc::new(splitter), arena, positions: facts.positions, totals, rare: facts.rare };
        counts.put_in_order(stop)?;
        Ok(counts)
    }

    fn put_in_order(&mut self, stop: &Stop) -> Result<()> {
        stop.check()?;
        if self.positions {
            self.arena = std::mem::take(&mut self.arena).sort_by_position();
            return Ok(());
        }
        let numbers = self.arena.byte_order();
        let mut sorted = Arena::default();
        for (place, number) in numbers.into_iter().enumerate() {
            stop.check()?;
            let tally = Tally { first: (place as u64, 0), ..self.arena.tallies[number as usize] };
            sorted.push(self.arena.piece(number as usize), tally);
        }
        self.arena = sorted;
        Ok(())
    }

    /// Adds documents that follow all documents before.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Interrupted`]; none of these documents is then counted.
    pub fn add(&mut self, documents: &[Text<'_>], threads: usize, stop: &Stop) -> Result<()> {
        let start = (self.totals.documents, 0);
        let mut counter = Counter::new(Arc::clone(&self.splitter), None, CountLimits::default(), start);
        counter.add(documents, threads, stop)?;
        let new = Self::from_counter(counter, Arc::clone(&self.splitter), 1, threads, stop)?;
        *self = Self::sum(&[&*self, &new], true, stop)?;
        Ok(())
    }

    /// Adds the counts of several corpora. First positions are known if each corpus has them and they are `comparable`;
    /// the minimum is kept.
    ///
    /// # Errors
    /// [`Error::Option`] for no parts, and for counts whose sum exceeds 64 bits; [`Error::Interrupted`].
    pub fn sum(parts: &[&Self], comparable: bool, stop: &Stop) -> Result<Self> {
        let Some((first, rest)) = parts.split_first() else {
            let allowed = "at least one".to_owned();
            return Err(Error::Option { argument: "counts", value: "none".to_owned(), allowed });
        };
        let mut sum = Self {
            splitter: Arc::clone(&first.splitter),
            arena: Arena::default(),
            positions: comparable && parts.iter().all(|part| part.positions),
            totals: first.totals,
            rare: first.rare,
        };
        for part in rest {
            sum.totals.documents = plus(sum.totals.documents, part.totals.documents)?;
            sum.totals.bytes = plus(sum.totals.bytes, part.totals.bytes)?;
            sum.totals.long = sum.totals.long.plus(part.totals.long)?;
            sum.totals.runs = plus(sum.totals.runs, part.totals.runs)?;
            sum.rare = sum.rare.plus(part.rare)?;
        }
        sum.arena = if rest.is_empty() { first.arena.clone() } else { merge_arenas(parts, stop)? };
        sum.put_in_order(stop)?;
        Ok(sum)
    }

    /// Returns the counts of the pieces that occur at least `min_count` times.
    ///
    /// # Errors
    /// [`Error::Option`] if the left-out sums exceed 64 bits; [`Error::Interrupted`].
    pub fn drop_rare(&self, min_count: u64, stop: &Stop) -> Result<Self> {
        let (mut arena, mut rare) = (Arena::default(), RareCounter::default());
        for (piece, tally) in self.arena.iter() {
            stop.check()?;
            if tally.count >= min_count {
                arena.push(piece, tally);
            } else {
                rare.add(piece, tally.count);
            }
        }
        let rare = self.rare.plus(rare.finish())?;
        Ok(Self { splitter: Arc::clone(&self.splitter), arena, rare, ..*self })
    }

    /// The same facts with other pieces.
    pub(crate) fn with_arena(&self, arena: Arena, stop: &Stop) -> Result<Self> {
        let mut counts = Self { splitter: Arc::clone(&self.splitter), arena, ..*self };
        counts.put_in_order(stop)?;
        Ok(counts)
    }

    /// The pieces in their stored order.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Documents added.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.totals.documents
    }

    /// Bytes in the documents.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// Distinct pieces.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.arena.len()
    }

    /// Whether first positions are known.
    #[must_use]
    pub fn positions(&self) -> bool {
        self.positions
    }

    /// Pieces left out because they were too long.
    #[must_use]
    pub fn long(&self) -> LeftOut {
        self.totals.long
    }

    /// Pieces left out because they were rare.
    #[must_use]
    pub fn rare(&self) -> Rare {
        self.rare
    }

    /// The number of runs written to disk while counting.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.totals.runs
    }

    /// A digest that depends on the pieces and their counts only, not on the order of documents: the sum of the
    /// counts times the first 16 bytes (little endian) of each piece's SHA-256, modulo 2^128.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub fn digest(&self, threads: usize, stop: &Stop) -> Result<u128> {
        let share = |share: usize| {
            let numbers = share * PIECES_PER_JOB..self.arena.len().min((share + 1) * PIECES_PER_JOB);
            Ok(numbers.map(|number| self.digest_of(number)).fold(0, u128::wrapping_add))
        };
        let shares =
            map_items(self.arena.len().div_ceil(PIECES_PER_JOB), threads, stop, |shares| shares.for_each_item(share))?;
        Ok(shares.into_iter().fold(0, u128::wrapping_add))
    }

    fn digest_of(&self, number: usize) -> u128 {
        let hash = Sha256::digest(self.arena.piece(number));
        let head = hash.iter().take(16).rev().fold(0u128, |head, &byte| head << 8 | u128::from(byte));
        head.wrapping_mul(u128::from(self.arena.tallies[number].count))
    }
}

/// Returns a counter for these regexes, and its splitter.
///
/// # Errors
/// As [`Splitter::new`].
pub fn counter(
    patterns: &[impl AsRef<str>],
    limits: CountLimits,
    start: (u64, u64),
) -> Result<(Counter, Arc<Splitter>)> {
    let splitter = Arc::new(Splitter::new(patterns)?);
    Ok((Counter::new(Arc::clone(&splitter), TextCuts::for_patterns(patterns), limits, start), splitter))
}

impl LeftOut {
    fn plus(self, other: Self) -> Result<Self> {
        Ok(Self { pieces: plus(self.pieces, other.pieces)?, bytes: plus(self.bytes, other.bytes)? })
    }
}

impl Rare {
    fn plus(self, other: Self) -> Result<Self> {
        Ok(Self { out: self.out.plus(other.out)?, pair: plus(self.pair, other.pair)? })
    }
}

fn plus(left: u64, right: u64) -> Result<u64> {
    left.checked_add(right).ok_or_else(|| overflow_error(left, right))
}

/// The bytes of all occurrences: an upper bound of every pair's count, whatever merges.
fn total_bytes(arena: &Arena) -> Result<u64> {
    arena.iter().try_fold(0, |sum, (piece, tally)| {
        let bytes = tally.count.checked_mul(piece.len() as u64);
        plus(sum, bytes.ok_or_else(|| overflow_error(tally.count, tally.count))?)
    })
}

fn merge_arenas(parts: &[&PieceCounts], stop: &Stop) -> Result<Arena> {
    let mut table = TallyTable::new(Seeds::default());
    for part in parts {
        let window = Window::new(&part.arena.bytes);
        let mut start = 0;
        for (&end, &tally) in part.arena.ends.iter().zip(&part.arena.tallies) {
            stop.check()?;
            let end = end as usize;
            table.add(&window, start, end - start, tally)?;
            start = end;
        }
    }
    Ok(Arena::from_table(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_batches_do_not_change_counts() {
        let documents: Vec<String> = (0..500).map(|n| format!("b{} a{} b{}", n % 7, n, n % 3)).collect();
        let mut serial = PieceCounts::new(Splitter::new(&["b+|[0-9]"]).unwrap());
        let documents: Vec<Text<'_>> = documents.iter().map(|text| Text::Str(text)).collect();
        serial.add(&documents, 1, &Stop::default()).unwrap();
        let mut parallel = PieceCounts::new(Splitter::new(&["b+|[0-9]"]).unwrap());
        parallel.add(&documents[..123], 3, &Stop::default()).unwrap();
        parallel.add(&documents[123..], 2, &Stop::default()).unwrap();
        assert_eq!(serial.arena, parallel.arena);
        assert_eq!(serial.digest(1, &Stop::default()), parallel.digest(2, &Stop::default()));
        assert_eq!(serial.arena.iter().next(), Some((&b"b"[..], Tally { count: 1000, first: (0, 0) })));
    }
}
