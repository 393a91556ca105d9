//! Sorts the pieces of a table by first position, on several threads.
//!
//! Each thread has a range of positions: it finds the pieces that occur there first, sorts them, and copies them. A
//! sample of the slots sets the ranges, so that each has about as many pieces.

use std::sync::Mutex;

use crate::count::arena::{Arena, ArenaRoom};
use crate::count::tally::{FAR, Tally, TallyTable, pack_position};
use crate::error::Result;
use crate::simd::prefetch;
use crate::threads::parallel::{Stop, lock, map_items};

/// Tables of fewer pieces are sorted by one thread.
const ALONE: usize = 1 << 14;
/// One slot in this many is sampled for the ranges.
const SAMPLE: usize = 1 << 6;
/// The slots prefetched ahead: in the order of positions, each is elsewhere in memory.
const AHEAD: usize = 32;

/// Returns the pieces that occur at least `min_count` times, in order.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn sort_pieces(table: &TallyTable, min_count: u64, threads: usize, stop: &Stop) -> Result<Arena> {
    let pieces = TablePieces::new(table);
    let threads = if table.unique() < ALONE { 1 } else { threads };
    // One word sorts faster than two.
    if pieces.fit_words() {
        pieces.sort(|first| pack_position(first).unwrap_or(FAR), min_count, threads, stop)
    } else {
        pieces.sort(|first| first, min_count, threads, stop)
    }
}

/// The pieces of a table with a number each: that of the slot, and the numbers after these for long pieces.
struct TablePieces<'t> {
    table: &'t TallyTable,
    longs: Vec<(&'t [u8], Tally)>,
}

/// A piece: its first position, its number, and its length in bytes (0 for a long one).
struct PiecePlace<F> {
    first: F,
    number: u32,
    len: u32,
}

impl<'t> TablePieces<'t> {
    fn new(table: &'t TallyTable) -> Self {
        Self { table, longs: table.long.entries().map(|(piece, &tally)| (piece, tally)).collect() }
    }

    /// The number of the first long piece.
    fn slot_count(&self) -> usize {
        self.table.short.len() + self.table.wide.len()
    }

    fn len<F>(&self, place: &PiecePlace<F>) -> usize {
        if place.len > 0 { place.len as usize } else { self.longs[place.number as usize - self.slot_count()].0.len() }
    }

    /// Whether each position fits one word.
    fn fit_words(&self) -> bool {
        self.table.far.is_empty() && self.longs.iter().all(|(_, tally)| pack_position(tally.first).is_some())
    }

    /// Number, length and tally of the pieces in every `step`-th slot.
    fn sampled_pieces(&self, step: usize) -> impl Iterator<Item = (usize, u8, Tally)> {
        let TallyTable { short, wide, far, .. } = self.table;
        let wide = wide.used_slots(step, far).map(|(at, len, tally)| (short.len() + at, len, tally));
        short.used_slots(step, far).chain(wide)
    }

    /// The same for all pieces; the length of a long one is 0.
    fn all_pieces(&self) -> impl Iterator<Item = (usize, u8, Tally)> {
        let longs = self.longs.iter().zip(self.slot_count()..).map(|((_, tally), number)| (number, 0, *tally));
        self.sampled_pieces(1).chain(longs)
    }

    /// All pieces in order; `key` turns a position into the value to compare.
    fn sort<F: Ord + Copy + Send + Sync>(
        &self,
        key: impl Fn((u64, u64)) -> F + Sync,
        min_count: u64,
        threads: usize,
        stop: &Stop,
    ) -> Result<Arena> {
        let bounds = self.bounds(&key, threads);
        let count = bounds.len() + 1;
        let parts = map_items(count, threads, stop, |parts| {
            parts.for_each_item(|part| {
                let (from, to) = (part.checked_sub(1).map(|last| bounds[last]), bounds.get(part));
                let inside = |first| from.is_none_or(|from| from <= first) && to.is_none_or(|&to| first < to);
                let mut places = Vec::with_capacity(self.table.unique() / count);
                self.all_pieces().for_each(|(number, len, tally)| {
                    let first = key(tally.first);
                    if tally.count >= min_count && inside(first) {
                        places.push(PiecePlace { first, number: number as u32, len: len.into() });
                    }
                });
                places.sort_unstable_by_key(|place| place.first);
                Ok(places)
            });
        })?;
        self.copy_parts(&parts, threads, stop)
    }

