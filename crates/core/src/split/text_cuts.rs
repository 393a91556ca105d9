//! Finds places where a long text can be cut into separate texts without changing a piece.
//!
//! The rule looks at two characters, a before the cut and b after it. One of these holds:
//!
//! 1. a is not white space, and b is white space but neither CR nor LF;
//! 2. a is a number and b is not;
//! 3. a is a letter and b is neither a letter, nor a mark, nor an apostrophe.
//!
//! **Why the pieces stay the same.** The proof is for the rows with `has_cuts`, and only these are cut.
//!
//! - *No piece holds a followed by b*: read the branches of the regexes. White space other than CR and LF comes first
//!   in a piece or after white space; nothing but numbers follows a number; what follows a letter in a piece is a
//!   letter, a mark, or an apostrophe. So a piece of the whole text ends at the cut.
//! - *The text before the cut has the same pieces alone.* A branch that depends on the difference would reach the cut.
//!   A run that ends there ends because b is not of its class; at the end of the text it ends too. The look-aheads
//!   `(?!\S)` and `$` come after white space, and a is not white space, so that they look at characters before the cut.
//! - *So has the text after the cut*, because no pattern of the table has a look-behind.
//!
//! The classes of characters are those of the regex engine that runs the patterns. Added tokens are cut out before a
//! text is split. A cut is never inside an occurrence of one. The search goes from left to right and does not overlap,
//! and so it finds the same on both sides. If some bytes are not UTF-8, a and b are both well-formed, and the bad runs
//! on either side stay whole.
//!
//! A list of regexes that is not a row, or is empty, has no cuts.

use crate::split::pattern::{self, Pattern};
use crate::split::scan::class::{CASELESS, END, LETTER, NEWLINE, NUMBER, SPACE, classes};
use crate::split::special::AddedTokens;

/// The bytes searched for a cut.
pub const WINDOW: usize = 1 << 12;

/// Finds the cuts of texts that one pattern splits.
#[derive(Debug)]
pub struct TextCuts(());

/// The parts of a text that can be encoded, counted and tallied separately, as start and end. Each except the last has
/// at least `least` bytes. Without cuts the text is one part.
///
/// At a cut no word, number or indentation continues, and no space precedes a word.
pub fn text_parts<'t>(
    text: &'t [u8],
    cuts: Option<&'t TextCuts>,
    added: &'t AddedTokens,
    least: usize,
) -> impl Iterator<Item = (usize, usize)> + Send + 't {
    let least = if cuts.is_some() { least } else { usize::MAX };
    cut_up(text.len(), least, move |from| cuts?.find(text, from, added))
}

/// Cuts a text of `len` units into parts, as start and end. `cut` returns the first cut after a place, if it is near.
pub fn cut_up(
    len: usize,
    least: usize,
    mut cut: impl FnMut(usize) -> Option<usize>,
) -> impl Iterator<Item = (usize, usize)> {
    let mut next = Some(0usize);
    std::iter::from_fn(move || {
        let start = next.take()?;
        let mut from = start;
        loop {
            from = from.saturating_add(least);
            if from >= len {
                return Some((start, len));
            }
            next = cut(from);
            if let Some(end) = next {
                return Some((start, end));
            }
        }
    })
}

impl TextCuts {
    /// The cuts for these regexes; None if they are not proven.
    #[must_use]
    pub fn for_patterns(patterns: &[impl AsRef<str>]) -> Option<Self> {
        pattern::find_pattern(patterns)?.has_cuts.then_some(Self(()))
    }

    /// The same for a row of the table.
    #[must_use]
    pub fn for_row(row: &Pattern) -> Option<&'static Self> {
        row.has_cuts.then_some(&Self(()))
    }

    /// The first cut after `from`, if it is in the [`WINDOW`] bytes there. The decision depends on text before
    /// `from + WINDOW` plus the length of the longest added token.
    #[must_use]
    pub fn find(&self, text: &[u8], from: usize, added: &AddedTokens) -> Option<usize> {
        let inner = text.get(from..)?.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
        let mut at = from + inner;
        let end = text.len().min(from + WINDOW);
        for chunk in text.get(at..end)?.utf8_chunks() {
            if let Some(cut) = first_cut(chunk.valid(), |cut| !added.crosses(text, at + cut)) {
                return Some(at + cut);
            }
            at += chunk.valid().len() + chunk.invalid().len();
        }
        None
    }

    /// Whether every text that contains `token` is cut inside it, whatever is around it.
    #[must_use]
    pub fn cuts_inside(&self, token: &str) -> bool {
        first_cut(token, |_| true).is_some()
    }
}

/// The first cut by the rule that is allowed.
fn first_cut(text: &str, allowed: impl Fn(usize) -> bool) -> Option<usize> {
    let (classes, mut before) = (classes(), END);
    for (at, char) in text.char_indices() {
        let bits = classes.bits_of(char.into());
        // A character that is no letter has the bit CASELESS if it is a mark.
        let cuts = before & (SPACE | END) == 0 && bits & (SPACE | NEWLINE) == SPACE
            || before & NUMBER != 0 && bits & NUMBER == 0
            || before & LETTER != 0 && bits & (LETTER | CASELESS) == 0 && char != '\'';
        if cuts && allowed(at) {
            return Some(at);
        }
        before = bits;
    }
    None
}

#[cfg(all(test, feature = "regex"))]
mod tests {
    use fancy_regex::Regex;

