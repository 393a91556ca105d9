//! Decides which pairs can merge: by count, token length, and cut characters.

use std::sync::Arc;

use hashbrown::HashSet;

use super::options::{NO_ID, TrainOptions};
use super::watch::Watch;
use crate::kinds::bpe::{MergeScratch, Merger};
use crate::threads::parallel::Stop;
use crate::vocab::{MergeRule, Vocab};

/// The longest token, whatever the options: a wide cell has 31 bits for the length of a symbol.
const LONGEST: u32 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenShape {
    /// Whole characters.
    Whole,
    /// The beginning of one character.
    Begun,
    /// Any other bytes.
    Other,
}

pub struct TrainRules {
    min_count: u64,
    longest: u32,
    whole_characters: bool,
    lengths: Vec<u32>,
    /// By id; empty if only the length of tokens matters.
    tokens: Vec<(TokenShape, Vec<u8>)>,
    base: Option<Arc<Vocab>>,
    /// The bytes that must not become a token, because encoding could make more of them than training did.
    parts: HashSet<Vec<u8>>,
}

impl TrainRules {
    /// The rules of a training; None if the caller requests a stop.
    pub fn new(options: &TrainOptions, watch: &mut Watch<'_>) -> Option<Self> {
        let most = options.next_id as usize;
        let bytes_matter = options.whole_characters || options.base.is_some();
        let mut tokens = vec![(TokenShape::Other, Vec::new()); if bytes_matter { most } else { 0 }];
        let mut lengths = vec![1; most];
        for (token, id) in options.base.iter().flat_map(|vocab| vocab.tokens()) {
            lengths[id as usize] = token.len() as u32;
            tokens[id as usize] = (shape_of(token), token.to_vec());
        }
        for (byte, &id) in (0..=u8::MAX).zip(&options.alphabet).filter(|(_, id)| **id != NO_ID) {
            if let Some(token) = tokens.get_mut(id as usize) {
                *token = (shape_of(&[byte]), vec![byte]);
            }
        }
        let parts = options.base.as_ref().map_or(Some(HashSet::new()), |vocab| parts_of_unreachable(vocab, watch))?;
        Some(Self {
            min_count: options.min_count.max(1),
            longest: options.max_token_bytes.unwrap_or(LONGEST).min(LONGEST),
            whole_characters: options.whole_characters,
            lengths,
            tokens,
            base: options.base.clone(),
            parts,
        })
    }

    pub fn record_token(&mut self, left: u32, right: u32, id: u32) {
        let length = self.length(left, right).min(LONGEST);
        set(&mut self.lengths, id, length);
        if !self.tokens.is_empty() {
            let joined = self.join_bytes(left, right);
            set(&mut self.tokens, id, (shape_of(&joined), joined));
        }
    }

    pub fn allows(&self, (left, right): (u32, u32), count: u64) -> bool {
        count >= self.min_count
            && self.length(left, right) <= self.longest
            && (!self.whole_characters || self.keeps_characters(left, right))
            && self.base.as_ref().is_none_or(|base| {
                let joined = self.join_bytes(left, right);
                base.id(&joined).is_none() && !self.parts.contains(&joined)
            })
    }

    fn length(&self, left: u32, right: u32) -> u32 {
        self.lengths[left as usize] + self.lengths[right as usize]
    }

    /// Whether both are whole characters, or parts of one character that is completed from left to right.
    fn keeps_characters(&self, left: u32, right: u32) -> bool {
        match (self.tokens[left as usize].0, self.tokens[right as usize].0) {
            (TokenShape::Whole, TokenShape::Whole) => true,
            (TokenShape::Begun, TokenShape::Other) => {
                self.length(left, right) <= 4 && shape_of(&self.join_bytes(left, right)) != TokenShape::Other
            }
            _ => false,
        }
    }

    fn join_bytes(&self, left: u32, right: u32) -> Vec<u8> {
        [&self.tokens[left as usize].1[..], &self.tokens[right as usize].1].concat()
    }
}

fn set<T: Clone>(values: &mut Vec<T>, id: u32, value: T) {
    let place = id as usize;
    if place >= values.len() {
        values.resize(place + 1, value);
    } else {
        values[place] = value;
    }
}

fn shape_of(bytes: &[u8]) -> TokenShape {
    match std::str::from_utf8(bytes) {
        Ok(_) => TokenShape::Whole,
        Err(problem) if problem.error_len().is_none() && problem.valid_up_to() == 0 => TokenShape::Begun,
        Err(_) => TokenShape::Other,
    }
}

/// The beginnings and ends of tokens that merging never makes. If one of them became a token, and the joined bytes of
/// any two neighbours decide, merging would make the tokens. None if the caller requests a stop.
fn parts_of_unreachable(vocab: &Arc<Vocab>, watch: &mut Watch<'_>) -> Option<HashSet<Vec<u8>>> {
    let mut parts = HashSet::new();
    if vocab.merge_rule() == MergeRule::Pair {
        return Some(parts);
    }
    let (merger, mut scratch) = (Merger::new(Arc::clone(vocab), None), MergeScratch::default());
    for (token, id) in vocab.tokens() {
        watch.should_continue()?;
        let outcome = merger.merge(token, &Stop::default(), &mut scratch);
        if outcome.is_err() || scratch.symbols.ids != [id] {
            parts.extend((1..token.len()).flat_map(|at| [token[..at].to_vec(), token[at..].to_vec()]));
        }
    }
    Some(parts)
}
