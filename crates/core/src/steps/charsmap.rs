//! A table that rewrites stretches of characters, in the form in which `SentencePiece` compiles it into its models.
//!
//! The table is a trie in a double array of 32-bit units, and the texts that its keys become, each ended by a zero byte.
//! Nothing in it is trusted: a unit that points outside ends the search, and every search ends with the text.

use crate::error::{Error, Result};

/// The longest key, in bytes: the links of a broken trie may lead in a circle.
const LONGEST_KEY: usize = 1 << 10;

/// See the module.
#[derive(Debug)]
pub struct Charsmap {
    units: Box<[u32]>,
    texts: Box<[u8]>,
    /// By ASCII byte: whether it stays what it is wherever another ASCII byte or nothing follows.
    plain: [bool; 128],
}

/// The state of a search: the place from which the labels of the next byte are counted.
type MapNode = usize;

impl Charsmap {
    /// The table of a compiled blob: the size of the trie in bytes, the trie, the texts.
    ///
    /// # Errors
    /// [`Error::Model`] for a blob that is cut off.
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

    /// The longest key that `text` starts with: its length, and what it becomes.
    #[must_use]
    pub fn longest(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let mut node = self.root()?;
        let mut found = None;
        for (at, &byte) in text.iter().take(LONGEST_KEY).enumerate() {
            let Some((next, value)) = self.step(node, byte) else { break };
            found = value.map_or(found, |value| Some((at + 1, value)));
            node = next;
        }
        found.map(|(len, value)| (len, self.text(value)))
    }

    /// What the shortest key that `text` starts with becomes. No key goes past a zero byte.
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

    /// Whether this byte stays what it is wherever an ASCII byte or nothing follows.
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

/// How far from a unit's own place its children are.
#[inline]
fn offset(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
