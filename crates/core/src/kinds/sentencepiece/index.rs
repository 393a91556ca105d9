//! A hash index of character tokens by their bytes.

use crate::vocab::Merge;
use crate::vocab::index::Index;

/// Merges by the bytes of the token that they make.
#[derive(Debug)]
pub struct CharIndex {
    index: Index,
    blob: Vec<u8>,
    /// By place: the end of the token in `blob`.
    ends: Vec<u32>,
    /// By place: the merge.
    merges: Vec<Merge>,
}

impl CharIndex {
    /// An empty index with room for `tokens` tokens.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        Self { index: Index::new(tokens, tokens), blob: Vec::new(), ends: Vec::new(), merges: Vec::new() }
    }

    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let places = self.ends.capacity() * size_of::<u32>() + self.merges.capacity() * size_of::<Merge>();
        self.index.bytes() + self.blob.capacity() + places
    }

    /// Inserts a token, which must be absent.
    pub fn insert(&mut self, token: &[u8], merge: Merge) {
        let place = self.merges.len() as u32;
        self.blob.extend_from_slice(token);
        self.ends.push(self.blob.len() as u32);
        self.merges.push(merge);
        let (blob, ends) = (&self.blob, &self.ends);
        self.index.insert(self.index.sought(token), place, token, |place| token_at(blob, ends, place));
    }

    /// The merge that makes the token with these bytes.
    #[inline]
    #[must_use]
    pub fn find(&self, token: &[u8]) -> Option<Merge> {
        let sought = self.index.sought(token);
        if !self.index.may_have(sought) {
            return None;
        }
        let place = self.index.find(sought, token, |place| token_at(&self.blob, &self.ends, place))?;
        Some(self.merges[place as usize])
    }
}

#[inline]
fn token_at<'a>(blob: &'a [u8], ends: &[u32], place: u32) -> &'a [u8] {
    let start = if place == 0 { 0 } else { ends[place as usize - 1] };
    &blob[start as usize..ends[place as usize] as usize]
}
