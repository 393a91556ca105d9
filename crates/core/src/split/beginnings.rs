//! How much of the end of a text may be the beginning of something that more text would complete.
//!
//! All beginnings of all contents are the nodes of a trie, each with its longest end that is another node (Aho and
//! Corasick). One pass over the end of a text tells, however many contents there are and whatever they share.

use std::collections::VecDeque;

use hashbrown::HashMap;

/// A beginning of some content.
#[derive(Debug, Clone, Copy, Default)]
struct Branch {
    bytes: u32,
    /// The longest end of it that is a node too; for the empty one itself.
    suffix: u32,
    /// Whether some content is longer and begins with it.
    goes_on: bool,
}

/// The beginnings of some contents.
#[derive(Debug)]
pub struct Beginnings {
    next: HashMap<(u32, u8), u32>,
    nodes: Vec<Branch>,
    longest: usize,
}

impl Beginnings {
    /// Those of contents of less than 4 GiB together.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn of<'a>(contents: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut made = Self { next: HashMap::new(), nodes: vec![Branch::default()], longest: 0 };
        for content in contents {
            made.longest = made.longest.max(content.len());
            let mut at = 0;
            for &byte in content {
                made.nodes[at as usize].goes_on = true;
                at = *made.next.entry((at, byte)).or_insert_with(|| {
                    let bytes = made.nodes[at as usize].bytes + 1;
                    made.nodes.push(Branch { bytes, ..Branch::default() });
                    made.nodes.len() as u32 - 1
                });
            }
        }
        made.link();
        made
    }

    /// Finds the suffix of each node, the shorter ones first.
    fn link(&mut self) {
        let mut below: Vec<Vec<(u8, u32)>> = vec![Vec::new(); self.nodes.len()];
        for (&(from, byte), &to) in &self.next {
            below[from as usize].push((byte, to));
        }
        let mut waiting = VecDeque::from([0]);
        while let Some(node) = waiting.pop_front() {
            for &(byte, child) in &below[node as usize] {
                self.nodes[child as usize].suffix = if node == 0 { 0 } else { self.step(self.suffix(node), byte) };
                waiting.push_back(child);
            }
        }
    }

    fn suffix(&self, node: u32) -> u32 {
        self.nodes[node as usize].suffix
    }

    /// The longest node that the text of `node` and a byte end with.
    fn step(&self, mut node: u32, byte: u8) -> u32 {
        loop {
            match self.next.get(&(node, byte)) {
                Some(&found) => return found,
                None if node == 0 => return 0,
                None => node = self.suffix(node),
            }
        }
    }

    /// How many bytes at the end of `text` some content begins with that is longer.
    #[must_use]
    pub fn at_end_of(&self, text: &[u8]) -> usize {
        let tail = &text[text.len() - text.len().min(self.longest.saturating_sub(1))..];
        let mut node = tail.iter().fold(0, |node, &byte| self.step(node, byte));
        while node != 0 && !self.nodes[node as usize].goes_on {
            node = self.suffix(node);
        }
        self.nodes[node as usize].bytes as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut state = 1_u64;
        let mut drawn = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut found = [0_usize; 8];
        for _ in 0..20_000 {
            let letters = 1 + drawn(3);
            let mut text = |most: u64| (0..drawn(most)).map(|_| b'a' + drawn(letters) as u8).collect::<Vec<u8>>();
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
