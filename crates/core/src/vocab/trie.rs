//! Finds byte strings byte by byte from their beginning: a trie in a double array.
//!
//! A node's child by a byte is at the node's base with that byte's bits flipped, and stores its parent. Bases are in
//! blocks of 256 slots, so that a child is never outside its block. There is only this one trie: users that need other
//! data, for example for each beginning, store it by node.

/// The state of a search. [`ROOT`] is its beginning.
pub type Node = u32;

/// The node of the empty string.
pub const ROOT: Node = 0;

const NOTHING: u32 = u32::MAX;
const BLOCK: usize = 256;
/// The most slots reserved before the needed number is known. Untouched memory costs nothing.
const MOST_SPARE: usize = 1 << 22;
/// The blocks with free slots that are searched for room.
const OPEN: usize = 12;

#[derive(Debug, Clone, Copy)]
struct TrieSlot {
    base: u32,
    parent: u32,
    value: u32,
}

/// A trie of byte strings with values.
#[derive(Debug)]
pub struct Trie {
    slots: Vec<TrieSlot>,
}

impl Trie {
    /// The memory of the slots in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<TrieSlot>()
    }

    /// The limit of node numbers.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.slots.len()
    }

    /// Builds the trie of unique keys, with a value below `u32::MAX` for each.
    #[must_use]
    pub fn new(keys: Vec<(&[u8], u32)>) -> Self {
        let mut keys: Vec<TrieKey<'_>> = keys.into_iter().map(|(bytes, value)| TrieKey::new(bytes, value)).collect();
        keys.sort_unstable();
        let length: usize = keys.iter().map(|key| key.bytes.len()).sum();
        let mut builder = Builder {
            slots: Vec::with_capacity(length.min(MOST_SPARE) + 2 * BLOCK),
            free: Vec::new(),
            open: Vec::new(),
        };
        builder.add_block();
        builder.use_slot(ROOT, NOTHING);
        let mut waiting = vec![KeyRange { node: ROOT, from: 0, to: keys.len(), depth: 0 }];
        let mut labels: Vec<(u8, usize)> = Vec::new();
        while let Some(KeyRange { node, mut from, to, depth }) = waiting.pop() {
            if from < to && keys[from].bytes.len() == depth {
                builder.slots[node as usize].value = keys[from].value;
                from += 1;
            }
            if let [key] = &keys[from..to] {
                let end = builder.add_chain(node, &key.bytes[depth..]);
                builder.slots[end as usize].value = key.value;
                continue;
            }
            labels.clear();
            for (place, key) in keys.iter().enumerate().take(to).skip(from) {
                let label = key.byte(depth);
                if labels.last().is_none_or(|&(last, _)| last != label) {
                    labels.push((label, place));
                }
            }
            if labels.is_empty() {
                continue;
            }
            let base = builder.base_for(&labels);
            builder.slots[node as usize].base = base;
            for (at, &(label, first)) in labels.iter().enumerate() {
                let child = base ^ u32::from(label);
                builder.use_slot(child, node);
                let to = labels.get(at + 1).map_or(to, |next| next.1);
                waiting.push(KeyRange { node: child, from: first, to, depth: depth + 1 });
            }
        }
        builder.slots.shrink_to_fit();
        Self { slots: builder.slots }
    }

    /// The child of a node by a byte.
    #[inline(always)]
    #[must_use]
    pub fn step(&self, node: Node, byte: u8) -> Option<Node> {
        let next = self.slots[node as usize].base ^ u32::from(byte);
        (self.slots[next as usize].parent == node).then_some(next)
    }

    /// The value of the key that ends at a node.
    #[inline(always)]
    #[must_use]
    pub fn value(&self, node: Node) -> Option<u32> {
        let value = self.slots[node as usize].value;
        (value != NOTHING).then_some(value)
    }

    /// The descendant of a node by these bytes.
    #[must_use]
    pub fn walk(&self, from: Node, bytes: &[u8]) -> Option<Node> {
        bytes.iter().try_fold(from, |node, &byte| self.step(node, byte))
    }

    /// The value of a key.
    #[must_use]
    pub fn find(&self, key: &[u8]) -> Option<u32> {
        self.walk(ROOT, key).and_then(|node| self.value(node))
    }
}

/// A key in the order of its bytes. Its head decides most comparisons without a look at the other bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct TrieKey<'k> {
    /// The first eight bytes, padded with zeros.
    head: u64,
    /// All bytes.
    pub bytes: &'k [u8],
    /// The key's value.
    pub value: u32,
}

impl<'k> TrieKey<'k> {
    /// The key of these bytes.
    #[must_use]
    pub fn new(bytes: &'k [u8], value: u32) -> Self {
        let mut head = [0; 8];
        let len = bytes.len().min(8);
        head[..len].copy_from_slice(&bytes[..len]);
        Self { head: u64::from_be_bytes(head), bytes, value }
    }

