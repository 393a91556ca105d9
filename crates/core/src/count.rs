//! Documents to piece counts: how often each distinct piece stands in the corpus, and where it stands first.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::parallel::{Stop, map};
use crate::split::{Splitter, Text};

/// How often a piece occurs and where it occurs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Occurrences.
    pub count: u64,
    /// Document and byte of the first one.
    pub first: (u64, u64),
}

type Table = HashMap<Vec<u8>, Tally>;

/// The pieces of a corpus with their counts. The order of documents matters for first positions only.
#[derive(Debug)]
pub struct PieceCounts {
    splitter: Splitter,
    table: Table,
    documents: u64,
    bytes: u64,
}

impl PieceCounts {
    /// No documents yet.
    #[must_use]
    pub fn new(splitter: Splitter) -> Self {
        Self { splitter, table: Table::default(), documents: 0, bytes: 0 }
    }

    /// Adds documents, which come after all documents added before.
    ///
    /// # Errors
    /// [`crate::Error::Pattern`] and [`crate::Error::Interrupted`]; none of these documents is then counted.
    pub fn add(&mut self, documents: &[Text<'_>], threads: usize, stop: &Stop) -> Result<()> {
        let tables = Mutex::new(Vec::new());
        map(documents.len(), threads, |items| {
            let mut table = Table::default();
            items.each(|place| {
                stop.check()?;
                self.count(documents[place], self.documents + place as u64, stop, &mut table)
            });
            tables.lock().unwrap_or_else(PoisonError::into_inner).push(table);
        })?;
        for table in tables.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.merge(table);
        }
        self.documents += documents.len() as u64;
        self.bytes += documents.iter().map(|document| document.as_bytes().len() as u64).sum::<u64>();
        Ok(())
    }

    fn count(&self, document: Text<'_>, number: u64, stop: &Stop, table: &mut Table) -> Result<()> {
        let mut at = 0;
        let mut looked = 0;
        self.splitter.split(document, |piece| {
            let first = (number, at);
            let tally = table.entry_ref(piece).or_insert(Tally { count: 0, first });
            tally.count += 1;
            // Threads take documents out of order, so an earlier document may come later.
            tally.first = tally.first.min(first);
            at += piece.len() as u64;
            if at - looked > 1 << 16 {
                looked = at;
                stop.check()?;
            }
            Ok(())
        })
    }

    fn merge(&mut self, table: Table) {
        if self.table.is_empty() {
            self.table = table;
            return;
        }
        for (piece, new) in table {
            let tally = self.table.entry(piece).or_insert(Tally { count: 0, first: new.first });
            tally.count += new.count;
            tally.first = tally.first.min(new.first);
        }
    }

    /// The pieces and their tallies, by first position.
    #[must_use]
    pub fn in_order(&self) -> Vec<(&[u8], Tally)> {
        let mut pieces: Vec<_> = self.table.iter().map(|(piece, &tally)| (&**piece, tally)).collect();
        pieces.sort_unstable_by_key(|(_, tally)| tally.first);
        pieces
    }

    /// Documents added.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Bytes in them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Distinct pieces.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.table.len()
    }

    /// A digest that depends on the pieces and their counts only, not on the order of documents: the sum of the
    /// counts times the first 16 bytes (little endian) of each piece's SHA-256, modulo 2^128.
    #[must_use]
    pub fn digest(&self) -> u128 {
        self.table.iter().fold(0u128, |sum, (piece, tally)| {
            let hash = Sha256::digest(piece);
            let head = hash.iter().take(16).rev().fold(0u128, |head, &byte| head << 8 | u128::from(byte));
            sum.wrapping_add(head.wrapping_mul(u128::from(tally.count)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_batches_change_nothing() {
        let documents: Vec<String> = (0..500).map(|n| format!("b{} a{} b{}", n % 7, n, n % 3)).collect();
        let mut serial = PieceCounts::new(Splitter::new(&["b+|[0-9]"]).unwrap());
        let documents: Vec<Text<'_>> = documents.iter().map(|text| Text::Str(text)).collect();
        serial.add(&documents, 1, &Stop::default()).unwrap();
        let mut parallel = PieceCounts::new(Splitter::new(&["b+|[0-9]"]).unwrap());
        parallel.add(&documents[..123], 3, &Stop::default()).unwrap();
        parallel.add(&documents[123..], 2, &Stop::default()).unwrap();
        assert_eq!(serial.in_order(), parallel.in_order());
        assert_eq!(serial.digest(), parallel.digest());
        assert_eq!(serial.in_order()[0], (&b"b"[..], Tally { count: 1000, first: (0, 0) }));
    }
}
