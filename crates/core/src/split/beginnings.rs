//! How much of the end of a text may be the beginning of something that more text would complete.
//!
//! All beginnings of all contents are the nodes of a trie, each with its longest end that is another node (Aho and
//! Corasick). One pass over the end of a text tells, however many contents there are and whatever they share.

use crate::vocab::trie::{Node, ROOT, Trie};

/// A beginning of some content.
#[derive(Debug, Clone, Copy, Default)]
struct Branch {
    bytes: u32,
    /// The longest end of it that is a node too; for the empty one itself.
    suffix: Node,
    /// Whether some content is longer and begins with it.
    goes_on: bool,
}

/// The beginnings of some contents.
#[derive(Debug)]
pub struct Beginnings {
    trie: Trie,
    /// By node.
    branches: Vec<Branch>,
    longest: usize,
}

impl Beginnings {
    /// Those of contents of less than 4 GiB together.
    #[must_use]
    pub fn of<'a>(contents: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut contents: Vec<&[u8]> = contents.collect();
        contents.sort_unstable();
        contents.dedup();
        let trie = Trie::new(contents.iter().map(|&content| (content, 0)).collect());
        let branches = vec![Branch::default(); trie.nodes()];
        let mut made = Self { trie, branches, longest: 0 };
        let mut walks: Vec<(Node, &[u8])> = contents.into_iter().map(|content| (ROOT, content)).collect();
        walks.retain(|(_, rest)| !rest.is_empty());
        // The shorter beginnings come first, because the suffix of each is shorter.
        while !walks.is_empty() {
            made.longest += 1;
            for (node, rest) in &mut walks {
                *node = made.link(*node, rest[0]);
                *rest = &rest[1..];
            }
            walks.retain(|(_, rest)| !rest.is_empty());
        }
        made
    }

    /// Finds the suffix of the node one byte further on, and gives that node.
    fn link(&mut self, node: Node, byte: u8) -> Node {
        let Branch { bytes, suffix, .. } = self.branches[node as usize];
        self.branches[node as usize].goes_on = true;
        let child = self.trie.step(node, byte).unwrap_or(ROOT);
        let suffix = if node == ROOT { ROOT } else { self.step(suffix, byte) };
        self.branches[child as usize] = Branch { bytes: bytes + 1, suffix, goes_on: false };
        child
    }

    fn suffix(&self, node: Node) -> Node {
        self.branches[node as usize].suffix
    }

    /// The longest node that the text of `node` and a byte end with.
    fn step(&self, mut node: Node, byte: u8) -> Node {
        loop {
            match self.trie.step(node, byte) {
                Some(found) => return found,
                None if node == ROOT => return ROOT,
                None => node = self.suffix(node),
            }
        }
    }

    /// How many bytes at the end of `text` some content begins with that is longer.
    #[must_use]
    pub fn at_end_of(&self, text: &[u8]) -> usize {
        let tail = &text[text.len() - text.len().min(self.longest.saturating_sub(1))..];
        let mut node = tail.iter().fold(ROOT, |node, &byte| self.step(node, byte));
        while node != ROOT && !self.branches[node as usize].goes_on {
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
    fn slowly(contents: &[Vec<u8>], text: &[u8]) -> usize {
        let begins = |len: &usize| {
            let end = &text[text.len() - len..];
            contents.iter().any(|content| content.len() > *len && content.starts_with(end))
        };
        (1..=text.len()).rev().find(begins).unwrap_or(0)
    }

    #[test]
    fn the_longest_end_is_found_that_its_definition_finds() {
        let mut draw = Draw(1);
        let mut found = [0_usize; 8];
        for _ in 0..20_000 {
            let letters = 1 + draw.below(3);
            let mut text = |most| (0..draw.below(most)).map(|_| b'a' + draw.below(letters) as u8).collect::<Vec<u8>>();
            let contents: Vec<Vec<u8>> = (0..4).map(|_| text(9)).collect();
            let text = text(16);
            let expected = slowly(&contents, &text);
            let beginnings = Beginnings::of(contents.iter().map(Vec::as_slice));
            assert_eq!(beginnings.at_end_of(&text), expected, "{contents:?} {text:?}");
            found[expected.min(7)] += 1;
        }
        assert!(found.iter().all(|&count| count > 0), "{found:?}");
    }

    #[test]
    fn a_long_content_takes_one_pass() {
        let content = vec![b'a'; 300_000];
        let beginnings = Beginnings::of(std::iter::once(&content[..]));
        let mut text = content.clone();
        assert_eq!(beginnings.at_end_of(&text), 299_999);
        text[299_990] = b'b';
        assert_eq!(beginnings.at_end_of(&text), 9);
    }
}
