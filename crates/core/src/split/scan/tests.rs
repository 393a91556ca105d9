//! Compares every scanner with its regex. `TOKSMITH_EXHAUSTIVE=1` tests the full depth, which takes more than an hour.
//!
//! No pattern has a look-behind, so the pieces from a piece's start on depend on nothing before it. The regex thus runs
//! once for a text, and the scanner with each padding before it, which moves the text through the block.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use regex_syntax::hir::{Class, HirKind};

use crate::drawn::Draw;
use crate::simd::{BLOCK, Instructions};
use crate::split::pattern::PATTERNS;
use crate::split::scan::{Ends, Scanner};
use crate::split::{Splitter, Text};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// One character of every class that a pattern distinguishes, in each UTF-8 length that has it.
const REPRESENTATIVES: &str = "\
    aslE'1\u{20}\t\n\r/!éÉſª²\u{85}\u{a0}\u{300}ǅʰא٣中\u{2003}…ᾨ𐐀𐐨𝟙😀𑀀\u{1f3fb}¡\u{816}०ა𐀀";

/// One character for each way that the patterns can continue.
const REDUCED: &str = "aA1 \n'!中\u{300}";

/// Paddings that end different kinds of pieces. A row uses paddings whose bytes are pieces, whatever follows except
/// after the last.
const PADDINGS: [&str; 4] = ["1a", "a1", "1\n", "1!"];

/// The text after a text under test, so that it is in a block, and everything that can precede its end.
const AFTER: &str = "tail Tail tail Tail tail Tail tail Tail tail Tail tail Tail tail Tail tail";

/// Every place in a block, and the places where the block's end cuts a text.
const EVERY_OFFSET: RangeInclusive<usize> = 1..=BLOCK + 4;
/// Places where the end of the block cuts texts of a few characters.
const EDGE_OFFSETS: RangeInclusive<usize> = BLOCK - 6..=BLOCK;
/// Places of a text that ends right after the one under test: after a whole block, at its end, and in the next.
const LAST_OFFSETS: [usize; 4] = [BLOCK - 1, BLOCK, BLOCK + 3, BLOCK + 8];

fn choose_depth(usual: usize, full: usize) -> usize {
    if std::env::var_os("TOKSMITH_EXHAUSTIVE").is_some() { full } else { usual }
}

/// A row's scanner and its regex, with buffers.
struct Twins {
    name: &'static str,
    scanner: Scanner,
    regex: Splitter,
    paddings: Vec<&'static str>,
    /// The instruction sets that the scanner uses in turn.
    instructions: Vec<Instructions>,
    /// The texts that the scanner has split.
    texts: usize,
    text: String,
    expected: Vec<usize>,
    found: Vec<usize>,
}

impl Twins {
    /// Fails if the pieces of `text` alone differ.
    fn check_text(&mut self, text: &str) {
        find_ends(&self.regex, text, &mut self.expected);
        self.scan(text, "", 0);
    }

    /// Fails if the pieces of `text` differ, alone or before a block full of words.
    fn check_with_tail(&mut self, text: &str) {
        self.check_text(text);
        let mut longer = std::mem::take(&mut self.text);
        longer.clear();
        longer.push_str(text);
        longer.push_str(AFTER);
        self.check_text(&longer);
        self.text = longer;
    }

    /// As `check_with_tail`, and after a padding of each length in `offsets`, whose kind is the `turn`th.
    fn check_at_offsets(&mut self, text: &str, offsets: RangeInclusive<usize>, turn: usize) {
        self.check_with_tail(text);
        let padding = self.paddings[turn % self.paddings.len()].repeat(BLOCK);
        let last = &padding[padding.len() - 1..];
        find_ends(&self.regex, &format!("{last}{text}{AFTER}"), &mut self.expected);
        let longer = format!("{padding}{text}{AFTER}");
        for offset in offsets {
            self.scan(&longer[padding.len() - offset..], &padding, offset);
        }
        find_ends(&self.regex, &format!("{last}{text}"), &mut self.expected);
        for offset in LAST_OFFSETS {
            self.scan(&longer[padding.len() - offset..longer.len() - AFTER.len()], &padding, offset);
        }
    }

    /// Fails if the scanner's pieces are not `offset - 1` single bytes and then the pieces of `expected`.
    fn scan(&mut self, text: &str, padding: &str, offset: usize) {
        let instructions = self.instructions[self.texts % self.instructions.len()];
        find_scanned_ends(self.scanner, instructions, text, &mut self.found);
        self.texts += 1;
        let single = offset.saturating_sub(1);
        let same = self.found.len() == single + self.expected.len()
            && self.found[..single].iter().copied().eq(1..=single)
            && self.found[single..].iter().zip(&self.expected).all(|(&found, &end)| found == single + end);
        let (name, expected, found) = (self.name, &self.expected, &self.found);
        assert!(
            same,
            "{name}, {instructions:?} on {text:?}, {offset} of {padding:.4?}: {found:?}, not {single} + {expected:?}"
        );
    }
}

