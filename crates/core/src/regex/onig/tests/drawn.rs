//! Drawn regexes on drawn texts.

use super::{CASED, Draw, HARD, Tally, times};

const ATOMS: &[&str] = &[
    "a",
    "b",
    "c",
    "s",
    "f",
    "i",
    "l",
    "t",
    "n",
    "é",
    "ß",
    "K",
    "ʼ",
    " ",
    "1",
    r"\n",
    r"\.",
    r"\w",
    r"\W",
    r"\d",
    r"\D",
    r"\s",
    r"\S",
    r"\h",
    r"\H",
    ".",
    r"\N",
    r"\O",
    r"\R",
    r"\p{L}",
    r"\P{L}",
    r"\p{^Lu}",
    r"\P{^Lu}",
    r"\p{Lu}",
    r"\p{Han}",
    r"\p{Word}",
    r"\p{Punct}",
    r"\p{Alnum}",
    r"\p{graph}",
    r"\P{graph}",
    r"\p{M}",
    r"\x61",
    r"\x{e9}",
    r"\u0430",
    r"\o{141}",
    r"\012",
    r"\e",
    r"\v",
    r"\'",
    r"\/",
    "]",
    "}",
    "{",
    "{x",
    "-",
    "&&",
];
const PLACES: &[&str] = &["^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B"];
const QUANTIFIERS: &[&str] = &[
    "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++", "{2}", "{1,2}", "{,2}", "{1,}", "{2}?", "{2}+", "{1,2}?",
    "{1,2}+", "{1,}?", "{3,1}", "{2,1}?", "{2,1}+", "{0}", "{0,1}",
];
const GROUPS: &[&str] = &[
    "(?:", "(?:", "(?:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?m:", "(?x:", "(?-i:", "(?im-x:", "(?<n>",
    "(?i)", "(?m)", "(?x)", "(?~", "(?'o'",
];
pub const ITEMS: &[&str] = &[
    "a",
    "b",
    "s",
    "k",
    "z",
    "S",
    "é",
    "ß",
    "0",
    " ",
    "a-c",
    "A-Z",
    "b-é",
    r"\x{0}-é",
    "!-~",
    "一-龥",
    "-",
    "^",
    "&",
    "&&",
    "&&",
    ":",
    r"\n",
    r"\s",
    r"\S",
    r"\w",
    r"\W",
    r"\d",
    r"\D",
    r"\h",
    r"\H",
    r"\p{L}",
    r"\P{L}",
    r"\p{^N}",
    r"\p{Lu}",
    r"\P{Lu}",
    r"\p{Lower}",
    r"\p{Han}",
    "[:alpha:]",
    "[:^alpha:]",
    "[:punct:]",
    "[:word:]",
    "[:graph:]",
    "[:print:]",
    "[:cntrl:]",
    r"\]",
    r"\[",
    r"\-",
    r"\b",
    r"\x41",
    r"\101",
    r"\u00e9",
    "|",
    "(",
    ".",
    "$",
    "~~",
    "--",
];

/// A class of drawn items.
fn class(draw: &mut Draw, depth: usize) -> String {
    let mut text = String::from(draw.of(&["[", "[", "[^"]));
    for _ in 0..=draw.below(4) {
        match draw.below(8) {
            0 if depth > 0 => text.push_str(&class(draw, depth - 1)),
            1 => text.push(HARD[draw.below(HARD.len())]),
            _ => text.push_str(draw.of(ITEMS)),
        }
    }
    text + "]"
}

/// A regex of drawn parts, most of them valid.
fn pattern(draw: &mut Draw, depth: usize) -> String {
    let mut text = String::new();
    for turn in 0..=draw.below(4) {
        if turn > 0 && draw.below(5) == 0 {
            text.push('|');
        }
        match draw.below(12) {
            0 | 1 if depth > 0 => {
                text.push_str(draw.of(GROUPS));
                text.push_str(&pattern(draw, depth - 1));
                text.push(')');
            }
            2 | 3 => text.push_str(&class(draw, 2)),
            4 => text.push_str(draw.of(PLACES)),
            5 => text.push(HARD[draw.below(HARD.len())]),
            6 if draw.below(2) == 0 => text.push_str(draw.of(&[r"\1", r"\2", r"\k<n>", "(?#c)", " ", "#"])),
            _ => text.push_str(draw.of(ATOMS)),
        }
        while draw.below(3) == 0 {
            text.push_str(draw.of(QUANTIFIERS));
        }
    }
    text
}

