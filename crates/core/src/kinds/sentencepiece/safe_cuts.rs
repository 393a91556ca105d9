//! Finds places where a text of characters can be cut without changing an id.
//!
//! A merge makes a token. So nothing merges across a place unless some token holds the characters on both sides of it,
//! next to each other. A segment ends where no token does. One table holds exactly the pairs of nearest bytes in
//! tokens. A table of bits does the same for whole characters; it can have false positives, but no false negatives. A
//! missing cut costs time and changes no id.

use crate::kinds::sentencepiece::normalize::SPACE_MARK;
use crate::simd::{self, planes};

/// The places examined together.
const STRIDE: usize = simd::BLOCK;
/// The binary logarithm of the bits in the table of characters.
const BITS: u32 = 20;

/// In the table of bytes: a cut, the lowest bit.
const CUT: u8 = 1;
/// In the table of bytes: the characters decide, the next bit.
const ASK: u8 = 2;

/// The pairs that tokens of one vocabulary hold.
#[derive(Debug)]
pub struct CharCuts {
    /// By the bytes before and after a place: no cut (0), `CUT` or `ASK`.
    bytes: Box<[u8]>,
    /// A bit for the hash of each pair of neighbours.
    characters: Box<[u64]>,
}

impl CharCuts {
    /// The memory of the tables in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.bytes) + size_of_val(&*self.characters)
    }

    /// Makes the tables of the tokens. With `escape`, a space in a text means `▁` in a token.
    #[must_use]
    pub fn new<'t>(tokens: impl Iterator<Item = &'t str>, escape: bool) -> Self {
        let mut cuts = Self { bytes: vec![CUT; 1 << 16].into(), characters: vec![0; 1 << (BITS - 6)].into() };
        for (left, inside) in (0..=u8::MAX).flat_map(|left| (0x80..0xC0).map(move |inside| (left, inside))) {
            cuts.bytes[pair(left, inside)] = 0;
        }
        let forms = |char: &'t str| {
            let space = (escape && char.as_bytes() == SPACE_MARK).then_some(" ");
            std::iter::once(char).chain(space)
        };
        for token in tokens {
            let characters = token.split_inclusive(|_| true);
            for (left, right) in characters.clone().zip(characters.skip(1)) {
                for left in forms(left) {
                    forms(right).for_each(|right| cuts.add_pair(left.as_bytes(), right.as_bytes()));
                }
            }
        }
        cuts
    }

    /// Records that some token holds these characters next to each other.
    fn add_pair(&mut self, left: &[u8], right: &[u8]) {
        let bit = bit(window(left, right));
        self.characters[bit / 64] |= 1 << (bit % 64);
        let ascii = left.len() + right.len() == 2;
        self.bytes[pair(left[left.len() - 1], right[0])] = if ascii { 0 } else { ASK };
    }

    /// Calls `each` with the start and end of every segment of `text`, which is UTF-8, in order.
    ///
    /// # Errors
    /// The errors of `each`.
    pub fn for_each_segment<E>(
        &self,
        text: &[u8],
        mut each: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut start, mut at) = (0, 1);
        while at < text.len() {
            let stretch = &text[at - 1..text.len().min(at + STRIDE)];
            let mut cuts = self.cut_bits(text, at, stretch);
            while cuts != 0 {
                let end = at + cuts.trailing_zeros() as usize;
                each(start, end)?;
                start = end;
                cuts &= cuts - 1;
            }
            at += STRIDE;
        }
        if start < text.len() { each(start, text.len()) } else { Ok(()) }
    }

    /// The end of the first segment of `text`.
    #[must_use]
    pub fn first_end(&self, text: &[u8]) -> usize {
        self.for_each_segment(text, |_, end| Err(end)).err().unwrap_or(text.len())
    }

    /// A bit for each cut among the places from `at` on; the first place is after the first byte of `stretch`.
    #[inline]
    fn cut_bits(&self, text: &[u8], at: usize, stretch: &[u8]) -> u64 {
        let mut kinds = [0; STRIDE];
        if let Ok(full) = <&[u8; STRIDE + 1]>::try_from(stretch) {
            for (place, kind) in kinds.iter_mut().enumerate() {
                *kind = self.bytes[pair(full[place], full[place + 1])];
            }
        } else {
            for (bytes, kind) in stretch.windows(2).zip(&mut kinds) {
                *kind = self.bytes[pair(bytes[0], bytes[1])];
            }
        }
        let [mut cuts, mut asked, ..] = planes(&kinds);
        while asked != 0 {
            let place = asked.trailing_zeros();
            cuts |= u64::from(self.is_cut(text, at + place as usize)) << place;
            asked &= asked - 1;
        }
        cuts
    }

    /// Whether no token holds the characters on both sides of `at` next to each other.
    #[inline]
    fn is_cut(&self, text: &[u8], at: usize) -> bool {
        let bytes = if let Some(bytes) = at.checked_sub(4).and_then(|start| text[start..].first_chunk()) {
            neighbours(u64::from_le_bytes(*bytes))
        } else {
            let left = 1 + text[..at].iter().rev().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
            window(&text[at - left..at], &text[at..text.len().min(at + char_len(text[at]))])
        };
        let bit = bit(bytes);
        self.characters[bit / 64] >> (bit % 64) & 1 == 0
    }
}

