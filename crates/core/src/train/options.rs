//! What training starts from, when it stops, and how it chooses.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::vocab::Vocab;

/// The id of a byte that is not a symbol.
pub const NO_ID: u32 = u32::MAX;
/// Which of several pairs with the highest count merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The one with the smallest left id, then the smallest right id.
    LowestIds,
    /// The one that comes first in the text as it is now.
    FirstSeen,
}

/// One merge: left id, right id and the id of the result.
pub type LearnedMerge = (u32, u32, u32);

/// What training starts from, when it stops, and how it chooses.
#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// The id of each byte's symbol; [`NO_ID`] for one that must not occur.
    pub alphabet: [u32; 256],
    /// A tokenizer to go on from. Pieces start as its ids, and a pair whose joined bytes are one of its tokens never merges.
    /// `alphabet` does not matter then.
    pub base: Option<Arc<Vocab>>,
    /// Merges that come first, in this order, whatever their counts and whatever the rules below.
    pub given: Vec<LearnedMerge>,
    /// The id of the first merge that is learned; above all ids of `alphabet`, `base` and `given`.
    pub next_id: u32,
    /// The most merges to learn.
    pub limit: usize,
    /// The least count of a pair that still merges; at least 1.
    pub min_count: u64,
    /// The rule for ties.
    pub ties: Ties,
    /// The longest token, in bytes; pairs that would make a longer one never merge.
    pub max_token_bytes: Option<u32>,
    /// Whether a token may not hold a part of a character together with something else.
    pub whole_characters: bool,
}

impl TrainOptions {
    /// Every byte is the symbol of its own value, and nothing ends training but the end of pairs.
    #[must_use]
    pub fn of_bytes() -> Self {
        Self {
            alphabet: std::array::from_fn(|byte| byte as u32),
            base: None,
            given: Vec::new(),
            next_id: 256,
            limit: usize::MAX,
            min_count: 1,
            ties: Ties::LowestIds,
            max_token_bytes: None,
            whole_characters: false,
        }
    }

    /// # Errors
    /// [`Error::Option`] for an id that is used twice, or a part that no earlier merge made.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |argument, value: String, allowed: &str| {
            Err(Error::Option { argument, value, allowed: allowed.to_owned() })
        };
        let mut known = vec![false; self.next_id as usize];
        let first: Vec<u32> = match &self.base {
            Some(vocab) => vocab.tokens().map(|(_, id)| id).collect(),
            None => self.alphabet.iter().copied().filter(|&id| id != NO_ID).collect(),
        };
        for id in first {
            match known.get_mut(id as usize) {
                Some(known) if !*known => *known = true,
                _ => return refuse("alphabet", id.to_string(), "different ids below that of the first merge"),
            }
        }
        for &(left, right, id) in &self.given {
            let made = |part: u32| known.get(part as usize).is_some_and(|&known| known);
            if !made(left) || !made(right) || known.get(id as usize) != Some(&false) {
                let value = format!("({left}, {right}, {id})");
                return refuse("given", value, "merges in the order of training, each of parts made before it");
            }
            known[id as usize] = true;
        }
        Ok(())
    }
}