#[test]
fn drawn_patterns_find_the_same() {
    let (mut tally, mut draw) = (Tally::default(), Draw(1));
    for _ in 0..times(6000) {
        let pattern = pattern(&mut draw, 3);
        tally.hold_drawn(&pattern, &mut draw, HARD);
    }
    tally.check("drawn");
}

#[test]
fn folds_find_the_same() {
    let (mut tally, mut draw) = (Tally::default(), Draw(2));
    for _ in 0..times(6000) {
        let mut pattern = String::from(draw.of(&["(?i)", "(?i:", "(?i:"]));
        for _ in 0..=draw.below(4) {
            match draw.below(10) {
                0 => pattern.push('|'),
                1 => pattern.push_str(draw.of(&["(?:", "(", "(?>", "(?-i:"])),
                2 => pattern.push(')'),
                3 => {
                    pattern.push_str(draw.of(&["[", "[^"]));
                    for _ in 0..=draw.below(2) {
                        pattern.push_str(draw.of(&[
                            "a-z",
                            "A-Z",
                            r"\p{Lu}",
                            r"\P{Lu}",
                            r"\p{L}",
                            "^a",
                            "s",
                            "[^s]",
                            "&&",
                            r"\W",
                            "[:^upper:]",
                            "[:print:]",
                        ]));
                        pattern.push(CASED[draw.below(CASED.len())]);
                    }
                    pattern.push(']');
                }
                4 => pattern.push_str(draw.of(&[r"\w", r"\W", r"\p{Lu}", r"\P{Ll}", r"\b", r"\p{L}", r"\s"])),
                _ => pattern.push(CASED[draw.below(CASED.len())]),
            }
            if draw.below(3) == 0 {
                pattern.push_str(draw.of(QUANTIFIERS));
            }
        }
        let open = pattern.matches('(').count() - usize::from(pattern.starts_with("(?i)"));
        pattern.extend(std::iter::repeat_n(
            ')',
            open.saturating_sub(pattern.matches(')').count().saturating_sub(usize::from(pattern.starts_with("(?i)")))),
        ));
        tally.hold_drawn(&pattern, &mut draw, CASED);
    }
    tally.check("folds");
}

const SMALL_ATOMS: &[&str] = &[
    "a",
    "b",
    "ab",
    "ba",
    r"\n",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\1",
    r"\2",
    r"\k<n>",
    "^",
    "$",
    r"\A",
    r"\z",
    r"\Z",
    r"\b",
    r"\B",
    r"\s++$",
    r"\R",
    "(?<=a)",
    "(?<!a|ba)",
];

/// A regex over two letters and the end of a line.
fn small(draw: &mut Draw, depth: usize) -> String {
    let mut text = String::new();
    for turn in 0..=draw.below(4) {
        if turn > 0 && draw.below(4) == 0 {
            text.push('|');
        }
        if depth > 0 && draw.below(3) == 0 {
            text.push_str(
                draw.of(&["(?:", "(?:", "(", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?m:", "(?<n>", "(?m)"]),
            );
            text.push_str(&small(draw, depth - 1));
            text.push(')');
        } else {
            text.push_str(draw.of(SMALL_ATOMS));
        }
        while draw.below(3) == 0 {
            text.push_str(draw.of(QUANTIFIERS));
        }
    }
    text
}

#[test]
fn small_patterns_find_the_same_in_every_small_text() {
    let mut texts = Vec::new();
    for (alphabet, longest) in [("ab\n", 4), ("ab", 6)] {
        let mut last = vec![String::new()];
        for _ in 0..longest {
            last = last.iter().flat_map(|text| alphabet.chars().map(move |char| format!("{text}{char}"))).collect();
            texts.extend_from_slice(&last);
        }
    }
    let (mut tally, mut draw) = (Tally::default(), Draw(4));
    for _ in 0..times(8000) {
        tally.hold(&small(&mut draw, 2), &texts);
    }
    tally.check("small");
}
