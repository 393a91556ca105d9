//! Finds how much of the end of a text more text could complete to a content.
//!
//! All beginnings of all contents are the nodes of a trie, each with its longest suffix that is another node (Aho and
//! Corasick). One pass over the end of a text suffices for any number of contents with any overlaps.

use crate::vocab::trie::{Node, ROOT, Trie};

/// A beginning of some content.
#[derive(Debug, Clone, Copy, Default)]
struct PrefixNode {
    bytes: u32,
    /// The longest suffix of it that is also a node; for the empty node itself.
    suffix: Node,
    /// Whether a longer content begins with it.
    continues: bool,
}

/// The beginnings of some contents.
#[derive(Debug)]
pub struct PrefixTrie {
    trie: Trie,
    /// By node: the branch.
    branches: Vec<PrefixNode>,
    longest: usize,
}

impl PrefixTrie {
    /// Builds the trie of contents of less than 4 GiB together.
    #[must_use]
    pub fn new<'a>(contents: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut contents: Vec<&[u8]> = contents.collect();
        contents.sort_unstable();
        contents.dedup();
        let trie = Trie::new(contents.iter().map(|&content| (content, 0)).collect());
        let branches = vec![PrefixNode::default(); trie.nodes()];
        let mut prefixes = Self { trie, branches, longest: 0 };
        let mut walks: Vec<(Node, &[u8])> = contents.into_iter().map(|content| (ROOT, content)).collect();
        walks.retain(|(_, rest)| !rest.is_empty());
        // Shorter beginnings come first, because the suffix of each is shorter.
        while !walks.is_empty() {
            prefixes.longest += 1;
            for (node, rest) in &mut walks {
                *node = prefixes.link(*node, rest[0]);
                *rest = &rest[1..];
            }
            walks.retain(|(_, rest)| !rest.is_empty());
        }
        prefixes
    }

    /// Finds the suffix of the node's child by `byte`, and returns that child.
    fn link(&mut self, node: Node, byte: u8) -> Node {
        let PrefixNode { bytes, suffix, .. } = self.branches[node as usize];
        self.branches[node as usize].continues = true;
        let child = self.trie.step(node, byte).unwrap_or(ROOT);
        let suffix = if node == ROOT { ROOT } else { self.step(suffix, byte) };
        self.branches[child as usize] = PrefixNode { bytes: bytes + 1, suffix, continues: false };
        child
    }

    fn suffix(&self, node: Node) -> Node {
        self.branches[node as usize].suffix
    }

    /// The longest node that the text of `node` and a byte end with.
    fn step(&self, mut node: Node, byte: u8) -> Node {
        loop {
            match self.trie.step(node, byte) {
                Some(child) => return child,
                None if node == ROOT => return ROOT,
                None => node = self.suffix(node),
            }
        }
    }

    /// The most bytes at the end of `text` that a longer content begins with.
    #[must_use]
    pub fn open_suffix_len(&self, text: &[u8]) -> usize {
        let tail = &text[text.len() - text.len().min(self.longest.saturating_sub(1))..];
        let mut node = tail.iter().fold(ROOT, |node, &byte| self.step(node, byte));
        while node != ROOT && !self.branches[node as usize].continues {
            node = self.suffix(node);
        }
        self.branches[node as usize].bytes as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    /// The definition.
    fn open_suffix_slowly(contents: &[Vec<u8>], text: &[u8]) -> usize {
        let begins = |len: &usize| {
            let end = &text[text.len() - len..];
            contents.iter().any(|content| content.len() > *len && content.starts_with(end))
        };
        (1..=text.len()).rev().find(begins).unwrap_or(0)
    }

    #[test]
    fn the_open_suffix_equals_its_definition() {
        let mut draw = Draw(1);
        let mut found = [0_usize; 8];
        for _ in 0..20_000 {
            let letters = 1 + draw.below(3);
            let mut text = |most| (0..draw.below(most)).map(|_| b'a' + draw.below(letters) as u8).collect::<Vec<u8>>();
            let contents: Vec<Vec<u8>> = (0..4).map(|_| text(9)).collect();
            let text = text(16);
            let expected = open_suffix_slowly(&contents, &text);
            let beginnings = PrefixTrie::new(contents.iter().map(Vec::as_slice));
            assert_eq!(beginnings.open_suffix_len(&text), expected, "{contents:?} {text:?}");
            found[expected.min(7)] += 1;
        }
        assert!(found.iter().all(|&count| count > 0), "{found:?}");
    }

    #[test]
    fn a_long_content_takes_one_pass() {
        let content = vec![b'a'; 300_000];
        let beginnings = PrefixTrie::new(std::iter::once(&content[..]));
        let mut text = content.clone();
        assert_eq!(beginnings.open_suffix_len(&text), 299_999);
        text[299_990] = b'b';
        assert_eq!(beginnings.open_suffix_len(&text), 9);
    }
}
