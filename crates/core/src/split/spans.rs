//! Records the range in a text of each id.
//!
//! The ids of a text partition its bytes: each starts where the one before it ends, the first at 0, and the last ends
//! at the end of the text. If a normalizer rewrites a stretch as a whole, the bytes of the stretch belong to the id in
//! which the rewritten text ends. Text that a normalizer removes belongs to the id after it. A range of characters
//! covers every character that the id contains a part of, so that ids that share a character repeat it.

use crate::split::Text;
use crate::steps::Origin;

/// Ids with their ranges; a call appends to both.
#[derive(Debug)]
pub struct PlacedIds<'o> {
    /// The ids.
    pub ids: &'o mut Vec<u32>,
    /// The range of each id.
    pub spans: &'o mut Spans,
}

/// The unit of offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Bytes of the text.
    Bytes,
    /// Characters; bytes that are not UTF-8 count as the replacement characters of decoding.
    Characters,
}

/// The ranges of ids, in their order.
#[derive(Debug)]
pub struct Spans {
    count: Count,
    /// The start of each range.
    pub starts: Vec<usize>,
    /// The end of each range.
    pub ends: Vec<usize>,
    /// The number of ranges before this text.
    begun: usize,
    at: usize,
}

impl Spans {
    /// An empty list of ranges.
    #[must_use]
    pub fn new(count: Count) -> Self {
        Self { count, starts: Vec::new(), ends: Vec::new(), begun: 0, at: 0 }
    }

    /// Appends the range of the next id, which extends to `end` and has a part of the character that ends at `touched`.
    #[inline]
    pub(crate) fn push(&mut self, end: usize, touched: usize) {
        self.starts.push(self.at);
        self.ends.push(if self.count == Count::Bytes { end } else { touched });
        self.at = end;
    }

    /// The same, if an id before can have extended further.
    pub(crate) fn push_to(&mut self, end: usize, touched: usize) {
        let end = end.max(self.at);
        self.push(end, touched.max(end));
    }

    /// Appends the ranges of ids with these ends in a text with these origins.
    ///
    /// If an id ends inside a stretch that was rewritten as a whole, the stretch belongs to the id in which it ends. A
    /// character that no step rewrote keeps its bytes, and an id can end between them.
    pub(crate) fn push_origins(&mut self, ends: impl Iterator<Item = usize>, origins: &[Origin]) {
        // The bytes around the last end that have its origin; stored, as a step can make very many bytes of a few.
        let mut stretch = 0..0;
        for end in ends {
            let Some((last, &origin)) = end.checked_sub(1).and_then(|last| Some((last, origins.get(last)?))) else {
                continue;
            };
            if !stretch.contains(&last) {
                let before = origins[..end].iter().rev().take_while(|&&other| other == origin).count();
                let after = origins[end..].iter().take_while(|&&other| other == origin).count();
                stretch = end - before..end + after;
            }
            let (to, touched) = if stretch.end == end {
                (origin.1, origin.1)
            } else if stretch.len() == origin.1 - origin.0 {
                (origin.0 + (end - stretch.start), origin.0 + (end - stretch.start))
            } else {
                (origin.0, origin.1)
            };
            self.push_to(to, touched);
        }
    }

    /// Whether the last id extends beyond `start`.
    pub(crate) fn extend_past(&self, start: usize) -> bool {
        self.at > start
    }

    /// Appends the ranges of ids whose widths in bytes are known.
    #[inline]
    pub(crate) fn extend(&mut self, widths: impl ExactSizeIterator<Item = usize>) {
        self.ends.reserve(widths.len());
        let mut at = self.at;
        self.ends.extend(widths.map(|width| {
            at += width;
            at
        }));
        let from = self.starts.len();
        self.starts.reserve(self.ends.len() - from);
        self.starts.push(self.at);
        self.starts.extend_from_slice(&self.ends[from..]);
        self.starts.pop();
        self.at = at;
    }

    /// Joins each range from `first` on for which `joins` is true with the range before.
    pub(crate) fn join(&mut self, first: usize, joins: impl Iterator<Item = bool>) {
        let mut to = first;
        for (from, joins) in (first..).zip(joins) {
            if joins {
                self.ends[to - 1] = self.ends[from];
            } else {
                (self.starts[to], self.ends[to]) = (self.starts[from], self.ends[from]);
                to += 1;
            }
        }
        self.starts.truncate(to);
        self.ends.truncate(to);
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn begin(&mut self) {
        (self.begun, self.at) = (self.ends.len(), 0);
    }

    /// Ends the text. The last id extends to the end.
    pub(crate) fn finish(&mut self, text: Text<'_>) {
        let bytes = text.as_bytes();
        if self.ends.len() > self.begun
            && let Some(last) = self.ends.last_mut()
        {
            *last = bytes.len();
        }
        if self.count == Count::Bytes || bytes.is_ascii() {
            return;
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            let starts =
                |from: usize, to: usize| text.as_bytes()[from..to].iter().filter(|&&byte| is_first(byte)).count();
            self.widen(starts, |at| text.is_char_boundary(at), |at| at + ascii_len(&bytes[at..]));
        } else {
            let first = first_bytes(bytes);
            let starts = |from: usize, to: usize| first[from..to].iter().filter(|&&first| first).count();
            self.widen(starts, |at| first.get(at).is_none_or(|&first| first), |at| at);
        }
    }

    /// Turns ranges of bytes into ranges of characters. `starts` counts the characters that start between two places,
    /// and from a place to the place that `plain` gives, each byte is a character.
    fn widen(
        &mut self,
        starts: impl Fn(usize, usize) -> usize,
        between: impl Fn(usize) -> bool,
        plain: impl Fn(usize) -> usize,
    ) {
        // The start and end of the range before: in bytes, and as the number of characters that start before.
        let (mut start, mut end, mut place) = ((0, 0), (0, 0), self.begun);
        while place < self.ends.len() {
            let (from, to) = (self.starts[place], self.ends[place]);
            start = if from == end.0 { end } else { (from, start.1 + starts(start.0, from)) };
            let plain = plain(from);
            if from < plain && to <= plain {
                let within = place..place + self.ends[place..].iter().take_while(|&&end| end <= plain).count();
                let last = within.end - 1;
                let wide = start.0 - start.1;
                start = (self.starts[last], self.starts[last] - wide);
                end = (self.ends[last], self.ends[last] - wide);
                self.starts[within.clone()].iter_mut().for_each(|start| *start -= wide);
                self.ends[within].iter_mut().for_each(|end| *end -= wide);
                place = last + 1;
                continue;
            }
            end = (to, start.1 + starts(from, to));
            self.starts[place] = start.1 - usize::from(!between(from));
            self.ends[place] = end.1;
            place += 1;
        }
    }
}

/// The number of bytes at the start of a text that are ASCII.
fn ascii_len(text: &[u8]) -> usize {
    let whole: usize = text.chunks_exact(64).take_while(|chunk| chunk.is_ascii()).map(<[u8]>::len).sum();
    whole + text[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}

/// Whether a byte of UTF-8 is the first of its character.
fn is_first(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// For each byte, whether it is the first of a character or of a replaced part.
fn first_bytes(text: &[u8]) -> Vec<bool> {
    let mut first = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        first.extend(chunk.valid().bytes().map(is_first));
        first.extend((0..chunk.invalid().len()).map(|place| place == 0));
    }
    first
}
