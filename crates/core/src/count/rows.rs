//! Sorted rows of counts, as in files, and their sums on several threads.
//!
//! The rows that all runs have read are merged up to a piece that no later row can precede, so that memory is bounded
//! by the rows read. Each thread sums a range of pieces.

use crate::count::arena::Arena;
use crate::count::tally::Tally;
use crate::error::{Error, Result};
use crate::threads::parallel::{Stop, map_items};

/// Fewer rows are merged by one thread.
const ALONE: usize = 1 << 12;

/// Some consecutive rows of a run.
#[derive(Debug, Clone, Copy)]
pub struct CountRows<'a> {
    /// The bytes of all pieces, one after another.
    pub bytes: &'a [u8],
    /// The end of each piece in `bytes`.
    pub ends: &'a [u64],
    /// Occurrences.
    pub counts: &'a [u64],
    /// Documents and bytes of first positions; None if unknown.
    pub firsts: Option<(&'a [u64], &'a [u64])>,
    /// The rows that are merged already.
    pub start: usize,
}

impl<'a> CountRows<'a> {
    fn piece(&self, row: usize) -> &'a [u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[row] as usize]
    }

    fn tally(&self, row: usize) -> Tally {
        let first = self.firsts.map_or((0, 0), |(documents, bytes)| (documents[row], bytes[row]));
        Tally { count: self.counts[row], first }
    }

    /// The number of the first row that is not merged and whose piece is not `before` the place looked for.
    fn find(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (self.start, self.ends.len());
        while low < high {
            let middle = low.midpoint(high);
            if before(self.piece(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Checks that the pieces follow `before` in byte order and have counts; `number` rows come before.
    ///
    /// # Errors
    /// [`Error::Format`] for the first row that is wrong; [`Error::Interrupted`].
    pub fn check(&self, mut before: &'a [u8], number: usize, stop: &Stop) -> Result<()> {
        for row in 0..self.ends.len() {
            stop.check()?;
            let piece = self.piece(row);
            let problem = if piece <= before {
                "the piece is empty, or does not follow the piece of the row before in byte order; load and save the \
                 file to sort it"
            } else if self.counts[row] == 0 {
                "the count is 0; expected 1 or more"
            } else {
                before = piece;
                continue;
            };
            let place = Some(format!("row {}", number + row + 1));
            return Err(Error::Format { place, problem: problem.to_owned() });
        }
        Ok(())
    }
}

/// Merges all rows up to the least of the runs' last pieces, and returns the sums in byte order with the number of
/// merged rows of each run. `runs` leaves out runs that have ended.
///
/// # Errors
/// [`Error::Option`] for a count of 2^64 or more; [`Error::Interrupted`].
pub fn merge_rows(runs: &[CountRows<'_>], threads: usize, stop: &Stop) -> Result<(Arena, Vec<usize>)> {
    let Some(last) = runs.iter().filter_map(|rows| Some(rows.piece(rows.ends.len().checked_sub(1)?))).min() else {
        return Ok((Arena::default(), runs.iter().map(|rows| rows.start).collect()));
    };
    let stops: Vec<_> = runs.iter().map(|rows| rows.find(|piece| piece <= last)).collect();
    let sizes = || runs.iter().zip(&stops).map(|(rows, stop)| stop - rows.start);
    let all: usize = sizes().sum();
    let threads = if all < ALONE { 1 } else { threads.min(all) };
    let mut cuts = vec![runs.iter().map(|rows| rows.start).collect::<Vec<_>>()];
    if let Some((size, longest)) = sizes().zip(runs).max_by_key(|(size, _)| *size) {
        cuts.extend((1..threads).map(|share| {
            let pivot = longest.piece(longest.start + size * share / threads);
            runs.iter().map(|rows| rows.find(|piece| piece < pivot)).collect()
        }));
    }
    cuts.push(stops);
    let parts = map_items(cuts.len() - 1, threads, stop, |parts| {
        parts.for_each_item(|part| sum_rows(runs, (&cuts[part], &cuts[part + 1]), stop));
    })?;
    let mut sums = Arena::default();
    sums.reserve(parts.iter().map(Arena::len).sum(), parts.iter().map(|part| part.bytes.len()).sum());
    parts.iter().flat_map(Arena::iter).for_each(|(piece, tally)| sums.push(piece, tally));
    Ok((sums, cuts.pop().unwrap_or_default()))
}

/// The sums of the rows between two places of each run.
fn sum_rows(runs: &[CountRows<'_>], (starts, ends): (&[usize], &[usize]), stop: &Stop) -> Result<Arena> {
    let (mut all, mut sums) = (Arena::default(), Arena::default());
    for (rows, (&start, &end)) in runs.iter().zip(starts.iter().zip(ends)) {
        (start..end).for_each(|row| all.push(rows.piece(row), rows.tally(row)));
    }
    for number in all.byte_order() {
        stop.check()?;
        let (piece, tally) = (all.piece(number as usize), all.tallies[number as usize]);
        match sums.len().checked_sub(1).filter(|&last| sums.piece(last) == piece) {
            Some(last) => sums.tallies[last] = sums.tallies[last].checked_add(tally)?,
            None => sums.push(piece, tally),
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::drawn::Draw;

    /// Sorted pieces of some runs; `firsts` has the documents and bytes of each run.
    fn draw_runs(draw: &mut Draw, sizes: &[usize]) -> Vec<BTreeMap<Vec<u8>, Tally>> {
        let row = |draw: &mut Draw| {
            let piece = (0..=draw.below(9)).map(|_| draw.below(4) as u8).collect();
            let first = (draw.below(5) as u64, draw.below(5) as u64);
            (piece, Tally { count: 1 + draw.below(9) as u64, first })
        };
        sizes.iter().map(|&size| (0..size).map(|_| row(draw)).collect()).collect()
    }

    #[test]
    fn rows_merged_in_parts_equal_a_sum_of_all() {
        let mut draw = Draw(3);
        for sizes in [&[900, 0, 3, 60_000, 1][..], &[5, 5], &[1], &[], &[0, 0]] {
            let runs = draw_runs(&mut draw, sizes);
            let mut expected = BTreeMap::<&[u8], Tally>::new();
            for (piece, &tally) in runs.iter().flatten() {
                let known = expected.entry(piece).or_insert(Tally { count: 0, first: tally.first });
                *known = known.checked_add(tally).unwrap();
            }
            let arenas: Vec<_> = runs
                .iter()
                .map(|run| {
                    let mut arena = Arena::default();
                    for (piece, &tally) in run {
                        arena.push(piece, tally);
                    }
                    arena
                })
                .collect();
            let columns: Vec<[Vec<u64>; 3]> = arenas
                .iter()
                .map(|arena| {
                    let column = |of: fn(&Tally) -> u64| arena.tallies.iter().map(of).collect();
                    [column(|tally| tally.count), column(|tally| tally.first.0), column(|tally| tally.first.1)]
                })
                .collect();
            for (threads, step) in [(1, 7), (2, 1 << 14), (7, usize::MAX), (3, 5000)] {
                let (mut places, mut found) = (vec![0; runs.len()], Vec::new());
                loop {
                    // Each run has read some rows further than it is merged.
                    let open: Vec<_> = (0..runs.len()).filter(|&run| places[run] < arenas[run].len()).collect();
                    if open.is_empty() {
                        break;
                    }
                    let read = open.iter().map(|&run| {
                        let ([counts, documents, bytes], arena) = (&columns[run], &arenas[run]);
                        let end = arena.len().min(places[run].saturating_add(step));
                        let (counts, documents, bytes) = (&counts[..end], &documents[..end], &bytes[..end]);
                        let firsts = Some((documents, bytes));
                        CountRows { bytes: &arena.bytes, ends: &arena.ends[..end], counts, firsts, start: places[run] }
                    });
                    let (sums, merged) = merge_rows(&read.collect::<Vec<_>>(), threads, &Stop::default()).unwrap();
                    found.extend(sums.iter().map(|(piece, tally)| (piece.to_vec(), tally)));
                    open.into_iter().zip(merged).for_each(|(run, place)| places[run] = place);
                }
                assert!(found.iter().map(|(piece, tally)| (&piece[..], *tally)).eq(expected.clone()), "{sizes:?}");
            }
        }
    }

    #[test]
    fn a_row_out_of_order_or_without_a_count_is_named() {
        let check = |ends: &[u64], counts: &[u64], before: &[u8]| {
            CountRows { bytes: b"abab", ends, counts, firsts: None, start: 0 }.check(before, 6, &Stop::default())
        };
        assert_eq!(check(&[1, 2, 4], &[1, 1, 1], b"").unwrap_err().to_string().split(':').next(), Some("row 9"));
        for (ends, counts, before) in [(&[1, 2], &[1, 0], &b""[..]), (&[1, 1], &[1, 1], b""), (&[2, 4], &[1, 1], b"a")]
        {
            assert!(check(ends, counts, before).unwrap_err().to_string().starts_with("row 8: "));
        }
        assert!(check(&[1, 2], &[1, 1], b"a").unwrap_err().to_string().starts_with("row 7: "));
        assert_eq!(check(&[1, 2], &[1, 1], b""), Ok(()));
    }

    #[test]
    fn a_sum_of_64_bits_is_refused() {
        let rows = CountRows { bytes: b"a", ends: &[1], counts: &[1 << 63], firsts: None, start: 0 };
        assert!(matches!(merge_rows(&[rows, rows], 2, &Stop::default()), Err(Error::Option { .. })));
    }
}
