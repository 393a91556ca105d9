//! Byte strings found from their beginning on, one byte after the other: a trie in a double array.
//!
//! A node's child by a byte lies at the node's base with that byte's bits flipped, and names its parent. Bases lie in
//! blocks of 256 slots, so that a child never lies outside its block.

/// Where a search stands. [`ROOT`] is its beginning.
pub type Node = u32;

/// The node of the empty string.
pub const ROOT: Node = 0;

const NOTHING: u32 = u32::MAX;
const BLOCK: usize = 256;
/// How many blocks with free slots are looked through for room.
const OPEN: usize = 12;

#[derive(Debug, Clone, Copy)]
struct TrieSlot {
    base: u32,
    parent: u32,
    value: u32,
}

/// See the module.
#[derive(Debug)]
pub struct Trie {
    slots: Vec<TrieSlot>,
}

impl Trie {
    /// The memory of the slots.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<TrieSlot>()
    }

    /// The trie of keys, which must be unique, with a value below `u32::MAX` for each.
    #[must_use]
    pub fn new(mut keys: Vec<(&[u8], u32)>) -> Self {
        keys.sort_unstable();
        let mut builder = Builder { slots: Vec::new(), free: Vec::new(), open: Vec::new() };
        builder.add_block();
        builder.take(ROOT, NOTHING);
        let mut waiting = vec![(ROOT, 0, keys.len(), 0)];
        let mut labels: Vec<(u8, usize)> = Vec::new();
        while let Some((node, mut from, to, depth)) = waiting.pop() {
            if from < to && keys[from].0.len() == depth {
                builder.slots[node as usize].value = keys[from].1;
                from += 1;
            }
            labels.clear();
            for (place, (key, _)) in keys.iter().enumerate().take(to).skip(from) {
                if labels.last().is_none_or(|&(label, _)| label != key[depth]) {
                    labels.push((key[depth], place));
                }
            }
            if labels.is_empty() {
                continue;
            }
            let base = builder.base_for(&labels);
            builder.slots[node as usize].base = base;
            for (at, &(label, first)) in labels.iter().enumerate() {
                let child = base ^ u32::from(label);
                builder.take(child, node);
                waiting.push((child, first, labels.get(at + 1).map_or(to, |next| next.1), depth + 1));
            }
        }
        Self { slots: builder.slots }
    }

    /// The node one byte further on.
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

    /// The node after these bytes.
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

struct Builder {
    slots: Vec<TrieSlot>,
    /// By block: the slots that are free, a bit each.
    free: Vec<[u64; 4]>,
    /// The blocks that may have room.
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

    fn take(&mut self, slot: u32, parent: u32) {
        let (block, place) = (slot as usize / BLOCK, slot as usize % BLOCK);
        self.slots[slot as usize].parent = parent;
        self.free[block][place / 64] &= !(1 << (place % 64));
        if self.free[block] == [0; 4] {
            self.open.retain(|&open| open != block);
        }
    }

    fn base_for(&mut self, labels: &[(u8, usize)]) -> u32 {
        let found = self.open.iter().rev().find_map(|&block| {
            let base = fitting(&self.free[block], labels)?;
            Some((block * BLOCK + base) as u32)
        });
        found.unwrap_or_else(|| {
            self.add_block();
            (self.slots.len() - BLOCK) as u32
        })
    }
}

/// The base, counted from the block's beginning, whose slots for all labels are free.
fn fitting(free: &[u64; 4], labels: &[(u8, usize)]) -> Option<usize> {
    let is_free = |place: usize| free[place / 64] >> (place % 64) & 1 == 1;
    let first = usize::from(labels[0].0);
    (0..BLOCK)
        .filter(|&place| is_free(place))
        .map(|place| place ^ first)
        .find(|&base| labels[1..].iter().all(|&(label, _)| is_free(base ^ usize::from(label))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_and_nothing_else() {
        let mut state = 1u64;
        for size in [0, 1, 3, 50, 3000] {
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for _ in 0..size {
                let mut key = Vec::new();
                for _ in 0..=size % 7 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    key.push((state >> 33) as u8 & if size == 50 { 1 } else { 0xFF });
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
}
