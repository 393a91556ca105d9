//! Texts whose ids follow from the text as a whole, and not from its parts one by one: those of models of words, and of models
//! that merge and have unused tokens.

use std::ops::Range;

use aho_corasick::{Anchored, Input};
use memchr::memmem::find;

use crate::error::Result;
use crate::kinds::sentencepiece::normalize::BLOCK;
use crate::kinds::sentencepiece::undo::Undoing;
use crate::kinds::sentencepiece::{Chars, CharsWay};
use crate::merge::heap::Dropout;
use crate::threads::parallel::Stop;

impl Chars {
    /// Whether the ids of a text follow from the text as a whole, and not from its parts one by one.
    pub(crate) fn needs_whole(&self) -> bool {
        self.way == CharsWay::Words || (self.way == CharsWay::Merge && self.tokens.has_unused())
    }

    /// Appends the ids of a normalized text where [`Self::needs_whole`], and calls `ended` with where each ends.
    pub(crate) fn encode_whole(
        &self,
        text: &[u8],
        dropout: Option<Dropout<'_>>,
        stop: &Stop,
        out: &mut Vec<u32>,
        ended: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let mut push = |id: Option<u32>, range: Range<usize>| {
            let before = out.len();
            if let Some(id) = id {
                out.push(id);
            } else {
                let missing = self.tokens.push_missing(&text[range.clone()], out);
                missing.map_err(|error| error.shifted(range.start))?;
            }
            let bytes = self.tokens.unknown().is_none() && id.is_none();
            let made = out.len() - before;
            (1..=made).for_each(|count| ended(if bytes { range.start + count } else { range.end }));
            Ok(())
        };
        if self.way == CharsWay::Words {
            return words(text).try_for_each(|range| push(self.word(&text[range.clone()]), range));
        }
        let finder = self.frozen.iter().flat_map(|frozen| frozen.find_iter(text));
        let frozen: Vec<_> = finder.map(|found| (found.range(), self.frozen_ids[found.pattern().as_usize()])).collect();
        Undoing::new(&self.tokens, text, &frozen).run(dropout, stop, push)
    }

    /// The id of a word.
    fn word(&self, word: &[u8]) -> Option<u32> {
        let symbol = self.frozen.as_ref().and_then(|frozen| frozen.find(Input::new(word).anchored(Anchored::Yes)));
        if let Some(symbol) = symbol.filter(|found| found.len() == word.len()) {
            return Some(self.frozen_ids[symbol.pattern().as_usize()]);
        }
        let token = self.tokens.find(&self.tokens.written(word))?;
        Some(token.id).filter(|id| !self.tokens.is_unused(*id))
    }
}

/// Where the words of a normalized text are.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (begun, rest) = (start, text.get(start..).filter(|rest| !rest.is_empty())?);
        start = find(&rest[1..], BLOCK).map_or(text.len(), |at| begun + 1 + at);
        Some(begun..start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_starts_at_each_block() {
        let text = "a▁bc▁▁d".as_bytes();
        let found: Vec<_> = words(text).map(|word| std::str::from_utf8(&text[word]).unwrap()).collect();
        assert_eq!(found, ["a", "▁bc", "▁", "▁d"]);
        assert_eq!(words(b"").count(), 0);
    }
}
