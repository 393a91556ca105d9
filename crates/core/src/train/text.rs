//! The distinct pieces as one array of cells.
//!
//! A symbol takes as many cells as it has bytes. Its first cell holds its id; if it takes more than one, its second and
//! its last hold its length, marked by [`CellWidth::LONG`]. So both neighbours of a symbol are found in one step, and
//! merging needs no other memory.

use super::cell::CellWidth;
use super::options::{NO_ID, TrainOptions};
use super::watch::{PLACES_PER_LOOK, Watch};
use crate::count::PieceCounts;
use crate::count::arena::Arena;
use crate::error::{Error, Result};
use crate::kinds::{PieceEncoder, PieceScratch};
use crate::simd::prefetch;
use crate::threads::parallel::Stop;

/// The longest array of cells, so that places are u32.
const MOST_CELLS: usize = (u32::MAX - 16) as usize;

pub struct TrainText<C> {
    cells: Vec<C>,
    weights: Weights,
    /// The number of symbols, each times the count of its piece.
    pub symbols: u64,
}

/// The cells of a block, which share the data about their pieces.
const BLOCK: usize = 8;

/// The count of the piece at a cell.
enum Weights {
    /// One count for all.
    Same(u64),
    /// The number of separators before each block of cells, and the count of each piece: the separators before a cell
    /// number its piece, from 1 on.
    Each(Vec<u32>, Vec<u64>),
}

impl<C: CellWidth> TrainText<C> {
    /// Lays out the text of counted pieces.
    ///
    /// # Errors
    /// As [`super::train`]; [`Error::Interrupted`] if the caller requests a stop.
    pub fn new(counts: &PieceCounts, options: &TrainOptions, watch: &mut Watch<'_>) -> Result<Self> {
        let pieces = counts.arena();
        let places = 1 + pieces.bytes.len() + pieces.len();
        if places > MOST_CELLS {
            return Err(Error::Option {
                argument: "corpus",
                value: format!("{places} bytes of distinct pieces"),
                allowed: format!("at most {MOST_CELLS}; use a pattern, or fewer documents"),
            });
        }
        let room = places.next_multiple_of(BLOCK);
        let mut text = Self { cells: Vec::with_capacity(room), weights: Weights::new(pieces, room), symbols: 0 };
        text.cells.push(C::new(C::SEPARATOR));
        let mut base =
            options.base.clone().map(|vocab| (PieceEncoder::plain(vocab), PieceScratch::default(), Vec::new()));
        let mut next_look = 0;
        for (piece, tally) in pieces.iter() {
            if text.cells.len() >= next_look {
                next_look = text.cells.len() + PLACES_PER_LOOK;
                watch.should_continue().ok_or(Error::Interrupted)?;
            }
            let symbols = if let Some((pieces, scratch, ids)) = &mut base {
                ids.clear();
                pieces.encode(piece, &Stop::default(), scratch, ids)?;
                for &id in &*ids {
                    text.push_symbol(id, pieces.vocab().token(id).map_or(1, <[u8]>::len));
                }
                ids.len()
            } else {
                let strange = |byte: &u8| options.alphabet[usize::from(*byte)] == NO_ID;
                if let Some(inside) = piece.iter().position(strange) {
                    let content = first_character(&piece[inside..]).to_vec();
                    return Err(Error::NotInVocabulary { content, offset: tally.first.1 as usize + inside });
                }
                text.cells.extend(piece.iter().map(|&byte| C::new(options.alphabet[usize::from(byte)])));
                piece.len()
            };
            text.cells.push(C::new(C::SEPARATOR));
            // Checked at construction: the bytes of all pieces, each times its count, fit in 64 bits.
            text.symbols += symbols as u64 * tally.count;
        }
        text.cells.resize(room, C::new(C::SEPARATOR));
        Ok(text)
    }