fn find_ends(splitter: &Splitter, text: &str, ends: &mut Vec<usize>) {
    ends.clear();
    let mut end = 0;
    splitter
        .split(Text::Str(text), &Bounds::new(text.len(), &Stop::default()), |piece| {
            end += piece.len();
            ends.push(end);
            Ok(())
        })
        .unwrap();
}

fn find_scanned_ends(scanner: Scanner, instructions: Instructions, text: &str, found: &mut Vec<usize>) {
    found.clear();
    let mut ends = Ends::default();
    while found.last().copied().unwrap_or(0) < text.len() {
        scanner.fill_with(instructions, text, found.last().copied().unwrap_or(0), &mut ends);
        found.extend_from_slice(ends.take());
    }
}

/// Runs `check` for every row with a scanner; `--nocapture` prints the number of compared texts.
fn for_each_row(subject: &str, check: impl Fn(&mut Twins)) {
    for row in PATTERNS {
        let Some(scanner) = row.scanner else { continue };
        let start = std::time::Instant::now();
        let (regex, instructions) = (Splitter::without_scanners(row.regexes).unwrap(), Instructions::all());
        let (text, mut expected, found) = (String::new(), Vec::new(), Vec::new());
        let is_cut = |padding: &&str| {
            find_ends(&regex, &padding.repeat(2), &mut expected);
            expected.len() == 2 * padding.len()
        };
        let paddings: Vec<_> = PADDINGS.into_iter().filter(is_cut).collect();
        assert!(!paddings.is_empty(), "{} needs a padding", row.name);
        let mut twins =
            Twins { name: row.name, scanner, regex, paddings, instructions, texts: 0, text, expected, found };
        check(&mut twins);
        println!("{subject}: {}: {} texts, {} s", row.name, twins.texts, start.elapsed().as_secs());
    }
}

/// Calls `check` with every text of at most `length` characters of these, and its number.
fn for_each_tuple(characters: &str, length: usize, mut check: impl FnMut(&str, usize)) {
    let symbols: Vec<char> = characters.chars().collect();
    let mut number = 0;
    for length in 0..=length {
        for code in 0..symbols.len().pow(u32::try_from(length).unwrap()) {
            let mut rest = code;
            let text: String = (0..length)
                .map(|_| {
                    let symbol = symbols[rest % symbols.len()];
                    rest /= symbols.len();
                    symbol
                })
                .collect();
            check(&text, number);
            number += 1;
        }
    }
}

/// The classes that the regexes name: `\s`, `\p{…}` and those in brackets. Single letters of contractions are left out.
fn parse_classes() -> Vec<Vec<(char, char)>> {
    let mut names = HashSet::new();
    for regex in PATTERNS.iter().flat_map(|row| row.regexes) {
        let mut at = 0;
        while at < regex.len() {
            let rest = &regex[at..];
            let len = if rest.starts_with('[') {
                let mut open = 0;
                let closes = rest.char_indices().find(|&(_, char)| {
                    open += i32::from(char == '[') - i32::from(char == ']');
                    open == 0
                });
                closes.unwrap().0 + 1
            } else if rest.starts_with(r"\p{") {
                rest.find('}').unwrap() + 1
            } else if rest.starts_with('\\') {
                2
            } else {
                at += 1;
                continue;
            };
            names.insert(&rest[..len]);
            at += len;
        }
    }
    let ranges = |name: &&str| match regex_syntax::parse(name).unwrap().into_kind() {
        HirKind::Class(Class::Unicode(class)) => class.iter().map(|range| (range.start(), range.end())).collect(),
        HirKind::Literal(_) => Vec::new(),
        other => panic!("{name} is not a class but {other:?}"),
    };
    names.iter().map(ranges).collect()
}

#[test]
fn every_row_has_a_scanner() {
    for row in PATTERNS {
        assert!(row.scanner.is_some(), "{}", row.name);
    }
}

#[test]
fn hard_texts_have_the_pieces_of_their_row() {
    for_each_row("hard texts", |twins| {
        let row = PATTERNS.iter().find(|row| row.name == twins.name).unwrap();
        assert!(row.hard_texts.len() > 1, "{}", row.name);
        for (number, (why, pieces)) in row.hard_texts.iter().enumerate() {
            let text = pieces.concat();
            twins.check_at_offsets(&text, EVERY_OFFSET, number);
            find_ends(&twins.regex, &text, &mut twins.expected);
            let lengths = pieces.iter().scan(0, |end, piece| {
                *end += piece.len();
                Some(*end)
            });
            assert!(twins.expected.iter().copied().eq(lengths), "{}: {why}", row.name);
        }
    });
}