    #[inline(always)]
    fn byte(&self, place: usize) -> u8 {
        if place < 8 { (self.head >> (56 - 8 * place)) as u8 } else { self.bytes[place] }
    }
}

/// Keys with a common prefix, in a trie being built.
struct KeyRange {
    /// The node of the prefix.
    node: Node,
    /// The first key.
    from: usize,
    /// The key after the last one.
    to: usize,
    /// The bytes of the prefix.
    depth: usize,
}

struct Builder {
    slots: Vec<TrieSlot>,
    /// By block: a bit for each free slot.
    free: Vec<[u64; 4]>,
    /// The blocks that can have room.
    open: Vec<usize>,
}

impl Builder {
    fn add_block(&mut self) {
        if self.open.len() == OPEN {
            self.open.remove(0);
        }
        self.open.push(self.free.len());
        self.free.push([u64::MAX; 4]);
        let empty = TrieSlot { base: 0, parent: NOTHING, value: NOTHING };
        self.slots.resize(self.slots.len() + BLOCK, empty);
    }

    fn use_slot(&mut self, slot: u32, parent: u32) {
        let (block, place) = (slot as usize / BLOCK, slot as usize % BLOCK);
        self.slots[slot as usize].parent = parent;
        let free = &mut self.free[block];
        free[place / 64] &= !(1 << (place % 64));
        if free[place / 64] == 0 && free.iter().all(|&bits| bits == 0) {
            self.open.retain(|&open| open != block);
        }
    }

    /// Adds a chain of nodes for these bytes and returns the last.
    fn add_chain(&mut self, from: Node, bytes: &[u8]) -> Node {
        bytes.iter().fold(from, |node, &byte| {
            let child = self.slot(first_bit);
            self.slots[node as usize].base = child ^ u32::from(byte);
            self.use_slot(child, node);
            child
        })
    }

    fn base_for(&mut self, labels: &[(u8, usize)]) -> u32 {
        self.slot(|free| fitting_base(free, labels))
    }

    /// The slot that `search` finds among the free slots of a block, or the first of a new block.
    #[inline(always)]
    fn slot(&mut self, search: impl Fn(&[u64; 4]) -> Option<usize>) -> u32 {
        let free = self.open.iter().rev().find_map(|&block| Some((block * BLOCK + search(&self.free[block])?) as u32));
        free.unwrap_or_else(|| {
            self.add_block();
            (self.slots.len() - BLOCK) as u32
        })
    }
}

/// The base, relative to the block's beginning, whose slots for all labels are free.
fn fitting_base(free: &[u64; 4], labels: &[(u8, usize)]) -> Option<usize> {
    (0..4).find_map(|word| {
        let bases = labels.iter().fold(u64::MAX, |bases, &(label, _)| {
            if bases == 0 { 0 } else { bases & flip_bits(free[word ^ usize::from(label / 64)], u32::from(label % 64)) }
        });
        (bases != 0).then_some(word * 64 + bases.trailing_zeros() as usize)
    })
}

/// The place of the first bit.
fn first_bit(bits: &[u64; 4]) -> Option<usize> {
    let word = bits.iter().position(|&bits| bits != 0)?;
    Some(word * 64 + bits[word].trailing_zeros() as usize)
}

/// The word whose bit `at` is the bit `at ^ by` of this one.
fn flip_bits(word: u64, by: u32) -> u64 {
    const LOWER: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0F0F_0F0F_0F0F_0F0F,
        0x00FF_00FF_00FF_00FF,
        0x0000_FFFF_0000_FFFF,
        0x0000_0000_FFFF_FFFF,
    ];
    (0..6).filter(|stage| by >> stage & 1 == 1).fold(word, |word, stage| {
        let lower = LOWER[stage];
        (word & lower) << (1 << stage) | word >> (1 << stage) & lower
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    #[test]
    fn only_keys_are_found() {
        let mut draw = Draw(1);
        for size in [0, 1, 3, 50, 3000] {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for _ in 0..size {
                let mut key = Vec::new();
                for _ in 0..=size % 7 {
                    key.push(draw.below(if size == 50 { 2 } else { 256 }) as u8);
                }
                keys.push(key);
            }
            keys.sort();
            keys.dedup();
            let trie = Trie::new(keys.iter().zip(0..).map(|(key, value)| (&key[..], value)).collect());
            for (place, key) in keys.iter().enumerate() {
                assert_eq!(trie.find(key), Some(place as u32));
                let longer = [&key[..], &[7]].concat();
                assert_eq!(trie.find(&longer).is_some(), keys.contains(&longer));
                let shorter = &key[..key.len() - 1];
                assert_eq!(trie.find(shorter).is_some(), keys.iter().any(|key| key == shorter));
            }
        }
    }

    #[test]
    fn flip_bits_moves_each_bit_to_its_flipped_place() {
        let word = 0x0123_4567_89AB_CDEF;
        for by in 0..64 {
            assert!((0..64).all(|at| flip_bits(word, by) >> at & 1 == word >> (at ^ by) & 1));
        }
    }
}
