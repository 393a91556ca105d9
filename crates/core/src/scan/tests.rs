//! Every scanner against its regex. `TOKSMITH_EXHAUSTIVE=1` goes to the full depth, which takes an hour.

use crate::pattern::{PATTERNS, Pattern};
use crate::split::Splitter;

/// One character of every class that some pattern tells apart, in each length of UTF-8 that has it.
const REPRESENTATIVES: &[&str] = &[
    "a",
    "s",
    "l",
    "E",
    "'",
    "1",
    " ",
    "\t",
    "\n",
    "\r",
    "/",
    "!",
    "é",
    "É",
    "ſ",
    "ª",
    "²",
    "\u{85}",
    "\u{a0}",
    "\u{300}",
    "ǅ",
    "ʰ",
    "א",
    "٣",
    "中",
    "\u{2003}",
    "…",
    "ᾨ",
    "𐐀",
    "𐐨",
    "𝟙",
    "😀",
    "𑀀",
    "\u{1f3fb}",
];

/// One character for each way in which the patterns can go on.
const REDUCED: &[&str] = &["a", "A", "1", " ", "\n", "'", "!", "中", "\u{300}"];

fn depth(usual: usize, full: usize) -> usize {
    if std::env::var_os("TOKSMITH_EXHAUSTIVE").is_some() { full } else { usual }
}

fn pieces(splitter: &Splitter, text: &str) -> Vec<usize> {
    let (mut ends, mut end) = (Vec::new(), 0);
    splitter
        .split(text.as_bytes(), |piece| {
            end += piece.len();
            ends.push(end);
            Ok(())
        })
        .unwrap();
    ends
}

/// What follows a text under test, so that it stands in a block, and what a block may have before its end.
const AFTER: &str = "tail Tail tail Tail tail Tail tail Tail tail Tail tail Tail tail Tail tail";

fn each_row(check: impl Fn(&Pattern, &dyn Fn(&str))) {
    for row in PATTERNS {
        let fast = Splitter::new(row.regexes).unwrap();
        let slow = Splitter::without_scanners(row.regexes).unwrap();
        check(row, &|text| {
            assert_eq!(pieces(&fast, text), pieces(&slow, text), "{} on {text:?}", row.name);
            let longer = format!("{text}{AFTER}");
            assert_eq!(pieces(&fast, &longer), pieces(&slow, &longer), "{} on {longer:?}", row.name);
        });
    }
}

fn tuples(symbols: &[&str], length: usize, text: &mut String, check: &dyn Fn(&str)) {
    check(text);
    if length > 0 {
        for symbol in symbols {
            let end = text.len();
            text.push_str(symbol);
            tuples(symbols, length - 1, text, check);
            text.truncate(end);
        }
    }
}

#[test]
fn every_row_has_a_scanner() {
    for row in PATTERNS {
        assert!(row.scanner.is_some(), "{}", row.name);
    }
}

#[test]
fn all_short_tuples_of_representatives() {
    let length = depth(2, 4);
    each_row(|_, check| tuples(REPRESENTATIVES, length, &mut String::new(), check));
}

#[test]
fn all_longer_tuples_of_the_reduced_classes() {
    let length = depth(4, 7);
    each_row(|_, check| tuples(REDUCED, length, &mut String::new(), check));
}

#[test]
fn contractions_in_every_case() {
    let symbols = ["'", "s", "T", "l", "L", "v", "E", "r", "ſ", "K", "x", " "];
    each_row(|_, check| tuples(&symbols, depth(3, 4), &mut String::new(), check));
}

#[test]
fn every_code_point_alone_and_between_letters() {
    let step = depth(11, 1);
    each_row(|_, check| {
        for char in ('\0'..=char::MAX).step_by(step) {
            check(&format!("{char}"));
            check(&format!("a{char}b{char}C"));
        }
    });
}

/// What texts are drawn from; the first 33 more often.
const WORDS: &[&str] = &[
    "a",
    "B",
    "word",
    "Word",
    "HTTP",
    "camelCase",
    "'s",
    "'ll",
    "'LL",
    "'re",
    "'x",
    "'",
    "''",
    "don't",
    "it'ſ",
    "1",
    "12",
    "123",
    "1234",
    "1234567",
    " ",
    "  ",
    "   ",
    "\t",
    "\t\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n",
    "!",
    "?!",
    "/",
    "//",
    "!\n",
    "!\n/",
    "é",
    "É",
    "中文",
    "\u{300}",
    "\u{a0}",
    "\u{3000}",
    "😀",
    "_",
    "\u{b}",
    "слово",
    "Слово",
    "ДА",
    "हिन्दी",
    "한국어",
    "٣",
    "½",
    "…",
    "’",
    "。",
    "ぁ",
    "ſ",
    "ǅ",
    "ʰ",
    "𐐀",
    "𝟙",
];

/// Texts of ASCII and a little else, long enough for blocks, with every run and edge at every offset sooner or later.
#[test]
fn drawn_texts_longer_than_a_block() {
    let rounds = depth(20_000, 1_000_000);
    each_row(|_, check| {
        let mut state = 7u64;
        for _ in 0..rounds {
            let mut text = String::new();
            while text.len() < 150 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let pick = (state >> 33) as usize;
                text.push_str(WORDS[if pick.is_multiple_of(3) { pick / 3 % WORDS.len() } else { pick / 3 % 33 }]);
            }
            check(&text);
        }
    });
}