/// The characters before and after the middle of eight bytes, as from [`window`], without branches on their lengths.
#[inline]
fn neighbours(bytes: u64) -> u64 {
    let begins = !(bytes >> 7 & !(bytes >> 6)) as u32 & 0x0101_0101;
    // The bits of the bytes before the left character, and after the right one.
    let before = (begins | 1).ilog2();
    let after = 32 - 8 * ((bytes >> 32) as u8).leading_ones().clamp(1, 4);
    let kept = bytes >> before << before;
    kept << after >> after
}

#[inline]
fn pair(left: u8, right: u8) -> usize {
    usize::from(u16::from_le_bytes([left, right]))
}

/// Two characters in one word, with the last byte of the left one and the first of the right one in the middle.
fn window(left: &[u8], right: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[4 - left.len()..4].copy_from_slice(left);
    bytes[4..4 + right.len()].copy_from_slice(right);
    u64::from_le_bytes(bytes)
}

#[inline]
fn bit(window: u64) -> usize {
    (window.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BITS)) as usize
}

/// The length of a character by its first byte.
#[inline(always)]
#[must_use]
pub fn char_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    fn list_segments<'t>(cuts: &CharCuts, text: &'t str) -> Vec<&'t str> {
        let mut found = Vec::new();
        let each = |start: usize, end: usize| -> Result<(), ()> {
            found.push(&text[start..end]);
            Ok(())
        };
        cuts.for_each_segment(text.as_bytes(), each).unwrap();
        assert_eq!(found.concat(), text);
        assert_eq!(cuts.first_end(text.as_bytes()), found.first().map_or(0, |first| first.len()));
        found
    }

    #[test]
    fn a_text_is_cut_where_no_token_holds_both_characters() {
        let cuts = CharCuts::new(["▁ab", "bc", "日本", "a日", "▁▁"].into_iter(), true);
        assert_eq!(list_segments(&cuts, " ab abc"), [" ab", " abc"]);
        assert_eq!(list_segments(&cuts, "▁ab▁abc"), ["▁ab", "▁abc"]);
        assert_eq!(list_segments(&cuts, "  ▁ab"), ["  ▁ab"]);
        assert_eq!(list_segments(&cuts, "日本本日a日"), ["日本", "本", "日", "a日"]);
        assert_eq!(list_segments(&cuts, ""), [""; 0]);
        let long = "日本".repeat(50);
        assert_eq!(list_segments(&cuts, &long), ["日本"; 50]);
    }

    #[test]
    fn neighbours_equal_the_plain_window() {
        let characters = ["a", " ", "\u{7F}", "\u{80}", "é", "\u{7FF}", "▁", "日", "\u{FFFF}", "😀", "\u{10FFFF}"];
        for (left, right) in characters.into_iter().flat_map(|left| characters.map(|right| (left, right))) {
            for (before, after) in characters.into_iter().flat_map(|before| characters.map(|after| (before, after))) {
                let text = format!("{}{left}{right}{}", before.repeat(4), after.repeat(4));
                let at = before.len() * 4 + left.len();
                let bytes = text.as_bytes()[at - 4..].first_chunk().unwrap();
                let expected = window(left.as_bytes(), right.as_bytes());
                assert_eq!(neighbours(u64::from_le_bytes(*bytes)), expected, "{text}");
            }
        }
    }

    #[test]
    fn planes_have_the_bits_of_the_flags() {
        let mut draw = Draw(5);
        for _ in 0..1000 {
            let kinds: [u8; STRIDE] = std::array::from_fn(|_| draw.below(4) as u8);
            for (flag, bits) in [CUT, ASK].into_iter().zip(planes(&kinds)) {
                let expected = (0..STRIDE).fold(0, |bits, at| bits | u64::from(kinds[at] & flag != 0) << at);
                assert_eq!(bits, expected);
            }
        }
    }

    #[test]
    fn an_unescaped_space_is_a_separate_character() {
        let cuts = CharCuts::new(["▁a", "b c"].into_iter(), false);
        assert_eq!(list_segments(&cuts, " a▁ab c"), [" ", "a", "▁a", "b c"]);
    }
}
