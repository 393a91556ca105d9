//! Encodes texts whose ids depend on the whole text: models of words, and merging models with unused tokens.

use std::ops::Range;

use aho_corasick::{Anchored, Input};
use memchr::memmem::find;

use crate::error::Result;
use crate::kinds::sentencepiece::normalize::SPACE_MARK;
use crate::kinds::sentencepiece::unused::UnusedMerger;
use crate::kinds::sentencepiece::{CharEngine, CharRule};
use crate::merge::heap::Dropout;
use crate::threads::parallel::Stop;

impl CharEngine {
    /// Whether the ids of a text depend on the whole text, so that it cannot be cut.
    pub(crate) fn needs_whole(&self) -> bool {
        self.way == CharRule::Words || (self.way == CharRule::Merge && self.tokens.has_unused())
    }

    /// Appends the ids of a normalized text if [`Self::needs_whole`], and calls `on_end` with the end of each.
    pub(crate) fn encode_whole(
        &self,
        text: &[u8],
        dropout: Option<Dropout<'_>>,
        stop: &Stop,
        out: &mut Vec<u32>,
        on_end: &mut dyn FnMut(usize),
    ) -> Result<()> {
        let mut push = |id: Option<u32>, range: Range<usize>| {
            let before = out.len();
            if let Some(id) = id {
                out.push(id);
            } else {
                let missing = self.tokens.push_missing(&text[range.clone()], out);
                missing.map_err(|error| error.shift_offset(range.start))?;
            }
            let bytes = self.tokens.unknown().is_none() && id.is_none();
            let new_ids = out.len() - before;
            (1..=new_ids).for_each(|count| on_end(if bytes { range.start + count } else { range.end }));
            Ok(())
        };
        if self.way == CharRule::Words {
            return words(text).try_for_each(|range| push(self.word_id(&text[range.clone()]), range));
        }
        let finder = self.frozen.iter().flat_map(|frozen| frozen.find_iter(text));
        let frozen: Vec<_> = finder.map(|found| (found.range(), self.frozen_ids[found.pattern().as_usize()])).collect();
        UnusedMerger::new(&self.tokens, text, &frozen).run(dropout, stop, push)
    }

    fn word_id(&self, word: &[u8]) -> Option<u32> {
        let symbol = self.frozen.as_ref().and_then(|frozen| frozen.find(Input::new(word).anchored(Anchored::Yes)));
        if let Some(symbol) = symbol.filter(|found| found.len() == word.len()) {
            return Some(self.frozen_ids[symbol.pattern().as_usize()]);
        }
        let token = self.tokens.find(&self.tokens.write_form(word))?;
        Some(token.id).filter(|id| !self.tokens.is_unused(*id))
    }
}

/// The ranges of the words of a normalized text.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (begun, rest) = (start, text.get(start..).filter(|rest| !rest.is_empty())?);
        start = find(&rest[1..], SPACE_MARK).map_or(text.len(), |at| begun + 1 + at);
        Some(begun..start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_starts_at_each_space_mark() {
        let text = "a▁bc▁▁d".as_bytes();
        let found: Vec<_> = words(text).map(|word| std::str::from_utf8(&text[word]).unwrap()).collect();
        assert_eq!(found, ["a", "▁bc", "▁", "▁d"]);
        assert_eq!(words(b"").count(), 0);
    }
}
