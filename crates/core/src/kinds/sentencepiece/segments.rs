//! The fast path of [`CharEngine`]: cuts the text where no merge crosses, and remembers the ids of each segment. A
//! short segment merges without the heap.

use std::ops::Range;

use crate::error::Result;
use crate::fast::memory::{PieceKey, PieceLookup, PieceMemory, ReadyIds};
use crate::fast::short_symbols::ShortSymbols;
use crate::kinds::sentencepiece::merge::{CharScratch, CharTokens, characters};
use crate::kinds::sentencepiece::{CharEngine, CharSession};
use crate::slots::key::{LONGEST, Window};
use crate::slots::keyed::SlotTables;
use crate::slots::piece_walk::{PiecePart, PieceSink, PieceWalk};
use crate::split::Text;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Merge;
use crate::vocab::index::LookupKey;

impl CharEngine {
    /// Appends the ids of a text; one that only needs escaped spaces is not copied.
    pub(super) fn encode_fast(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        session: &mut CharSession,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let stop = bounds.stop();
        if self.frozen.is_some() {
            return self.for_each_text(&self.normalize(text, bounds)?, out, |part, out| {
                self.encode_segments(part, stop, session, out)
            });
        }
        let normal = self.normalizer.apply(text, None, bounds)?;
        let mut rest = &normal.text[..];
        if normal.prefix {
            // The added space is not in the text. It belongs to the first segment, or is a separate segment.
            let (first, after) = rest.split_at(self.cuts.first_end(rest));
            self.encode_segments(&[b" ", first].concat(), stop, session, out)?;
            rest = after;
        }
        self.encode_segments(rest, stop, session, out)
    }

    /// Appends the ids of a normalized text without frozen symbols.
    pub(super) fn encode_segments(
        &self,
        text: &[u8],
        stop: &Stop,
        session: &mut CharSession,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let CharSession { scratch, lookup: PieceLookup { memory, waiting, ready }, .. } = session;
        let sink = SegmentIds { tokens: &self.tokens, memory, scratch, ready, stop, out };
        let mut walk = PieceWalk::new(text, sink, waiting, stop);
        self.cuts.for_each_segment(text, |start, end| walk.add_part(start, end, 0))?;
        walk.drain()
    }
}

/// The sink that appends the ids of segments to `out`.
struct SegmentIds<'e> {
    tokens: &'e CharTokens,
    memory: &'e mut PieceMemory,
    scratch: &'e mut CharScratch,
    ready: &'e mut ReadyIds,
    stop: &'e Stop,
    out: &'e mut Vec<u32>,
}

impl SegmentIds<'_> {
    fn merge(&mut self, segment: &[u8]) -> Result<()> {
        let segment = self.tokens.write_form(segment);
        if segment.len() <= LONGEST {
            return self.tokens.merge_short(&segment, self.out);
        }
        self.tokens.merge(&segment, self.stop, self.scratch, self.out)
    }
}

impl PieceSink for SegmentIds<'_> {
    #[inline(always)]
    fn tables(&self) -> SlotTables<'_> {
        self.memory.tables()
    }

    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize {
        self.ready.take_known(self.memory, window, parts, self.out)
    }

    /// Merges a segment that is not remembered. A long one is remembered immediately: long segments of Chinese repeat.
    #[inline(never)]
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()> {
        let part = parts[0];
        let name = PieceKey::new(window, &part);
        if self.memory.recall(&name, self.out) {
            return Ok(());
        }
        let before = self.out.len();
        self.merge(&window.text[part.start..][..part.len as usize])?;
        match name {
            PieceKey::Long(segment) => self.memory.learn_long(segment, &self.out[before..]),
            _ => self.memory.learn(&name, &self.out[before..]),
        }
        Ok(())
    }

    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        self.merge(&window.text[start..end])
    }

    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()> {
        walk.add_part(start, end, 0)
    }
}

impl CharTokens {
    /// Appends the ids of a text of at most [`LONGEST`] bytes in the form of [`Self::write_form`].
    fn merge_short(&self, text: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let window = &Window::new(text);
        let mut symbols = ShortSymbols::default();
        symbols.begin(text.len(), characters(text).fold(0, |starts, (start, _)| starts | 1 << start));
        for (start, char) in characters(text) {
            symbols.set_id(start, self.char_id(char));
        }
        for pair in symbols.pairs() {
            if let Some(merge) = self.first_merge(window, pair.clone()) {
                symbols.set_merge(pair.start, merge);
            }
        }
        while let Some(pairs) = symbols.join_lowest() {
            // Both lookups are prefetched before the first result is needed.
            let pairs = pairs.map(|pair| (pair.clone(), self.prefetch_token(window, pair)));
            for (pair, expected) in pairs {
                if let Some(merge) = self.find_prefetched(window, pair.clone(), expected) {
                    symbols.set_merge(pair.start, merge);
                }
            }
        }
        for (range, id) in symbols.symbols() {
            self.push(id, &text[range.clone()], out).map_err(|error| error.shift_offset(range.start))?;
        }
        Ok(())
    }

    /// The merge of two characters.
    #[inline(always)]
    fn first_merge(&self, window: &Window<'_>, joined: Range<usize>) -> Option<Merge> {
        if let [first, second] = window.text[joined.clone()] {
            return self.ascii_pair(first, second);
        }
        let expected = self.prefetch_token(window, joined.clone());
        self.find_prefetched(window, joined, expected)
    }

    /// Prefetches a token that is looked up soon; None if no token is so long.
    #[inline(always)]
    fn prefetch_token(&self, window: &Window<'_>, joined: Range<usize>) -> Option<LookupKey> {
        let (sought, may_be) = self.vocab.lookup().prefetch(window, joined.start, joined.len());
        may_be.then_some(sought)
    }

    #[inline(always)]
    fn find_prefetched(&self, window: &Window<'_>, joined: Range<usize>, expected: Option<LookupKey>) -> Option<Merge> {
        self.vocab.lookup().find_prefetched(expected?, &window.text[joined]).map(|merge| self.with_rank(merge))
    }
}
