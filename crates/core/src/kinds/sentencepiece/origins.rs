//! A normalized text that knows where each of its bytes comes from.

use crate::kinds::sentencepiece::normalize::{BLOCK, Written};

/// A stretch of the normalized text: where it ends there and in the text that it comes from.
#[derive(Debug, Clone, Copy)]
struct OriginStretch {
    end: usize,
    source: usize,
    /// Whether each byte comes from one byte; otherwise the stretch was rewritten as a whole, removed or added.
    even: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Origins {
    text: Vec<u8>,
    escape: bool,
    stretches: Vec<OriginStretch>,
}

impl Origins {
    /// An empty text; with `escape`, its spaces are written `▁`.
    pub(crate) fn new(escape: bool) -> Self {
        Self { text: Vec::new(), escape, stretches: Vec::new() }
    }

    /// The normalized text.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// A walk along the text.
    pub(crate) fn walk(&self) -> OriginWalk<'_> {
        OriginWalk { stretches: &self.stretches, before: (0, 0) }
    }

    /// Where the source of the byte at `at` begins.
    pub(crate) fn source_of(&self, at: usize) -> usize {
        let next = self.stretches.partition_point(|stretch| stretch.end <= at);
        let before = next.checked_sub(1).and_then(|last| self.stretches.get(last));
        let (end, source) = before.map_or((0, 0), |stretch| (stretch.end, stretch.source));
        let inside = self.stretches.get(next).filter(|stretch| stretch.even).map_or(0, |_| at - end);
        source + inside
    }

    fn stretch(&mut self, source: usize, even: bool) {
        let end = self.text.len();
        let from = self.stretches.last().map_or(0, |last| last.source);
        let source = from + source;
        match self.stretches.last_mut() {
            Some(last) if even && last.even => (last.end, last.source) = (end, source),
            _ => self.stretches.push(OriginStretch { end, source, even }),
        }
    }
}

impl Written for Origins {
    fn take(&mut self, source: usize, shown: &[u8]) {
        let before = self.text.len();
        if self.escape && shown.contains(&b' ') {
            for byte in shown {
                let written = if *byte == b' ' { BLOCK } else { std::slice::from_ref(byte) };
                self.text.extend_from_slice(written);
            }
        } else {
            self.text.extend_from_slice(shown);
        }
        self.stretch(source, source == self.text.len() - before);
    }

    fn written(&self) -> &[u8] {
        &self.text
    }

    fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        let source = self.stretches.last().map_or(0, |last| last.source);
        while let Some(last) = self.stretches.pop_if(|last| last.end > len) {
            let (start, from) = self.stretches.last().map_or((0, 0), |before| (before.end, before.source));
            if start < len {
                let source = if last.even { from + (len - start) } else { last.source };
                self.stretches.push(OriginStretch { end: len, source, even: last.even });
            }
        }
        // What is gone was removed.
        self.stretches.push(OriginStretch { end: len, source, even: false });
    }
}

/// Places of a normalized text, from left to right.
pub(crate) struct OriginWalk<'o> {
    /// The stretches that do not end before the last place.
    stretches: &'o [OriginStretch],
    /// Where the stretch before them ends.
    before: (usize, usize),
}

impl OriginWalk<'_> {
    /// Where the source of the text before `at` ends: of what is rewritten whole before it, and of what has a part there.
    pub(crate) fn source(&mut self, at: usize) -> (usize, usize) {
        while let [first, rest @ ..] = self.stretches
            && first.end < at
        {
            self.before = (first.end, first.source);
            self.stretches = rest;
        }
        let (end, source) = self.before;
        match self.stretches.first() {
            Some(first) if at > end && first.end == at => (first.source, first.source),
            Some(first) if at > end && first.even => (source + (at - end), source + (at - end)),
            Some(first) if at > end => (source, first.source),
            _ => (source, source),
        }
    }
}
