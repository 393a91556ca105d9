//! A table to pieces in the order of their first positions, on several threads.
//!
//! Each thread has a range of positions: it finds the pieces that occur there first, sorts them, and copies them. Some of
//! the slots tell where the ranges end, so that each has about as many pieces.

use std::sync::Mutex;

use crate::count::arena::{Arena, ArenaRoom};
use crate::count::tally::{FAR, Tally, TallyTable, in_one_word};
use crate::error::Result;
use crate::simd::prefetch;
use crate::threads::parallel::{Stop, locked, map};

/// Tables of fewer pieces are not worth a second thread.
const ALONE: usize = 1 << 14;
/// One of so many slots tells where ranges end.
const SAMPLE: usize = 1 << 6;
/// How many slots are on their way from memory at a time: in the order of positions each is somewhere else.
const AHEAD: usize = 32;

/// The pieces that occur at least `min_count` times.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn in_order(table: &TallyTable, min_count: u64, threads: usize, stop: &Stop) -> Result<Arena> {
    let pieces = TablePieces::of(table);
    let threads = if table.unique() < ALONE { 1 } else { threads };
    // One word is sorted faster than two.
    if pieces.in_words() {
        pieces.sorted(|first| in_one_word(first).unwrap_or(FAR), min_count, threads, stop)
    } else {
        pieces.sorted(|first| first, min_count, threads, stop)
    }
}

/// The pieces of a table, each with a number: those in slots have that of the slot, and the long ones come last.
struct TablePieces<'t> {
    table: &'t TallyTable,
    longs: Vec<(&'t [u8], Tally)>,
}

/// A piece: its first position, its number, and how many bytes it has; 0 for a long one.
struct Place<F> {
    first: F,
    number: u32,
    len: u32,
}

impl<'t> TablePieces<'t> {
    fn of(table: &'t TallyTable) -> Self {
        Self { table, longs: table.long.each().map(|(piece, &tally)| (piece, tally)).collect() }
    }

    /// The number of the first long piece.
    fn in_slots(&self) -> usize {
        self.table.short.len() + self.table.wide.len()
    }

    /// How many bytes a piece has.
    fn len<F>(&self, place: &Place<F>) -> usize {
        if place.len > 0 { place.len as usize } else { self.longs[place.number as usize - self.in_slots()].0.len() }
    }

    /// Whether each position fits one word.
    fn in_words(&self) -> bool {
        self.table.far.is_empty() && self.longs.iter().all(|(_, tally)| in_one_word(tally.first).is_some())
    }

    /// Number, length and tally of the pieces in every so many slots.
    fn slots(&self, step: usize) -> impl Iterator<Item = (usize, u8, Tally)> {
        let TallyTable { short, wide, far, .. } = self.table;
        let wide = wide.each_slot(step, far).map(|(at, len, tally)| (short.len() + at, len, tally));
        short.each_slot(step, far).chain(wide)
    }

    /// The same of all pieces; the length of a long one is 0.
    fn all(&self) -> impl Iterator<Item = (usize, u8, Tally)> {
        let longs = self.longs.iter().zip(self.in_slots()..).map(|((_, tally), number)| (number, 0, *tally));
        self.slots(1).chain(longs)
    }

    /// All pieces in order; `key` makes of a position what is compared.
    fn sorted<F: Ord + Copy + Send + Sync>(
        &self,
        key: impl Fn((u64, u64)) -> F + Sync,
        min_count: u64,
        threads: usize,
        stop: &Stop,
    ) -> Result<Arena> {
        let bounds = self.bounds(&key, threads);
        let count = bounds.len() + 1;
        let parts = map(count, threads, stop, |parts| {
            parts.each_item(|part| {
                let (from, to) = (part.checked_sub(1).map(|last| bounds[last]), bounds.get(part));
                let inside = |first| from.is_none_or(|from| from <= first) && to.is_none_or(|&to| first < to);
                let mut places = Vec::with_capacity(self.table.unique() / count);
                self.all().for_each(|(number, len, tally)| {
                    let first = key(tally.first);
                    if tally.count >= min_count && inside(first) {
                        places.push(Place { first, number: number as u32, len: len.into() });
                    }
                });
                places.sort_unstable_by_key(|place| place.first);
                Ok(places)
            });
        })?;
        self.copied(&parts, threads, stop)
    }

