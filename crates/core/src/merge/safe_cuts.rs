//! Finds places where a piece can be cut without changing an id.
//!
//! A merge makes a token. So only a token that holds the bytes on both sides of a place lets a merge cross the place.
//! If no token of the vocabulary fits across a place, no merge can cross it, and the two sides can be merged
//! separately. Tables of bits record the contexts, up to three bytes on each side, that tokens fit across. They can
//! have false positives, but no false negatives. No cut comes before a byte that continues a character, whether the
//! text is UTF-8 or not. A missing cut costs time and changes no id.
//!
//! The tables are built at first use, so the time of a first text includes them.

/// The bytes examined on each side.
const DEPTH: usize = 3;
/// The bits in a table of contexts.
const BITS: usize = 1 << 20;

/// The contexts that tokens of one vocabulary fit across.
#[derive(Debug)]
pub struct SafeCuts {
    /// The pairs of bytes where one character of some token ends and the next one starts, and all pairs whose second
    /// byte continues a character.
    pairs: BytePairBits,
    /// The contexts of three bytes on both sides of such places that have a context: [`has_context`].
    whole: Contexts,
    /// The pairs of bytes at such places that have fewer bytes of context on one side.
    near_ends: BytePairBits,
    /// The contexts of these places.
    cut_off: Contexts,
    /// The lengths of these contexts, left and right, in the order of the checks.
    lengths: Vec<(usize, usize)>,
}

impl SafeCuts {
    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        2 * (size_of_val(&*self.pairs.0) + size_of_val(&*self.whole.0))
    }

    /// Builds the tables of the tokens.
    #[must_use]
    pub fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut crossings = Self {
            pairs: BytePairBits::default(),
            whole: Contexts::default(),
            near_ends: BytePairBits::default(),
            cut_off: Contexts::default(),
            lengths: Vec::new(),
        };
        crossings.pairs.add_inner();
        let mut context_lengths = [[false; DEPTH + 1]; DEPTH + 1];
        for token in tokens {
            for at in (1..token.len()).filter(|&at| !is_inner(token[at])) {
                crossings.pairs.add(token[at - 1], token[at]);
                if !has_context(token[at - 1], token[at]) {
                    continue;
                }
                let (left, right) = (at.min(DEPTH), (token.len() - at).min(DEPTH));
                if left + right == 2 * DEPTH {
                    crossings.whole.add(context(&token[at - DEPTH..at], &token[at..at + DEPTH]));
                } else {
                    crossings.near_ends.add(token[at - 1], token[at]);
                    crossings.cut_off.add(context(&token[at - left..at], &token[at..at + right]));
                    context_lengths[left][right] = true;
                }
            }
        }
        let all = (1..=DEPTH).rev().flat_map(|left| (1..=DEPTH).rev().map(move |right| (left, right)));
        crossings.lengths = all.filter(|&(left, right)| context_lengths[left][right]).collect();
        crossings
    }

    /// The places between `start` and `end` where `text[start..end]` can be cut, in order.
    #[inline]
    pub fn cuts<'c>(&'c self, text: &'c [u8], start: usize, end: usize) -> impl Iterator<Item = usize> + 'c {
        let (mut bits, mut base, mut at) = (0u64, start, start + width(text[start]));
        std::iter::from_fn(move || {
            while bits == 0 {
                if at >= end {
                    return None;
                }
                base = at;
                // Bits instead of a branch for every place, which would be mispredicted.
                while at < end && at < base + 64 {
                    bits |= u64::from(!self.is_crossed(text, at)) << (at - base);
                    at += width(text[at]);
                }
            }
            let cut = base + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            Some(cut)
        })
    }

    /// Whether a token can cross `at`, which is not at an end of the text.
    #[inline(always)]
    fn is_crossed(&self, text: &[u8], at: usize) -> bool {
        let (left, right) = (text[at - 1], text[at]);
        if !has_context(left, right) {
            return self.pairs.has(left, right);
        }
        let around = text.get(at.wrapping_sub(DEPTH)..).and_then(|text| text.first_chunk());
        let Some(around): Option<&[u8; 2 * DEPTH]> = around else {
            return self.pairs.has(left, right);
        };
        let (before, after) = around.split_at(DEPTH);
        let near_end = self.near_ends.has(left, right);
        let whole = self.whole.has(context(before, after));
        whole || near_end && self.is_crossed_near_end(&text[..at], &text[at..])
    }

    #[cold]
    fn is_crossed_near_end(&self, left: &[u8], right: &[u8]) -> bool {
        self.lengths.iter().any(|&(before, after)| {
            let (Some(left), Some(right)) = (left.get(left.len().wrapping_sub(before)..), right.get(..after)) else {
                return false;
            };
            self.cut_off.has(context(left, right))
        })
    }
}