#[test]
fn no_pattern_looks_behind() {
    for regex in PATTERNS.iter().flat_map(|row| row.regexes) {
        for looks in ["(?<", r"\b", r"\B", "^", r"\A", r"\G", r"\K"] {
            assert!(!regex.replace("[^", "[").contains(looks), "{looks} in {regex}");
        }
    }
}

#[test]
fn the_representatives_cover_every_kind() {
    let classes = parse_classes();
    assert!(classes.len() > 8);
    let kind = |char: char| {
        let within = |ranges: &Vec<(char, char)>| ranges.iter().any(|&(first, last)| (first..=last).contains(&char));
        let bits = classes.iter().enumerate().map(|(place, ranges)| u64::from(within(ranges)) << place);
        (char.len_utf8(), bits.sum::<u64>())
    };
    let there: HashSet<_> = REPRESENTATIVES.chars().map(kind).collect();
    let mut found = HashSet::new();
    let missing: Vec<char> =
        ('\0'..=char::MAX).filter(|&char| !there.contains(&kind(char)) && found.insert(kind(char))).collect();
    assert!(missing.is_empty(), "{missing:?} are of kinds that no representative has");
}

#[test]
fn scanners_equal_regexes_on_short_tuples() {
    let length = choose_depth(2, 4);
    for_each_row("representatives", |twins| {
        for_each_tuple(REPRESENTATIVES, length, |text, number| twins.check_at_offsets(text, EVERY_OFFSET, number));
    });
}

#[test]
fn scanners_equal_regexes_on_longer_tuples() {
    let length = choose_depth(4, 7);
    for_each_row("reduced classes", |twins| {
        for_each_tuple(REDUCED, length, |text, number| twins.check_at_offsets(text, EVERY_OFFSET, number));
    });
}

#[test]
fn scanners_equal_regexes_on_contractions() {
    let length = choose_depth(3, 5);
    for_each_row("contractions", |twins| {
        for_each_tuple("'sTlLvErſ\u{212a}x ", length, |text, number| {
            twins.check_at_offsets(text, EVERY_OFFSET, number);
        });
    });
}

#[test]
fn scanners_equal_regexes_on_every_code_point() {
    let step = choose_depth(11, 1);
    for_each_row("code points", |twins| {
        for (number, char) in ('\0'..=char::MAX).step_by(step).enumerate() {
            twins.check_with_tail(&format!("{char}"));
            twins.check_at_offsets(&format!("a{char}b{char}C"), EDGE_OFFSETS, number);
        }
    });
}

#[test]
fn the_bytes_of_a_padding_are_pieces() {
    for_each_row("paddings", |twins| {
        for padding in twins.paddings.clone() {
            for text in REPRESENTATIVES.chars() {
                for times in [1, 2, BLOCK] {
                    twins.check_with_tail(&format!("{}{text}", padding.repeat(times)));
                    let ends = twins.expected[..padding.len() * times - 1].iter().copied();
                    assert!(ends.eq(1..padding.len() * times), "{} on {padding:?} before {text:?}", twins.name);
                }
            }
        }
    });
}

/// The parts of drawn texts, separated by `|`; the first 33 are drawn more often.
const WORDS: &str = "a|B|word|Word|HTTP|camelCase|'s|'ll|'LL|'re|'x|'|''|don't|it'ſ|1|12|123|1234|1234567| |  |   |\t|\t\t|\n|\n\n|\
    \r\n| \n|!|?!|/|//|!\n|!\n/|é|É|中文|\u{300}|\u{a0}|\u{3000}|😀|_|\u{b}|слово|Слово|ДА|हिन्दी|한국어|٣|½|…|’|。|ぁ|ſ|ǅ|ʰ|\
    𐐀|𝟙";

/// Texts of ASCII and a few other characters, long enough for blocks, with every run and edge at every offset.
#[test]
fn scanners_equal_regexes_on_drawn_texts() {
    let rounds = choose_depth(20_000, 1_000_000);
    for_each_row("drawn texts", |twins| {
        let (mut draw, words) = (Draw(7), WORDS.split('|').collect::<Vec<_>>());
        for _ in 0..rounds {
            let mut text = String::new();
            while text.len() < 150 {
                let most = if draw.below(3) == 0 { words.len() } else { 33 };
                text.push_str(words[draw.below(most)]);
            }
            twins.check_with_tail(&text);
        }
    });
}
