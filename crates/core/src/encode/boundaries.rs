//! Finds places where a text can be cut so that the parts, encoded separately, give the ids of the whole, whatever text
//! comes before and after the known part.
//!
//! A text that is split by a row with proven cuts is cut by their rule ([`crate::split::text_cuts`]), which looks at
//! two characters. A raw stream is cut where no token fits across the place ([`crate::merge::safe_cuts`]), so that no
//! merge crosses it. It is not cut if a whole piece can be a token, because then the length of a piece matters. Other
//! texts have no cuts.
//!
//! No cut is inside an occurrence of an added token. If more text can follow, an occurrence can begin in the known part
//! and end after it. Then there is no cut after the place where it can begin.

use crate::encode::encoder::Encoder;
use crate::split::text_cuts::{TextCuts, WINDOW};
use crate::vocab::Unit;

/// The bytes searched at a time for the last cut.
const STRIDE: usize = 1 << 8;
/// The bytes on each side of a place that can affect the decision about it, apart from added tokens.
const AHEAD: usize = 8;

/// Finds the cuts of an encoder's texts by the rule of this module.
#[derive(Debug, Clone, Copy)]
pub struct StableCuts<'e> {
    encoder: &'e Encoder,
    cuts: Option<&'e TextCuts>,
}

impl<'e> StableCuts<'e> {
    /// The cuts of an encoder's texts; `cuts` are its pattern's cuts.
    #[must_use]
    pub fn new(encoder: &'e Encoder, cuts: Option<&'e TextCuts>) -> Self {
        Self { encoder, cuts }
    }

    fn is_raw(self) -> bool {
        let vocab = self.encoder.vocab();
        self.encoder.is_raw() && vocab.unit() != Unit::Piece && !vocab.whole_piece()
    }

    /// The first cut after `from` in a complete text.
    #[must_use]
    pub fn first_cut(self, text: &[u8], from: usize) -> Option<usize> {
        let added = self.encoder.added();
        let Some(cuts) = self.cuts else {
            return self
                .uncrossed_places(text, from)
                .find(|&cut| ends_character(text, cut) && !added.crosses(text, cut));
        };
        let mut from = from;
        while from < text.len() {
            if let Some(cut) = cuts.find(text, from, added) {
                return Some(cut);
            }
            // The next search must cover the edge of this one.
            from += WINDOW - 8;
        }
        None
    }

    /// The last cut after `from` that is valid whatever text follows.
    #[must_use]
    pub fn last_cut(self, text: &[u8], from: usize) -> Option<usize> {
        let reach = text.len() - self.encoder.added().partial_len(text);
        let ahead = AHEAD + self.encoder.added().longest();
        let (mut start, mut end) = (reach, reach);
        while start > from {
            start = start.saturating_sub(STRIDE).max(from);
            let (mut at, mut last) = (start, None);
            while let Some(cut) = self.first_cut(&text[..text.len().min(end + ahead)], at).filter(|&cut| cut <= end) {
                (at, last) = (cut, Some(cut));
            }
            if last.is_some() {
                return last;
            }
            end = start;
        }
        None
    }

    /// The nearest cuts around a part of a complete text that are valid whatever the part holds: the last before it, or
    /// 0, and one after it, or the end.
    #[must_use]
    pub fn around(self, text: &[u8], start: usize, end: usize) -> (usize, usize) {
        let aside = AHEAD + self.encoder.added().longest();
        let mut size = aside + STRIDE;
        let first = loop {
            let from = start.saturating_sub(size);
            match self.last_cut(&text[from..start], if from == 0 { 0 } else { aside }) {
                Some(cut) => break from + cut,
                None if from == 0 => break 0,
                None => size *= 2,
            }
        };
        size = aside + STRIDE;
        loop {
            let Some(rest) = text.get(end..end + size) else { return (first, text.len()) };
            match self.last_cut(rest, aside) {
                Some(cut) => return (first, end + cut),
                None => size *= 2,
            }
        }
    }

    /// Places after `from` that no merge crosses.
    fn uncrossed_places<'t>(self, text: &'t [u8], from: usize) -> impl Iterator<Item = usize> + 't
    where
        'e: 't,
    {
        let inner = text.iter().skip(from).take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let start = from + inner;
        let known =
            if self.is_raw() && start < text.len() { self.encoder.piece_encoder().merger().safe_cuts() } else { None };
        known.into_iter().flat_map(move |crossings| crossings.cuts(text, start, text.len()))
    }
}