/// A set of byte pairs: by the first byte, a bit for every second.
#[derive(Debug)]
struct BytePairBits(Box<[[u64; 4]; 256]>);

impl Default for BytePairBits {
    fn default() -> Self {
        Self(Box::new([[0; 4]; 256]))
    }
}

impl BytePairBits {
    fn add(&mut self, left: u8, right: u8) {
        self.0[usize::from(left)][usize::from(right >> 6)] |= 1 << (right & 63);
    }

    /// Adds all pairs whose second byte is [`is_inner`].
    fn add_inner(&mut self) {
        for [.., inner, _] in self.0.iter_mut() {
            *inner = u64::MAX;
        }
    }

    #[inline(always)]
    fn has(&self, left: u8, right: u8) -> bool {
        self.0[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 != 0
    }
}

/// A set of contexts: a bit for the hash of each.
#[derive(Debug)]
struct Contexts(Box<[u64; BITS / 64]>);

impl Default for Contexts {
    fn default() -> Self {
        let words: Box<[u64]> = vec![0; BITS / 64].into();
        words.try_into().map_or_else(|_| unreachable!("the vector has BITS / 64 words"), Self)
    }
}

impl Contexts {
    fn add(&mut self, context: u64) {
        self.0[(context >> 6) as usize % (BITS / 64)] |= 1 << (context & 63);
    }

    #[inline(always)]
    fn has(&self, context: u64) -> bool {
        self.0[(context >> 6) as usize % (BITS / 64)] >> (context & 63) & 1 != 0
    }
}

/// The hash of a context.
#[inline(always)]
fn context(left: &[u8], right: &[u8]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().fold(1u64, |word, &byte| word << 8 | u64::from(byte));
    (word(left) << 32 | word(right)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44
}

/// Whether bytes beyond these two affect the cut between them, the end of a character and the start
/// of the next. If one is ASCII or has two bytes, contexts hardly ever allow a cut that the pair forbids, so that
/// looking them up would cost more than it saves.
#[inline(always)]
fn has_context(left: u8, right: u8) -> bool {
    left >= 0x80 && right >= 0xE0
}

/// Whether a byte belongs to a character but is not its first.
fn is_inner(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// The length of the character that starts with this byte, if one does.
#[inline(always)]
fn width(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    fn list_cuts(crossings: &SafeCuts, text: &[u8]) -> Vec<usize> {
        crossings.cuts(text, 0, text.len()).collect()
    }

    #[test]
    fn no_cut_is_inside_a_token() {
        let tokens: Vec<&[u8]> = vec![b"ab", "日本".as_bytes(), "本語".as_bytes(), b"\xAC\xE8", b"bc"];
        let crossings = SafeCuts::new(tokens.iter().copied());
        assert_eq!(list_cuts(&crossings, b"abcxab"), [3, 4]);
        let text = "日本語日語".as_bytes();
        let cuts = list_cuts(&crossings, text);
        for token in tokens {
            for start in 0..text.len() {
                if text[start..].starts_with(token) {
                    assert!(cuts.iter().all(|&cut| cut <= start || cut >= start + token.len()));
                }
            }
        }
        assert_eq!(cuts, [9, 12]);
    }

    #[test]
    fn no_cut_is_inside_a_token_of_invalid_bytes() {
        let mut draw = Draw(7);
        let mut all = 0;
        for _ in 0..2000 {
            let bytes = b"\xE0\xB8\xB9\xE0\xB8\xA6\xC3\xA9\xF0\x9F\x98\x80a";
            let text: Vec<u8> = (0..40).map(|_| bytes[draw.below(bytes.len())]).collect();
            let tokens: Vec<&[u8]> =
                (0..10).map(|_| (draw.below(37), 2 + draw.below(3))).map(|(at, len)| &text[at..at + len]).collect();
            let cuts = list_cuts(&SafeCuts::new(tokens.iter().copied()), &text);
            all += cuts.len();
            for token in tokens {
                for start in (0..text.len()).filter(|&start| text[start..].starts_with(token)) {
                    assert!(
                        cuts.iter().all(|&cut| cut <= start || cut >= start + token.len()),
                        "{text:02X?} {token:02X?}"
                    );
                }
            }
        }
        assert!(all > 2000);
    }
}