    use super::*;
    use crate::drawn::{Draw, added_token, split_text};
    use crate::split::pattern::PATTERNS;
    use crate::split::{Splitter, Text};

    fn no_tokens() -> AddedTokens {
        AddedTokens::new(Vec::new()).unwrap()
    }

    fn regexes_of(name: &str) -> &'static [&'static str] {
        PATTERNS.iter().find(|row| row.name == name).unwrap().regexes
    }

    /// Checks for every cut of `text` that both sides have the pieces of the whole, and returns the number of cuts.
    fn check_cuts(cuts: &TextCuts, splitters: &[Splitter], text: &[u8]) -> usize {
        let mut found = 0;
        let mut from = 0;
        while let Some(cut) = cuts.find(text, from, &no_tokens()) {
            assert!(cut > from);
            for splitter in splitters {
                let [left, right, whole] =
                    [&text[..cut], &text[cut..], text].map(|text| split_text(splitter, Text::Bytes(text)));
                assert_eq!([left, right].concat(), whole, "{:?} at {cut}", text.escape_ascii().to_string());
            }
            found += 1;
            from = cut;
        }
        found
    }

    /// The rule as a regex: each match is a and b.
    const RULE: &str = r"\S[\s--[\r\n]]|\p{N}\P{N}|\p{L}[^\p{L}\p{M}']";

    #[test]
    fn cuts_are_the_matches_of_the_rule() {
        let rule = Regex::new(RULE).unwrap();
        // Every character before and after one of each class.
        let sides = ["a", "日", "\u{301}", "7", " ", "\n", "'", "/"];
        for char in '\0'..=char::MAX {
            for side in sides {
                for text in [format!("{char}{side}"), format!("{side}{char}")] {
                    let cut = first_cut(&text, |_| true).is_some();
                    assert_eq!(cut, rule.is_match(&text).unwrap(), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn a_cut_changes_no_piece() {
        // One character of each class that a row distinguishes, and bytes that are not UTF-8.
        let classes: [&[u8]; 16] = [
            b"a",
            b"A",
            b"s",
            b"l",
            "日".as_bytes(),
            "\u{301}".as_bytes(),
            b"7",
            "²".as_bytes(),
            b" ",
            b"\t",
            "\u{3000}".as_bytes(),
            b"\n",
            b"'",
            b"/",
            "😀".as_bytes(),
            b"\xFF",
        ];
        for Pattern { name, regexes, .. } in PATTERNS.iter().filter(|row| row.has_cuts) {
            let cuts = TextCuts::for_patterns(regexes).unwrap();
            let splitters = [Splitter::new(regexes).unwrap(), Splitter::without_scanners(regexes).unwrap()];
            let mut found = 0;
            for number in 0..16usize.pow(4) {
                let text = (0..4).map(|place| classes[number >> (4 * place) & 15]).collect::<Vec<_>>().concat();
                found += check_cuts(&cuts, &splitters[..], &text);
            }
            assert!(found > 30_000, "{name}: {found}");
            let mut draw = Draw(7);
            for _ in 0..3000 {
                check_cuts(&cuts, &splitters, &draw.bytes(&classes, 24));
            }
        }
    }

    #[test]
    fn only_proven_rows_have_cuts() {
        assert!(TextCuts::for_patterns(&[] as &[&str]).is_none());
        assert!(TextCuts::for_patterns(&[r"\w+"]).is_none());
        assert!(TextCuts::for_patterns(&[regexes_of("gpt2")[0], regexes_of("gpt2")[0]]).is_none());
    }

    #[test]
    fn a_cut_is_after_the_requested_place_and_near() {
        let cuts = TextCuts::for_patterns(regexes_of("o200k")).unwrap();
        assert_eq!(cuts.find(b"ab cd ef", 0, &no_tokens()), Some(2));
        assert_eq!(cuts.find(b"ab cd ef", 2, &no_tokens()), Some(5));
        assert_eq!(cuts.find("日本 x".as_bytes(), 1, &no_tokens()), Some(6));
        assert_eq!(cuts.find(b"ab cd ef", 6, &no_tokens()), None);
        assert_eq!(cuts.find(b"ab", 9, &no_tokens()), None);
        assert_eq!(cuts.find(b"a\xFF b", 0, &no_tokens()), None);
        let far = [&vec![b'x'; WINDOW][..], b" y"].concat();
        assert_eq!(cuts.find(&far, 0, &no_tokens()), None);
        assert_eq!(cuts.find(&far, 9, &no_tokens()), Some(WINDOW));
    }

    #[test]
    fn no_added_token_is_cut() {
        let added = [("a b c", true), ("c d", false), ("d e", true)];
        let added =
            AddedTokens::new(added.map(|(content, special)| added_token(content, 300, special)).into()).unwrap();
        let cuts = TextCuts::for_patterns(regexes_of("gpt2")).unwrap();
        let all = |text: &[u8]| {
            let mut from = 0;
            std::iter::from_fn(|| cuts.find(text, from, &added).inspect(|&cut| from = cut)).collect::<Vec<_>>()
        };
        assert_eq!(all(b"x a b c x"), [1, 7]);
        // `c d` and `d e` overlap others, and the text before decides which of them are found.
        assert_eq!(all(b"a b c d e f"), [9]);
        assert_eq!(all(b"a b d f"), [1, 3, 5]);
    }
}
