//! Merging a short stretch of bytes without touching the heap: the twin of the rescan in [`crate::merge`].
//!
//! Pairs wait beside their positions in one word each, the rank in the higher bits, so that the smallest word is the
//! lowest rank and the leftmost of equals.

use crate::key::{LONGEST, SHORT, ShortKey, Window};
use crate::vocab::{Merge, MergeRule, Vocab};

const ROOM: usize = LONGEST + 1;
const NEVER: u32 = u32::MAX;

/// The ids of a short piece.
#[derive(Debug, Default)]
pub struct Ids {
    ids: [u32; ROOM],
    len: usize,
}

impl Ids {
    /// Appends one.
    pub fn push(&mut self, id: u32) {
        self.ids[self.len] = id;
        self.len += 1;
    }

    /// Appends several.
    pub fn extend(&mut self, ids: &[u32]) {
        self.ids[self.len..self.len + ids.len()].copy_from_slice(ids);
        self.len += ids.len();
    }

    /// The ids so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..self.len]
    }
}

/// A merge that was asked for: by the key of the joined bytes and its hash, or by the next symbol and all bytes.
enum Asked {
    Short(ShortKey, Option<u64>),
    Long(usize, usize, usize),
}

/// Symbols by the position of their first byte.
struct Symbols<'s> {
    vocab: &'s Vocab,
    window: &'s Window<'s>,
    start: usize,
    len: usize,
    ids: [u32; ROOM],
    /// Where the symbol ends and the next one starts.
    ends: [u8; ROOM],
    /// Where the symbol before starts.
    before: [u8; ROOM],
    /// The merge of the symbol and the next one, as rank and position; `NEVER` for none.
    waiting: [u32; ROOM],
    /// The id which that merge makes.
    made: [u32; ROOM],
}

/// Appends the ids that merging gives for `len` bytes (1 to [`LONGEST`]) of the window's text. Only for vocabularies of
/// bytes.
pub fn merge_stretch(vocab: &Vocab, window: &Window<'_>, start: usize, len: usize, out: &mut Ids) {
    let mut symbols = Symbols::new(vocab, window, start, len);
    while let Some(at) = symbols.lowest() {
        symbols.merge(at);
    }
    let mut at = 0;
    while at < len {
        out.push(symbols.ids[at]);
        at = usize::from(symbols.ends[at]);
    }
}

impl<'s> Symbols<'s> {
    fn new(vocab: &'s Vocab, window: &'s Window<'s>, start: usize, len: usize) -> Self {
        let (ids, ends, before) = ([0; ROOM], [0; ROOM], [0; ROOM]);
        let mut symbols =
            Self { vocab, window, start, len, ids, ends, before, waiting: [NEVER; ROOM], made: [0; ROOM] };
        let bytes = &window.text[start..start + len];
        for (at, &byte) in bytes.iter().enumerate() {
            symbols.ids[at] = vocab.byte_id(byte);
            symbols.ends[at] = at as u8 + 1;
            symbols.before[at] = (at as u8).wrapping_sub(1);
        }
        for (at, pair) in bytes.windows(2).enumerate() {
            let merge = vocab.byte_pair(pair[0], pair[1]);
            symbols.wait(at, (merge.rank != NEVER).then_some(merge));
        }
        symbols
    }

    /// The position of the pair that merges next.
    #[inline]
    fn lowest(&self) -> Option<usize> {
        let mut lowest = [NEVER; 8];
        for lane in self.waiting[..self.len.next_multiple_of(8)].chunks_exact(8) {
            for (low, &word) in lowest.iter_mut().zip(lane) {
                *low = (*low).min(word);
            }
        }
        let low = lowest.into_iter().fold(NEVER, u32::min);
        (low != NEVER).then_some((low & 31) as usize)
    }

    #[inline]
    fn merge(&mut self, at: usize) {
        let right = usize::from(self.ends[at]);
        let after = usize::from(self.ends[right]);
        self.ids[at] = self.made[at];
        self.ends[at] = after as u8;
        self.waiting[right] = NEVER;
        self.waiting[at] = NEVER;
        // Both look-ups are on their way before the first is waited for.
        let next = (after < self.len).then(|| self.ask(at));
        let before = (at > 0).then(|| self.ask(usize::from(self.before[at])));
        if let Some(asked) = next {
            self.before[after] = at as u8;
            self.look(at, asked);
        }
        if let Some(asked) = before {
            self.look(usize::from(self.before[at]), asked);
        }
    }

    /// Asks for the merge of the symbol at `at` and the next one.
    #[inline(always)]
    fn ask(&self, at: usize) -> Asked {
        let next = usize::from(self.ends[at]);
        let (start, len) = (self.start + at, usize::from(self.ends[next]) - at);
        if self.vocab.merge_rule() == MergeRule::Bytes && len <= SHORT {
            let key = self.window.short_key(start, len);
            Asked::Short(key, self.vocab.expect_merge(key))
        } else {
            Asked::Long(next, start, len)
        }
    }

    /// Looks up the merge that was asked for.
    #[inline(always)]
    fn look(&mut self, at: usize, asked: Asked) {
        let merge = match asked {
            Asked::Short(key, hash) => hash.and_then(|hash| self.vocab.short_merge(key, hash)),
            Asked::Long(next, start, len) => {
                self.vocab.merge(self.ids[at], self.ids[next], &self.window.text[start..start + len])
            }
        };
        self.wait(at, merge);
    }

    #[inline]
    fn wait(&mut self, at: usize, merge: Option<Merge>) {
        let Some(merge) = merge else {
            self.waiting[at] = NEVER;
            return;
        };
        self.waiting[at] = merge.rank << 5 | at as u32;
        self.made[at] = merge.id;
    }
}
