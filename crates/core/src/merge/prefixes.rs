//! The tokens that a text begins with: the longest one, and from each the next shorter one.
//!
//! A tree of prefixes in one hash table: a node is a slot, found by its parent's slot and one byte. The first two bytes
//! are one step. Tokens are put in by length, so that a new node knows the longest token on the way to it.

use std::hash::{BuildHasher, RandomState};

use crate::vocab::Vocab;
use crate::vocab::by_id::ById;

/// No token. No token has this id.
pub const NONE: u32 = EXACT - 1;

/// Marks a node that is a token itself.
const EXACT: u32 = 1 << 30;

/// The most slots, so that a slot and a byte fit one word beside the mark of a first node.
const MOST_SLOTS: usize = 1 << 23;

/// Marks the key of a node that is reached by the first two bytes.
const FIRST: u32 = 1 << 31;

/// A node, or 0 in `key` for none.
#[derive(Debug, Clone, Copy, Default)]
struct PrefixSlot {
    key: u32,
    /// The longest token on the way here, this node included, and [`EXACT`] if it is this node.
    token: u32,
}

/// What is known of a token by its id.
#[derive(Debug, Clone, Copy)]
struct Known {
    shorter: u32,
    len: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Prefixes {
    /// By byte: its token.
    bytes: Box<[u32]>,
    /// By first and second byte: their node's slot + 1, or 0.
    pairs: Box<[u32]>,
    slots: Box<[PrefixSlot]>,
    shift: u32,
    factor: u64,
    known: ById<Known>,
}

impl Prefixes {
    /// The prefixes of a vocabulary's tokens; `None` if they are too many.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Option<Self> {
        let by_length = by_length(vocab);
        let bytes: usize = vocab.tokens().map(|(token, _)| token.len()).sum();
        let mut slots = (bytes / 2).next_power_of_two().max(64);
        while slots <= MOST_SLOTS {
            let mut prefixes = Self::empty(vocab, slots);
            if prefixes.fill(vocab, &by_length) {
                return Some(prefixes);
            }
            slots *= 2;
        }
        None
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let by_bytes = size_of_val(&*self.bytes) + size_of_val(&*self.pairs);
        by_bytes + size_of_val(&*self.slots) + self.known.bytes()
    }

    fn empty(vocab: &Vocab, slots: usize) -> Self {
        Self {
            bytes: vec![NONE; 256].into(),
            pairs: vec![0; 1 << 16].into(),
            slots: vec![PrefixSlot::default(); slots].into(),
            shift: 64 - slots.ilog2(),
            factor: RandomState::new().hash_one(0) | 1,
            known: ById::filled(vocab.ids(), || Known { shorter: NONE, len: 0 }),
        }
    }

    /// Puts all tokens in; false if three quarters of the slots are not enough.
    fn fill(&mut self, vocab: &Vocab, by_length: &[u32]) -> bool {
        let mut room = self.slots.len() / 4 * 3;
        for &id in by_length {
            let Some(token) = vocab.token(id) else { continue };
            let byte = usize::from(token[0]);
            let len = token.len() as u32;
            if len == 1 {
                self.bytes[byte] = id;
                self.learn(id, Known { shorter: NONE, len });
                continue;
            }
            let mut shorter = self.bytes[byte];
            let pair = byte << 8 | usize::from(token[1]);
            let mut node = self.node(FIRST | pair as u32, &mut shorter, &mut room);
            self.pairs[pair] = node as u32 + 1;
            for &byte in &token[2..] {
                node = self.node((node as u32) << 8 | u32::from(byte), &mut shorter, &mut room);
            }
            if room == 0 {
                return false;
            }
            self.slots[node].token = id | EXACT;
            self.learn(id, Known { shorter, len });
        }
        true
    }

    fn learn(&mut self, id: u32, known: Known) {
        if let Some(own) = self.known.get_mut(id) {
            *own = known;
        }
    }

    /// The node with this key, made if need be and if there is room; `longest` is the token of its parent and becomes
    /// its own.
    fn node(&mut self, key: u32, longest: &mut u32, room: &mut usize) -> usize {
        let at = self.at(key);
        let slot = &mut self.slots[at];
        if slot.key != 0 {
            *longest = slot.token & !EXACT;
        } else if *room > 0 {
            *room -= 1;
            *slot = PrefixSlot { key, token: *longest };
        }
        at
    }

    /// The slot of this key, or the free one where it belongs. Nodes of one parent are near each other, so that texts of
    /// few characters touch little memory.
    #[inline]
    fn at(&self, key: u32) -> usize {
        let mask = self.slots.len() - 1;
        let parent = (u64::from(key >> 8).wrapping_mul(self.factor) >> self.shift) as usize;
        let mut at = (parent + (key & 0xFF) as usize) & mask;
        while self.slots[at].key != key && self.slots[at].key != 0 {
            at = (at + 1) & mask;
        }
        at
    }

    /// The longest token that `text` begins with.
    #[inline]
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> u32 {
        let [first, rest @ ..] = text else { return NONE };
        let longest = self.bytes[usize::from(*first)];
        let [second, rest @ ..] = rest else { return longest };
        let Some(mut node) = self.pair(*first, *second) else { return longest };
        let mut longest = self.slots[node].token;
        for &byte in rest {
            let at = self.at((node as u32) << 8 | u32::from(byte));
            let slot = self.slots[at];
            if slot.key == 0 {
                break;
            }
            longest = slot.token;
            node = at;
        }
        longest & !EXACT
    }

    /// The token of these bytes, which are two at least.
    #[inline]
    #[must_use]
    pub fn find(&self, token: &[u8]) -> Option<u32> {
        let [first, second, rest @ ..] = token else { return None };
        let mut node = self.pair(*first, *second)?;
        for &byte in rest {
            let at = self.at((node as u32) << 8 | u32::from(byte));
            if self.slots[at].key == 0 {
                return None;
            }
            node = at;
        }
        let token = self.slots[node].token;
        (token & EXACT != 0).then_some(token & !EXACT)
    }

    /// The node of the first two bytes.
    #[inline]
    fn pair(&self, first: u8, second: u8) -> Option<usize> {
        let node = self.pairs[usize::from(first) << 8 | usize::from(second)];
        (node != 0).then(|| node as usize - 1)
    }

    /// The longest token that the token `id` begins with, other than itself.
    #[inline]
    #[must_use]
    pub fn shorter(&self, id: u32) -> u32 {
        self.known.get(id).map_or(NONE, |known| known.shorter)
    }

    /// The length of the token `id` in bytes.
    #[inline]
    #[must_use]
    pub fn len(&self, id: u32) -> usize {
        self.known.get(id).map_or(0, |known| known.len as usize)
    }
}

/// The ids of all tokens, short ones first.
fn by_length(vocab: &Vocab) -> Vec<u32> {
    let longest = vocab.tokens().map(|(token, _)| token.len()).max().unwrap_or(0);
    let mut starts = vec![0; longest + 2];
    for (token, _) in vocab.tokens() {
        starts[token.len() + 1] += 1;
    }
    for len in 1..starts.len() {
        starts[len] += starts[len - 1];
    }
    let mut ids = vec![0; vocab.len()];
    for (token, id) in vocab.tokens() {
        ids[starts[token.len()]] = id;
        starts[token.len()] += 1;
    }
    ids
}