    /// The ends of all ranges except the last.
    fn bounds<F: Ord + Copy>(&self, key: impl Fn((u64, u64)) -> F, ranges: usize) -> Vec<F> {
        let mut sample: Vec<F> = self.sampled_pieces(SAMPLE).map(|(_, _, tally)| key(tally.first)).collect();
        sample.sort_unstable();
        (1..ranges).filter_map(|range| sample.get(sample.len() * range / ranges).copied()).collect()
    }

    fn copy_parts<F: Sync>(&self, parts: &[Vec<PiecePlace<F>>], threads: usize, stop: &Stop) -> Result<Arena> {
        let size = |part: &Vec<PiecePlace<F>>| (part.len(), part.iter().map(|place| self.len(place)).sum());
        let sizes: Vec<_> = parts.iter().map(size).collect();
        let mut arena = Arena::with_room(&sizes);
        let rooms: Vec<_> = arena.rooms(&sizes).into_iter().map(Mutex::new).collect();
        map_items(parts.len(), threads, stop, |items| {
            items.for_each_item(|part| {
                let (places, room) = (&parts[part], &mut *lock(&rooms[part]));
                for (at, place) in places.iter().enumerate() {
                    if let Some(next) = places.get(at + AHEAD) {
                        self.prefetch_piece(next.number as usize);
                    }
                    self.copy(place.number as usize, room);
                }
                Ok(())
            });
        })?;
        drop(rooms);
        Ok(arena)
    }

    fn prefetch_piece(&self, number: usize) {
        let TallyTable { short, wide, .. } = self.table;
        if number < short.len() {
            prefetch(short.slot(number));
        } else if number < self.slot_count() {
            prefetch(wide.slot(number - short.len()));
        }
    }

    fn copy(&self, number: usize, room: &mut ArenaRoom<'_>) {
        let TallyTable { short, wide, far, .. } = self.table;
        let mut push = |piece: &[u8], tally| room.push(piece, tally);
        if number < short.len() {
            short.with_piece(number, far, &mut push);
        } else if number < self.slot_count() {
            wide.with_piece(number - short.len(), far, &mut push);
        } else {
            let (piece, tally) = self.longs[number - self.slot_count()];
            push(piece, tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;
    use crate::slots::key::{Seeds, Window};

    /// A table of `pieces` pieces, most of about `length` bytes, at drawn positions before `documents`.
    fn draw_table(pieces: usize, length: usize, documents: u64) -> TallyTable {
        let (mut draw, mut table) = (Draw(5), TallyTable::new(Seeds::default()));
        for piece in 0..pieces {
            let piece = format!("{piece:0$}", draw.below(length) + 1);
            let count = 1 + draw.below(3) as u64;
            let first = (
                documents - 1 - draw.below(pieces) as u64,
                draw.below(1000) as u64 * pieces as u64 + table.unique() as u64,
            );
            table.add(&Window::new(piece.as_bytes()), 0, piece.len(), Tally { count, first }).unwrap();
        }
        table
    }

    #[test]
    fn sorting_on_threads_equals_sorting_the_whole_table() {
        for (length, documents) in [(12, 1 << 20), (60, 1 << 20), (60, u64::MAX)] {
            let table = draw_table(3 * ALONE, length, documents);
            for min_count in [1, 2, 4] {
                let mut expected = Arena::default();
                for (piece, tally) in
                    Arena::from_table(&table).sort_by_position().iter().filter(|(_, tally)| tally.count >= min_count)
                {
                    expected.push(piece, tally);
                }
                for threads in [1, 2, 3, 7] {
                    assert!(sort_pieces(&table, min_count, threads, &Stop::default()).unwrap() == expected);
                }
            }
        }
    }

    #[test]
    fn a_table_of_only_long_pieces_is_sorted() {
        let mut table = TallyTable::new(Seeds::default());
        for piece in 0..=ALONE {
            let piece = format!("{piece:040}");
            table
                .add(&Window::new(piece.as_bytes()), 0, 40, Tally { count: 1, first: (table.unique() as u64, 0) })
                .unwrap();
        }
        let pieces = sort_pieces(&table, 1, 3, &Stop::default()).unwrap();
        assert_eq!((pieces.len(), pieces.piece(ALONE)), (ALONE + 1, format!("{ALONE:040}").as_bytes()));
        assert!(sort_pieces(&TallyTable::new(Seeds::default()), 1, 3, &Stop::default()).unwrap().is_empty());
    }
}
