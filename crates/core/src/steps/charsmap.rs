//! Rewrites stretches of characters by a table that `SentencePiece` compiles into its models.
//!
//! The table is a trie in a double array of 32-bit units, followed by the replacement texts, each ended by a zero byte.
//! The table is not trusted: a unit that points outside ends the search, and every search ends with the text.

use crate::error::{Error, Result};

/// The longest key, in bytes: the links of a broken trie can form a cycle.
const LONGEST_KEY: usize = 1 << 10;

/// A compiled table of replacements.
#[derive(Debug)]
pub struct Charsmap {
    units: Box<[u32]>,
    texts: Box<[u8]>,
    /// By ASCII byte: whether it stays unchanged before another ASCII byte and at the end.
    plain: [bool; 128],
}

/// The state of a search: the base to which the label of the next byte is applied.
type MapNode = usize;

impl Charsmap {
    /// Reads a compiled blob: the size of the trie in bytes, the trie, the texts.
    ///
    /// # Errors
    /// [`Error::Model`] for a truncated blob.
    pub fn new(blob: &[u8]) -> Result<Self> {
        let broken = || Error::model("the charsmap is broken: its trie does not fit in it", None);
        let (size, rest) = blob.split_first_chunk().ok_or_else(broken)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, texts) = rest.split_at_checked(size).ok_or_else(broken)?;
        let (units, []) = trie.as_chunks::<4>() else { return Err(broken()) };
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let mut map = Self { units, texts: texts.into(), plain: [false; 128] };
        map.plain = std::array::from_fn(|byte| map.is_plain(byte as u8));
        Ok(map)
    }

    /// The longest key that `text` starts with: its length, and its replacement.
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let mut node = self.root()?;
        let mut longest_key = None;
        for (at, &byte) in text.iter().take(LONGEST_KEY).enumerate() {
            let Some((next, value)) = self.step(node, byte) else { break };
            longest_key = value.map_or(longest_key, |value| Some((at + 1, value)));
            node = next;
        }
        longest_key.map(|(len, value)| (len, self.text(value)))
    }

    /// The replacement of the shortest key that `text` starts with. No key continues after a zero byte.
    #[must_use]
    pub fn shortest(&self, text: &[u8]) -> Option<&[u8]> {
        let mut node = self.root()?;
        for &byte in text.iter().take(LONGEST_KEY).take_while(|&&byte| byte != 0) {
            let (next, value) = self.step(node, byte)?;
            if let Some(value) = value {
                return Some(self.text(value));
            }
            node = next;
        }
        None
    }

    /// Whether this byte stays unchanged before an ASCII byte and at the end.
    #[inline]
    #[must_use]
    pub fn keeps(&self, byte: u8) -> bool {
        self.plain.get(usize::from(byte)).is_some_and(|&plain| plain)
    }

    fn is_plain(&self, byte: u8) -> bool {
        let Some((node, value)) = self.root().and_then(|root| self.step(root, byte)) else { return true };
        value.is_none() && (0..128).all(|next| self.step(node, next).is_none())
    }

    fn root(&self) -> Option<MapNode> {
        self.units.first().map(|&unit| offset(unit))
    }

    /// The node after `byte`, and the place of the text if a key ends there.
    #[inline]
    fn step(&self, node: MapNode, byte: u8) -> Option<(MapNode, Option<u32>)> {
        let node = node ^ usize::from(byte);
        let unit = *self.units.get(node)?;
        if unit & (1 << 31 | 0xFF) != u32::from(byte) {
            return None;
        }
        let next = node ^ offset(unit);
        let leaf = (unit >> 8 & 1 == 1).then(|| self.units.get(next)).flatten();
        Some((next, leaf.map(|leaf| leaf & 0x7FFF_FFFF)))
    }

    fn text(&self, place: u32) -> &[u8] {
        let rest = self.texts.get(place as usize..).unwrap_or_default();
        rest.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// The distance from a unit to its children.
#[inline]
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
