//! The fast way of [`Chars`]: the text is cut where no merge crosses, and the ids of each segment are remembered. A short
//! segment merges without the heap.

use std::ops::Range;

use crate::error::Result;
use crate::fast::memory::{Memory, PieceName, ReadyIds, Remembered};
use crate::fast::short::ShortSymbols;
use crate::kinds::sentencepiece::merge::{CharScratch, CharTokens, characters};
use crate::kinds::sentencepiece::{CharSession, Chars};
use crate::slots::key::{LONGEST, Window};
use crate::slots::keyed::SlotTables;
use crate::slots::piece_walk::{PiecePart, PieceSink, PieceWalk};
use crate::split::Text;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;
use crate::vocab::Merge;
use crate::vocab::index::Sought;

impl Chars {
    /// Appends the ids of a text; one in which only spaces have to be escaped is not copied.
    pub(super) fn encode_fast(
        &self,
        text: Text<'_>,
        bounds: &Bounds<'_>,
        session: &mut CharSession,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let stop = bounds.stop();
        if self.frozen.is_some() {
            return self
                .parts(&self.normalized(text, bounds)?, out, |part, out| self.segments(part, stop, session, out));
        }
        let normal = self.normalizer.apply(text, None, bounds)?;
        let mut rest = &normal.text[..];
        if normal.prefix {
            // The space before the text is not in the text. It belongs to the first segment, or is a segment of its own.
            let (first, after) = rest.split_at(self.cuts.first(rest));
            self.segments(&[b" ", first].concat(), stop, session, out)?;
            rest = after;
        }
        self.segments(rest, stop, session, out)
    }

    /// Appends the ids of a normalized text without frozen symbols.
    pub(super) fn segments(
        &self,
        text: &[u8],
        stop: &Stop,
        session: &mut CharSession,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let CharSession { scratch, remembered: Remembered { memory, waiting, ready }, .. } = session;
        let sink = SegmentIds { tokens: &self.tokens, memory, scratch, ready, stop, out };
        let mut walk = PieceWalk::new(text, sink, waiting, stop);
        self.cuts.each(text, |start, end| walk.wait(start, end, 0))?;
        walk.drain()
    }
}

/// The sink that appends the ids of segments to `out`.
struct SegmentIds<'e> {
    tokens: &'e CharTokens,
    memory: &'e mut Memory,
    scratch: &'e mut CharScratch,
    ready: &'e mut ReadyIds,
    stop: &'e Stop,
    out: &'e mut Vec<u32>,
}

impl SegmentIds<'_> {
    fn merge(&mut self, segment: &[u8]) -> Result<()> {
        let segment = self.tokens.written(segment);
        if segment.len() <= LONGEST {
            return self.tokens.merge_few(&segment, self.out);
        }
        self.tokens.merge(&segment, self.stop, self.scratch, self.out)
    }
}

impl PieceSink for SegmentIds<'_> {
    #[inline(always)]
    fn tables(&self) -> impl SlotTables {
        self.memory.tables()
    }

    fn take_known(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> usize {
        self.ready.take_known(self.memory, window, parts, self.out)
    }

    /// Merges a segment that is not remembered. A long one is remembered at once: those of Chinese come again.
    #[inline(never)]
    fn take_new(&mut self, window: &Window<'_>, parts: &[PiecePart]) -> Result<()> {
        let part = parts[0];
        let name = PieceName::of(window, &part);
        if self.memory.recall(&name, self.out) {
            return Ok(());
        }
        let before = self.out.len();
        self.merge(&window.text[part.start..][..part.len as usize])?;
        match name {
            PieceName::Long(segment) => self.memory.learn_long(segment, &self.out[before..]),
            _ => self.memory.learn(&name, &self.out[before..]),
        }
        Ok(())
    }

    fn take_huge(&mut self, window: &Window<'_>, start: usize, end: usize) -> Result<()> {
        self.merge(&window.text[start..end])
    }

    fn take_long(walk: &mut PieceWalk<'_, '_, Self>, start: usize, end: usize) -> Result<()> {
        walk.wait(start, end, 0)
    }
}

impl CharTokens {
    /// Appends the ids of a text of at most [`LONGEST`] bytes as [`Self::written`] gives it.
    fn merge_few(&self, text: &[u8], out: &mut Vec<u32>) -> Result<()> {
        let window = &Window::new(text);
        let mut symbols = ShortSymbols::default();
        symbols.begin(text.len(), characters(text).fold(0, |starts, (start, _)| starts | 1 << start));
        for (start, char) in characters(text) {
            symbols.put(start, self.character(char));
        }
        for pair in symbols.pairs() {
            if let Some(merge) = self.first_merge(window, pair.clone()) {
                symbols.wait(pair.start, merge);
            }
        }
        while let Some(pairs) = symbols.join() {
            // Both look-ups are on their way before the first is waited for.
            let pairs = pairs.map(|pair| (pair.clone(), self.expect(window, pair)));
            for (pair, expected) in pairs {
                if let Some(merge) = self.expected(window, pair.clone(), expected) {
                    symbols.wait(pair.start, merge);
                }
            }
        }
        for (range, id) in symbols.each() {
            self.push(id, &text[range.clone()], out).map_err(|error| error.shifted(range.start))?;
        }
        Ok(())
    }

    /// The merge of two characters.
    #[inline(always)]
    fn first_merge(&self, window: &Window<'_>, joined: Range<usize>) -> Option<Merge> {
        if let [first, second] = window.text[joined.clone()] {
            return self.ascii_pair(first, second);
        }
        let expected = self.expect(window, joined.clone());
        self.expected(window, joined, expected)
    }

    /// Asks for a token that will be looked at soon; None if there is none.
    #[inline(always)]
    fn expect(&self, window: &Window<'_>, joined: Range<usize>) -> Option<Sought> {
        let (sought, may_be) = self.vocab.lookup().seek(window, joined.start, joined.len());
        may_be.then_some(sought)
    }

    /// The merge that makes the token that was asked for.
    #[inline(always)]
    fn expected(&self, window: &Window<'_>, joined: Range<usize>, expected: Option<Sought>) -> Option<Merge> {
        self.vocab.lookup().found(expected?, &window.text[joined]).map(|merge| self.ranked(merge))
    }
}