    fn push_symbol(&mut self, id: u32, bytes: usize) {
        let at = self.cells.len();
        self.cells.push(C::new(id));
        self.cells.resize(at + bytes, C::mark(bytes));
        self.write_length(at, at + bytes);
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The id of the symbol that starts at a cell, or [`CellWidth::SEPARATOR`].
    pub fn id(&self, at: usize) -> u32 {
        self.cells[at].into()
    }

    /// The start of the symbol after the one at `at`.
    pub fn after(&self, at: usize) -> usize {
        let next = self.id(at + 1);
        if next & C::LONG == 0 { at + 1 } else { at + self.length(next, |place| at + place) }
    }

    /// The start of the symbol before the one at `at`.
    pub fn before(&self, at: usize) -> usize {
        let last = self.id(at - 1);
        if last & C::LONG == 0 { at - 1 } else { at - self.length(last, |place| at - place) }
    }

    /// The length of a mark and the digits next to it.
    fn length(&self, mark: u32, place: impl Fn(usize) -> usize) -> usize {
        let length = (mark & !C::LONG) as usize;
        if length < C::MOST { length } else { self.read_length([4, 3, 2].map(place)) }
    }

    #[cold]
    fn read_length(&self, digits: [usize; 3]) -> usize {
        C::from_digits(digits.map(|at| self.cells[at]))
    }

    /// Writes the digits of a length that does not fit a mark.
    fn write_length(&mut self, at: usize, end: usize) {
        let mut length = end - at;
        if length >= C::MOST {
            for place in 2..5 {
                let (digit, left) = C::digit(length);
                (self.cells[at + place], self.cells[end - place]) = (digit, digit);
                length = left;
            }
        }
    }

    /// The count of the piece at a cell.
    pub fn weight(&self, at: usize) -> u64 {
        match &self.weights {
            Weights::Same(count) => *count,
            Weights::Each(before, counts) => {
                let (block, inside) = (at / BLOCK, at % BLOCK);
                let cells = self.cells[block * BLOCK..].first_chunk::<BLOCK>();
                let ends = |(lane, &cell): (usize, &C)| u32::from(cell.into() == C::SEPARATOR && lane < inside);
                let ended: u32 = cells.map_or(0, |cells| cells.iter().enumerate().map(ends).sum());
                counts[(before[block] + ended) as usize - 1]
            }
        }
    }

    /// Prefetches the cells that `holds_pair` and `weight` read.
    pub fn prefetch(&self, at: usize) {
        prefetch(&self.cells[at]);
        if let Weights::Each(before, _) = &self.weights {
            prefetch(&before[at / BLOCK]);
        }
    }

    pub fn holds_pair(&self, key: (u32, u32), at: usize) -> bool {
        self.id(at) == key.0 && self.id(self.after(at)) == key.1
    }

    /// Whether any two neighbours in a piece satisfy `fits`.
    pub fn any_pair(&self, fits: impl Fn((u32, u32)) -> bool) -> bool {
        let mut at = 1;
        while at + 1 < self.cells.len() {
            let key = (self.id(at), self.id(self.after(at)));
            if key.0 != C::SEPARATOR && key.1 != C::SEPARATOR && fits(key) {
                return true;
            }
            at = self.after(at);
        }
        false
    }

    /// Copies the symbols of this text's `pieces` from a text of more pieces. Returns the new number of symbols, or
    /// None if the other text lacks a piece.
    pub fn copy_symbols(
        &mut self,
        pieces: &Arena,
        from: &Self,
        place_in: impl Fn(&[u8]) -> Option<usize>,
    ) -> Option<u64> {
        let (mut at, mut left) = (1, 0);
        for (piece, tally) in pieces.iter() {
            let place = place_in(piece)?;
            let end = at + piece.len();
            self.cells[at..end].copy_from_slice(&from.cells[place..place + piece.len()]);
            while at < end {
                left += tally.count;
                at = self.after(at);
            }
            at += 1;
        }
        Some(left)
    }

    /// Joins the symbols at `at` and at `right`, which ends before `end`.
    pub fn join(&mut self, at: usize, right: usize, end: usize, id: u32) {
        let length = C::mark(end - at);
        self.cells[at] = C::new(id);
        // No cell inside a symbol must look like the start of one.
        self.cells[right] = length;
        self.cells[at + 1] = length;
        self.cells[end - 1] = length;
        self.write_length(at, end);
    }
}

impl Weights {
    fn new(pieces: &Arena, room: usize) -> Self {
        let first = pieces.tallies.first().map_or(1, |tally| tally.count);
        if pieces.tallies.iter().all(|tally| tally.count == first) {
            return Self::Same(first);
        }
        let mut before = Vec::with_capacity(room / BLOCK);
        before.push(0);
        for (number, &end) in (1..).zip(&pieces.ends) {
            // The place of the separator after the piece: after all bytes and all other separators until then.
            let separator = end as usize + number as usize;
            before.resize(before.len().max(separator / BLOCK + 1), number);
        }
        before.resize(room / BLOCK, pieces.len() as u32);
        Self::Each(before, pieces.tallies.iter().map(|tally| tally.count).collect())
    }
}

fn first_character(bytes: &[u8]) -> &[u8] {
    let chunk = bytes.utf8_chunks().next();
    chunk.map_or(bytes, |chunk| match chunk.valid().chars().next() {
        Some(character) => &bytes[..character.len_utf8()],
        None => chunk.invalid(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over symbols of these lengths between two separators, in both directions.
    fn check_walk<C: CellWidth>(lengths: &[usize]) {
        let separator = || C::new(C::SEPARATOR);
        let mut text = TrainText { cells: vec![separator()], weights: Weights::Same(1), symbols: 0 };
        for (id, &length) in (7..).zip(lengths) {
            text.push_symbol(id, length);
        }
        text.cells.push(separator());
        let (mut at, end) = (1, text.len() - 1);
        let mut places = Vec::new();
        while at < end {
            places.push(at);
            at = text.after(at);
        }
        let starts = lengths.iter().scan(1, |at, length| Some(std::mem::replace(at, *at + length)));
        assert!(starts.eq(places.iter().copied()), "forwards");
        for &place in places.iter().rev() {
            at = text.before(at);
            assert_eq!(at, place, "backwards");
        }
        assert_eq!(text.id(at), 7);
        assert_eq!(text.before(at), 0, "a separator is one cell");
        let separators = text.cells.iter().filter(|&&cell| cell.into() == C::SEPARATOR).count();
        assert_eq!(separators, 2, "no cell of a symbol looks like a separator");
    }

    #[test]
    fn both_neighbours_are_found_whatever_the_length() {
        let (most, digit) = (u16::MOST, 1 << u16::DIGIT);
        let lengths = [1, 2, 3, 4, 5, most - 1, 1, most, most + 1, 2, 2 * digit, 2 * digit + 1, 300 * digit + 1, 1];
        check_walk::<u16>(&lengths);
        check_walk::<u32>(&lengths);
    }
}
