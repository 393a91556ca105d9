//! Merges a whole text if some tokens are unused: such a token merges as any other does, and if it remains at the end,
//! it is split into the two symbols that made it.
//!
//! A text can make the same token of different pairs. The pair found last, anywhere in the text, counts for all of
//! them, as in `SentencePiece`. So the text is merged as a whole, including the symbols that stay whole, and nothing is
//! remembered from text to text.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use hashbrown::HashMap;

use crate::error::Result;
use crate::kinds::sentencepiece::merge::CharTokens;
use crate::kinds::sentencepiece::safe_cuts::char_len;
use crate::merge::heap::Dropout;
use crate::threads::parallel::Stop;
use crate::vocab::Merge;

/// The deepest nesting that is split.
const DEEPEST: usize = 100;
/// The merges between two checks of the stop flag.
const MERGES_PER_LOOK: usize = 1 << 16;

/// A symbol during merging; one that was merged into another is empty.
#[derive(Debug, Clone)]
struct LinkedSymbol {
    range: Range<usize>,
    before: Option<usize>,
    after: Option<usize>,
    /// The id of a symbol that stays whole.
    frozen: Option<u32>,
}

/// A waiting pair, the first by rank and then by place: rank, left symbol, right symbol, end.
type UndoPair = Reverse<(u32, usize, usize, usize)>;

/// One text during merging.
#[derive(Debug)]
pub(super) struct UnusedMerger<'t> {
    tokens: &'t CharTokens,
    /// The normalized text.
    text: &'t [u8],
    symbols: Vec<LinkedSymbol>,
    waiting: BinaryHeap<UndoPair>,
    /// By the bytes of an unused token: the length of the left symbol in the pair found last.
    pairs: HashMap<&'t [u8], usize>,
}

impl<'t> UnusedMerger<'t> {
    /// The symbols of a text; those in `frozen` stay whole.
    pub(super) fn new(tokens: &'t CharTokens, text: &'t [u8], frozen: &[(Range<usize>, u32)]) -> Self {
        let (mut symbols, mut at, mut next) = (Vec::new(), 0, frozen.iter().peekable());
        while at < text.len() {
            let whole = next.next_if(|(range, _)| range.start == at);
            let end = whole.map_or(text.len().min(at + char_len(text[at])), |(range, _)| range.end);
            let place = symbols.len();
            let (before, after) = (place.checked_sub(1), Some(place + 1).filter(|_| end < text.len()));
            symbols.push(LinkedSymbol { range: at..end, before, after, frozen: whole.map(|&(_, id)| id) });
            at = end;
        }
        Self { tokens, text, symbols, waiting: BinaryHeap::new(), pairs: HashMap::default() }
    }

    /// Merges, and calls `each` with the id (None without a token) and the range of every symbol in order.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`], and the errors of `each`.
    pub(super) fn run(
        mut self,
        mut dropout: Option<Dropout<'_>>,
        stop: &Stop,
        mut each: impl FnMut(Option<u32>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        for right in 1..self.symbols.len() {
            self.push_pair(Some(right - 1), Some(right));
        }
        let mut merges = 0;
        while let Some(Reverse((_, left, right, end))) = self.waiting.pop() {
            let (first, second) = (&self.symbols[left], &self.symbols[right]);
            if first.range.is_empty()
                || second.range.is_empty()
                || first.range.len() + second.range.len() != end - first.range.start
            {
                continue;
            }
            if dropout.as_mut().is_some_and(|dropout| dropout.draws.next_fraction() < dropout.share) {
                continue;
            }
            merges += 1;
            if merges % MERGES_PER_LOOK == 0 {
                stop.check()?;
            }
            self.join(left, right);
        }
        let mut at = Some(0).filter(|_| !self.symbols.is_empty());
        while let Some(place) = at {
            let symbol = &self.symbols[place];
            match symbol.frozen {
                Some(id) => each(Some(id), symbol.range.clone())?,
                None => self.split_unused(symbol.range.clone(), &mut each)?,
            }
            at = symbol.after;
        }
        Ok(())
    }

    /// The merge that makes a range of the text.
    fn find_merge(&self, range: Range<usize>) -> Option<Merge> {
        self.tokens.find(&self.tokens.write_form(&self.text[range]))
    }

    /// Adds a pair to the queue if it is a token.
    fn push_pair(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        let (first, second) = (&self.symbols[left], &self.symbols[right]);
        if first.frozen.is_some() || second.frozen.is_some() {
            return;
        }
        let (start, end, len) = (first.range.start, second.range.end, first.range.len());
        let Some(merge) = self.find_merge(start..end) else { return };
        self.waiting.push(Reverse((merge.rank, left, right, end)));
        if self.tokens.is_unused(merge.id) {
            self.pairs.insert(&self.text[start..end], len);
        }
    }

    fn join(&mut self, left: usize, right: usize) {
        let (end, after) = (self.symbols[right].range.end, self.symbols[right].after);
        self.symbols[right].range.start = end;
        self.symbols[left].range.end = end;
        self.symbols[left].after = after;
        if let Some(after) = after {
            self.symbols[after].before = Some(left);
        }
        self.push_pair(self.symbols[left].before, Some(left));
        self.push_pair(Some(left), after);
    }

    /// Calls `each` with the symbols that a symbol becomes at the end.
    fn split_unused(
        &self,
        whole: Range<usize>,
        each: &mut impl FnMut(Option<u32>, Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let mut left = vec![(whole, 0)];
        while let Some((range, depth)) = left.pop() {
            let id = self.find_merge(range.clone()).map(|merge| merge.id);
            let unused = id.is_some_and(|id| self.tokens.is_unused(id));
            match self.pairs.get(&self.text[range.clone()]) {
                Some(&len) if unused && depth <= DEEPEST => {
                    let middle = range.start + len;
                    left.push((middle..range.end, depth + 1));
                    left.push((range.start..middle, depth + 1));
                }
                _ => each(id.filter(|_| !unused || depth > DEEPEST), range)?,
            }
        }
        Ok(())
    }
}
