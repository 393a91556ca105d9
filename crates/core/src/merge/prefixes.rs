//! The tokens that a text begins with: the longest one, and from each the next shorter one.

use crate::vocab::Vocab;
use crate::vocab::by_id::ById;
use crate::vocab::trie::{ROOT, Trie};

/// No token. No token has this id.
pub const NONE: u32 = u32::MAX;

/// The most nodes of the trie.
const MOST_NODES: usize = 1 << 23;

/// What is known of a token by its id.
#[derive(Debug, Clone, Copy)]
struct Known {
    shorter: u32,
    len: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Prefixes {
    /// The ids of the tokens.
    trie: Trie,
    known: ById<Known>,
}

impl Prefixes {
    /// The prefixes of a vocabulary's tokens; `None` if they are too many.
    #[must_use]
    pub fn new(vocab: &Vocab) -> Option<Self> {
        let mut known = ById::filled(vocab.ids(), || Known { shorter: NONE, len: 0 });
        let trie = Trie::within(MOST_NODES, vocab.tokens().collect(), |token| {
            if let Some(known) = known.get_mut(token.value) {
                *known = Known { shorter: token.shorter.unwrap_or(NONE), len: token.len as u32 };
            }
        })?;
        Some(Self { trie, known })
    }

    /// The memory of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.trie.bytes() + self.known.bytes()
    }

    /// The longest token that `text` begins with.
    #[inline]
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> u32 {
        let (mut node, mut longest) = (ROOT, NONE);
        for &byte in text {
            let Some(next) = self.trie.step(node, byte) else { break };
            node = next;
            longest = self.trie.value(node).unwrap_or(longest);
        }
        longest
    }

    /// The token of these bytes.
    #[inline]
    #[must_use]
    pub fn find(&self, token: &[u8]) -> Option<u32> {
        self.trie.find(token)
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