    /// Where all ranges but the last end.
    fn bounds<F: Ord + Copy>(&self, key: impl Fn((u64, u64)) -> F, ranges: usize) -> Vec<F> {
        let mut some: Vec<F> = self.slots(SAMPLE).map(|(_, _, tally)| key(tally.first)).collect();
        some.sort_unstable();
        (1..ranges).filter_map(|range| some.get(some.len() * range / ranges).copied()).collect()
    }

    /// The pieces of all parts, one part after another.
    fn copied<F: Sync>(&self, parts: &[Vec<Place<F>>], threads: usize, stop: &Stop) -> Result<Arena> {
        let size = |part: &Vec<Place<F>>| (part.len(), part.iter().map(|place| self.len(place)).sum());
        let sizes: Vec<_> = parts.iter().map(size).collect();
        let mut arena = Arena::zeros(&sizes);
        let rooms: Vec<_> = arena.rooms(&sizes).into_iter().map(Mutex::new).collect();
        map(parts.len(), threads, stop, |items| {
            items.each_item(|part| {
                let (places, room) = (&parts[part], &mut *locked(&rooms[part]));
                for (at, place) in places.iter().enumerate() {
                    if let Some(next) = places.get(at + AHEAD) {
                        self.ask_for(next.number as usize);
                    }
                    self.copy(place.number as usize, room);
                }
                Ok(())
            });
        })?;
        drop(rooms);
        Ok(arena)
    }

    fn ask_for(&self, number: usize) {
        let TallyTable { short, wide, .. } = self.table;
        if number < short.len() {
            prefetch(short.slot(number));
        } else if number < self.in_slots() {
            prefetch(wide.slot(number - short.len()));
        }
    }

    fn copy(&self, number: usize, room: &mut ArenaRoom<'_>) {
        let TallyTable { short, wide, far, .. } = self.table;
        let mut push = |piece: &[u8], tally| room.push(piece, tally);
        if number < short.len() {
            short.at(number, far, &mut push);
        } else if number < self.in_slots() {
            wide.at(number - short.len(), far, &mut push);
        } else {
            let (piece, tally) = self.longs[number - self.in_slots()];
            push(piece, tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;
    use crate::slots::key::{Seeds, Window};

    /// A table of so many pieces, most of them about this long, at drawn positions before `documents`.
    fn drawn(pieces: usize, length: usize, documents: u64) -> TallyTable {
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
    fn any_number_of_threads_gives_what_sorting_the_whole_table_gives() {
        for (length, documents) in [(12, 1 << 20), (60, 1 << 20), (60, u64::MAX)] {
            let table = drawn(3 * ALONE, length, documents);
            for min_count in [1, 2, 4] {
                let mut expected = Arena::default();
                for (piece, tally) in
                    Arena::of(&table).by_position().iter().filter(|(_, tally)| tally.count >= min_count)
                {
                    expected.push(piece, tally);
                }
                for threads in [1, 2, 3, 7] {
                    assert!(in_order(&table, min_count, threads, &Stop::default()).unwrap() == expected);
                }
            }
        }
    }

    #[test]
    fn no_slot_need_hold_a_piece() {
        let mut table = TallyTable::new(Seeds::default());
        for piece in 0..=ALONE {
            let piece = format!("{piece:040}");
            table
                .add(&Window::new(piece.as_bytes()), 0, 40, Tally { count: 1, first: (table.unique() as u64, 0) })
                .unwrap();
        }
        let pieces = in_order(&table, 1, 3, &Stop::default()).unwrap();
        assert_eq!((pieces.len(), pieces.piece(ALONE)), (ALONE + 1, format!("{ALONE:040}").as_bytes()));
        assert!(in_order(&TallyTable::new(Seeds::default()), 1, 3, &Stop::default()).unwrap().is_empty());
    }
}
