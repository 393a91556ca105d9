//! Where a piece may be cut without changing an id.
//!
//! A merge makes a token, so that a token that holds the bytes on both sides of a place is needed to merge across it.
//! Where no token of the vocabulary fits around a place, no merge can ever cross it, and the two sides may be merged
//! apart. What fits is asked of up to `DEPTH` bytes on each side, through a table of bits that may say yes too often
//! but never no: a place too few costs time and no exactness.

/// Bytes on each side that are looked at.
const DEPTH: usize = 3;
/// Bits in the table of contexts.
const BITS: usize = 1 << 20;

/// What can be crossed, for one vocabulary.
#[derive(Debug)]
pub struct Crossings {
    /// By first byte, a bit for each second byte that follows it in some token.
    pairs: Box<[[u64; 4]; 256]>,
    /// A bit for the hash of every context that a token gives to a place inside it.
    contexts: Box<[u64]>,
    /// The lengths, left and right, that contexts have, in the order in which they are asked for.
    lengths: Vec<(usize, usize)>,
}

impl Crossings {
    /// What the tokens can cross.
    #[must_use]
    pub fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>) -> Self {
        let mut pairs = Box::new([[0; 4]; 256]);
        let mut contexts = vec![0; BITS / 64].into_boxed_slice();
        let mut found = [[false; DEPTH + 1]; DEPTH + 1];
        for token in tokens {
            for at in 1..token.len() {
                pairs[usize::from(token[at - 1])][usize::from(token[at] >> 6)] |= 1u64 << (token[at] & 63);
                if !between_characters(token[at - 1], token[at]) {
                    continue;
                }
                let (left, right) = (at.min(DEPTH), (token.len() - at).min(DEPTH));
                found[left][right] = true;
                let bit = context(&token[at - left..at], &token[at..at + right]);
                contexts[bit / 64] |= 1 << (bit % 64);
            }
        }
        let all = (1..=DEPTH).rev().flat_map(|left| (1..=DEPTH).rev().map(move |right| (left, right)));
        let lengths = all.filter(|&(left, right)| found[left][right]).collect();
        Self { pairs, contexts, lengths }
    }

    /// The first place after `start` (and `end` at the latest) where `text[start..end]` may be cut.
    #[inline]
    #[must_use]
    pub fn next_cut(&self, text: &[u8], start: usize, end: usize) -> usize {
        let mut at = start + 1;
        while at < end {
            let (left, right) = (text[at - 1], text[at]);
            let pair = self.pairs[usize::from(left)][usize::from(right >> 6)] >> (right & 63) & 1 != 0;
            if !pair || (between_characters(left, right) && !self.fits(&text[start..at], &text[at..end])) {
                return at;
            }
            at += 1;
        }
        end
    }

    #[inline]
    fn fits(&self, left: &[u8], right: &[u8]) -> bool {
        self.lengths.iter().any(|&(before, after)| {
            let (Some(left), Some(right)) = (left.get(left.len().wrapping_sub(before)..), right.get(..after)) else {
                return false;
            };
            let bit = context(left, right);
            self.contexts[bit / 64] >> (bit % 64) & 1 != 0
        })
    }
}

/// Whether contexts are kept for a place between these two bytes: where a character that is not ASCII ends. Elsewhere
/// they hardly ever allow a cut, and asking them would cost more than it gives.
#[inline]
fn between_characters(left: u8, right: u8) -> bool {
    left >= 0x80 && right & 0xC0 != 0x80
}

/// The bit of a context.
#[inline]
fn context(left: &[u8], right: &[u8]) -> usize {
    let word = |bytes: &[u8]| bytes.iter().fold(1u64, |word, &byte| word << 8 | u64::from(byte));
    let key = word(left) << 32 | word(right);
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All places of `text` that are allowed, one after another.
    fn cuts(crossings: &Crossings, text: &[u8]) -> Vec<usize> {
        let (mut cuts, mut at) = (Vec::new(), 0);
        while at < text.len() {
            at = crossings.next_cut(text, at, text.len());
            cuts.push(at);
        }
        cuts
    }

    #[test]
    fn no_cut_is_inside_any_token_of_the_text() {
        let tokens: Vec<&[u8]> = vec![b"ab", "日本".as_bytes(), "本語".as_bytes(), b"\xAC\xE8", b"bc"];
        let crossings = Crossings::new(tokens.iter().copied());
        assert_eq!(cuts(&crossings, b"abcxab"), [3, 4, 6]);
        let text = "日本語日語".as_bytes();
        let cuts = cuts(&crossings, text);
        for token in tokens {
            for start in 0..text.len() {
                if text[start..].starts_with(token) {
                    assert!(cuts.iter().all(|&cut| cut <= start || cut >= start + token.len()));
                }
            }
        }
        assert_eq!(cuts, [9, 12, 15]);
    }
}
