//! The start, the limits and the choices of training.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::vocab::Vocab;

/// The id of a byte that is not a symbol.
pub const NO_ID: u32 = u32::MAX;
/// The choice among several pairs with the highest count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The pair with the smallest left id, then the smallest right id.
    LowestIds,
    /// The pair that comes first in the current text.
    FirstSeen,
}

/// One merge: left id, right id and the id of the result.
pub type LearnedMerge = (u32, u32, u32);

/// The start, the limits and the choices of training.
#[derive(Debug, Clone)]
pub struct TrainOptions {
    /// The id of each byte's symbol; [`NO_ID`] for a byte that must not occur.
    pub alphabet: [u32; 256],
    /// A tokenizer to continue. Pieces start as its ids, and a pair whose joined bytes are one of its tokens never
    /// merges. `alphabet` is then ignored.
    pub base: Option<Arc<Vocab>>,
    /// Merges that come first, in this order, whatever their counts and the rules below.
    pub given: Vec<LearnedMerge>,
    /// The id of the first learned merge; above all ids of `alphabet`, `base` and `given`.
    pub next_id: u32,
    /// The most merges to learn.
    pub limit: usize,
    /// The minimum count of a pair that merges; at least 1.
    pub min_count: u64,
    /// The rule for ties.
    pub ties: Ties,
    /// The longest token, in bytes; pairs that would make a longer one never merge.
    pub max_token_bytes: Option<u32>,
    /// Whether a token must not hold a part of a character together with other characters.
    pub whole_characters: bool,
}

impl TrainOptions {
    /// Every byte is the symbol of its value, and training ends only when no pair is left.
    #[must_use]
    pub fn for_bytes() -> Self {
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
    /// [`Error::Option`] for a repeated id, or a part that no earlier merge made.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |argument, value: String, allowed: &str| {
            Err(Error::Option { argument, value, allowed: allowed.to_owned() })
        };
        let mut used = vec![false; self.next_id as usize];
        let first: Vec<u32> = match &self.base {
            Some(vocab) => vocab.tokens().map(|(_, id)| id).collect(),
            None => self.alphabet.iter().copied().filter(|&id| id != NO_ID).collect(),
        };
        for id in first {
            match used.get_mut(id as usize) {
                Some(used) if !*used => *used = true,
                _ => return refuse("alphabet", id.to_string(), "different ids below that of the first merge"),
            }
        }
        for &(left, right, id) in &self.given {
            let exists = |part: u32| used.get(part as usize).is_some_and(|&used| used);
            if !exists(left) || !exists(right) || used.get(id as usize) != Some(&false) {
                let value = format!("({left}, {right}, {id})");
                return refuse("given", value, "merges in the order of training, each of parts made before it");
            }
            used[id as usize] = true;
        }
        Ok(())
    }
}