/// Whether a well-formed character ends at `at`, and another begins there or the text ends.
fn ends_character(text: &[u8], at: usize) -> bool {
    let begins = text.get(at).is_none_or(|&byte| byte & 0xC0 != 0x80);
    begins
        && (1..=at.min(4))
            .any(|len| std::str::from_utf8(&text[at - len..at]).is_ok_and(|char| char.chars().count() == 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::{Draw, added_token, bytes_vocab, encode_text, plain_encoder};
    use crate::split::Text;
    use crate::split::pattern::PATTERNS;
    use crate::split::special::Allow;

    fn make_encoder(regexes: &[&str]) -> Encoder {
        let tokens = ["ab", "abab", "a ", " a", "  ", "日", "本日", "\u{301}a", "12", "'s", "é", "éa", "aaaa"];
        let added = [("<|end|>", 900, true), ("<|en", 901, false), ("a b", 902, true)];
        let added = added.map(|(content, id, special)| added_token(content, id, special));
        plain_encoder(bytes_vocab(&tokens), added.into(), regexes)
    }

    fn encode_bytes(encoder: &Encoder, text: &[u8], allow: &Allow) -> Vec<u32> {
        encode_text(encoder, Text::Bytes(text), allow).unwrap()
    }

    /// Parts of texts: characters of all classes, parts of added tokens, and bytes that are not UTF-8.
    fn parts() -> Vec<&'static [u8]> {
        let words = ["a", "ab", " ", "  ", "\n", "'", "s", "12", "日", "本", "é", "\u{301}", "<|en", "d|>", "!"]
            .map(str::as_bytes);
        [&words[..], &[b"\xE6", b"\x97", b"\xFF"]].concat()
    }

    #[test]
    fn ids_outside_the_cuts_around_a_part_do_not_depend_on_it() {
        let words = parts();
        let mut draw = Draw(6);
        for regexes in PATTERNS.iter().map(|row| row.regexes).chain([&[] as &[&str]]) {
            let encoder = make_encoder(regexes);
            assert_eq!(encoder.cuts().is_some(), TextCuts::for_patterns(regexes).is_some());
            let cuts = StableCuts::new(&encoder, encoder.cuts());
            let mut inner = 0;
            for round in 0..1000 {
                let count = 1 + draw.below(if round % 10 == 0 { 900 } else { 24 });
                let text = draw.bytes(&words, count);
                let start = draw.below(text.len() + 1);
                let end = (start + draw.below(9)).min(text.len());
                let (first, last) = cuts.around(&text, start, end);
                assert!(first <= start && end <= last);
                inner += usize::from(first > 0 || last < text.len());
                for added in [0, 3] {
                    let other = [&text[..start], &draw.bytes(&words, added), &text[end..]].concat();
                    let other_last = other.len() - (text.len() - last);
                    let parts = [&text[..first], &other[first..other_last], &text[last..]];
                    let parts = parts.map(|part| encode_bytes(&encoder, part, &Allow::All)).concat();
                    assert_eq!(parts, encode_bytes(&encoder, &other, &Allow::All), "{}", other.escape_ascii());
                }
            }
            assert!(inner > 300 || TextCuts::for_patterns(regexes).is_none(), "{inner}");
        }
    }

    #[test]
    fn a_cut_changes_no_id_whatever_text_follows() {
        let words = parts();
        let mut draw = Draw(5);
        for regexes in PATTERNS.iter().map(|row| row.regexes).chain([&[] as &[&str]]) {
            let (encoder, cuts) = (make_encoder(regexes), TextCuts::for_patterns(regexes));
            let stable_cuts = StableCuts::new(&encoder, cuts.as_ref());
            let mut found = 0;
            for round in 0..3000 {
                let count = 1 + draw.below(if round % 50 == 0 { 900 } else { 24 });
                let text = draw.bytes(&words, count);
                let allow = [Allow::All, Allow::Text][round % 2].clone();
                let known = draw.below(text.len() + 1);
                let from = draw.below(known + 1);
                let cuts = [stable_cuts.last_cut(&text[..known], from), stable_cuts.first_cut(&text, from)];
                for cut in cuts.into_iter().flatten() {
                    assert!(cut > from && cut <= text.len());
                    let sides =
                        [encode_bytes(&encoder, &text[..cut], &allow), encode_bytes(&encoder, &text[cut..], &allow)]
                            .concat();
                    assert_eq!(sides, encode_bytes(&encoder, &text, &allow), "{} at {cut}", text.escape_ascii());
                    found += 1;
                }
            }
            assert!(found > 2000, "{found}");
        }
    }
}
