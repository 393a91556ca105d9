//! Exact counts of texts and their ids, from which the metrics are computed as ratios.
//!
//! Counts of parts of a corpus add up to the counts of the whole, in any order. A *word* is a letter with the letters
//! and marks after it. A space (U+0020) before a word counts with it, because a tokenizer puts it into the word's token
//! if it can. A *number* is a run of ASCII digits. An *indented line* begins with spaces or tabs and has other text
//! after them.
//!
//! Left out: every ratio.

use std::borrow::Cow;

use hashbrown::HashMap;

use crate::decode::Decoder;
use crate::split::Text;
use crate::split::scan::class::{CASELESS, LETTER, classes};

/// The most digits of a number for which each pattern of cuts is counted.
pub const DIGITS: usize = 12;
/// The widest indentation with a separate row, in spaces.
pub const SPACES: usize = 64;
/// The same in tabs.
pub const TABS: usize = 16;

/// The counts that are single numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextTotals {
    /// Texts.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their bytes that begin a character.
    pub chars: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Texts that differ after encoding and decoding.
    pub changed: u64,
    /// Texts that are not the concatenated bytes of their tokens: the counts below leave them out.
    pub unplaced: u64,
    /// Words.
    pub words: u64,
    /// Tokens that hold a byte of a word, summed over words.
    pub word_tokens: u64,
    /// Words that no single token contains.
    pub cut_words: u64,
    /// Words with a space before them.
    pub spaced: u64,
    /// Spaced words whose first letter is in the token of the space.
    pub glued: u64,
    /// Numbers of more than [`DIGITS`] digits.
    pub long_numbers: u64,
}

impl TextTotals {
    /// The counts by name.
    #[must_use]
    pub fn entries(&mut self) -> [(&'static str, &mut u64); 12] {
        [
            ("documents", &mut self.documents),
            ("bytes", &mut self.bytes),
            ("chars", &mut self.chars),
            ("tokens", &mut self.tokens),
            ("changed", &mut self.changed),
            ("unplaced", &mut self.unplaced),
            ("words", &mut self.words),
            ("word_tokens", &mut self.word_tokens),
            ("cut_words", &mut self.cut_words),
            ("spaced", &mut self.spaced),
            ("glued", &mut self.glued),
            ("long_numbers", &mut self.long_numbers),
        ]
    }
}

/// All counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// The single numbers.
    pub totals: TextTotals,
    /// The occurrences of each id.
    pub ids: HashMap<u32, u64>,
    /// By `1 << (digits - 1) | cuts`, where bit i of `cuts` is set if a token ends after digit i + 1: numbers.
    pub numbers: Vec<u64>,
    /// By width (spaces from 1 on, then tabs from 1 on, then all others): lines, and tokens that end in the
    /// indentation.
    pub indents: Vec<[u64; 2]>,
}

impl Default for Counts {
    fn default() -> Self {
        let (numbers, indents) = (vec![0; 1 << DIGITS], vec![[0; 2]; SPACES + TABS + 1]);
        Self { totals: TextTotals::default(), ids: HashMap::default(), numbers, indents }
    }
}

impl Counts {
    /// Adds other counts.
    pub fn merge(&mut self, mut other: Self) {
        for ((_, own), (_, more)) in self.totals.entries().into_iter().zip(other.totals.entries()) {
            *own += *more;
        }
        for (id, more) in other.ids {
            *self.ids.entry(id).or_default() += more;
        }
        self.numbers.iter_mut().zip(other.numbers).for_each(|(own, more)| *own += more);
        self.indents.iter_mut().zip(other.indents).for_each(|(own, more)| *own = [own[0] + more[0], own[1] + more[1]]);
    }

    /// Adds a document, or a part of it (`begins` for the first), with its ids.
    pub fn add(&mut self, text: Text<'_>, ids: &[u32], decoder: &Decoder, begins: bool) {
        let bytes = text.as_bytes();
        let written = match text {
            Text::Str(text) => Cow::Borrowed(text),
            Text::Bytes(text) => Cow::Owned(blank_invalid(text)),
        };
        for &id in ids {
            *self.ids.entry(id).or_default() += 1;
        }
        self.totals.documents += u64::from(begins);
        self.totals.bytes += bytes.len() as u64;
        self.totals.chars += written.chars().count() as u64;
        self.totals.tokens += ids.len() as u64;
        if let Some(ends) = token_ends(bytes, ids, decoder) {
            return self.count_text(&written, &ends, begins);
        }
        let mut back = Vec::new();
        let outcome = decoder.decode(ids, &mut back);
        self.totals.changed += u64::from(outcome.is_err() || back != bytes);
        self.totals.unplaced += 1;
    }

    /// Counts the words, numbers and indented lines of a text, and their cuts by tokens.
    fn count_text(&mut self, text: &str, ends: &[bool], begins: bool) {
        let (mut at, mut line_begins) = (0, begins);
        while let Some(char) = text[at..].chars().next() {
            at = match char {
                ' ' | '\t' if line_begins => self.count_indent(text, at, ends),
                '0'..='9' => self.count_number(text, at, ends),
                _ if is_letter(char) => self.count_word(text, at, ends),
                _ => at + char.len_utf8(),
            };
            line_begins = matches!(char, '\n' | '\r');
        }
    }

    /// Counts the word that begins at `start`, and returns its end.
    fn count_word(&mut self, text: &str, start: usize, ends: &[bool]) -> usize {
        let end = end_of_run(text, start, |char| classes().bits_of(char as u32) & (LETTER | CASELESS) != 0);
        let spaced = text.as_bytes()[..start].last() == Some(&b' ');
        // The ends of tokens inside the word, or between it and its space.
        let cuts = count(&ends[start + usize::from(!spaced)..end]);
        self.totals.words += 1;
        self.totals.word_tokens += 1 + cuts;
        self.totals.cut_words += u64::from(cuts > 0);
        self.totals.spaced += u64::from(spaced);
        self.totals.glued += u64::from(spaced && !ends[start]);
        end
    }

    /// Counts the number that begins at `start`, and returns its end.
    fn count_number(&mut self, text: &str, start: usize, ends: &[bool]) -> usize {
        let end = end_of_run(text, start, |char| char.is_ascii_digit());
        if end - start > DIGITS {
            self.totals.long_numbers += 1;
        } else {
            // From the last digit to the first, below the bit that marks the number of digits.
            let row = ends[start + 1..end].iter().rev().fold(1, |row, &cut| row << 1 | usize::from(cut));
            self.numbers[row] += 1;
        }
        end
    }

    /// Counts the line whose indentation begins at `start`, unless it is blank, and returns the end of the indentation.
    fn count_indent(&mut self, text: &str, start: usize, ends: &[bool]) -> usize {
        let end = end_of_run(text, start, |char| matches!(char, ' ' | '\t'));
        if !matches!(text.as_bytes().get(end), None | Some(b'\n' | b'\r')) {
            let width = end - start;
            let row = match text[start..end].matches('\t').count() {
                0 if width <= SPACES => width - 1,
                tabs if tabs == width && width <= TABS => SPACES + width - 1,
                _ => SPACES + TABS,
            };
            let [lines, tokens] = &mut self.indents[row];
            *lines += 1;
            *tokens += count(&ends[start + 1..=end]);
        }
        end
    }
}

/// For each place of a text, its end included, whether a token ends there; None if the text is not the bytes of its
/// tokens.
fn token_ends(text: &[u8], ids: &[u32], decoder: &Decoder) -> Option<Vec<bool>> {
    let (mut ends, mut at) = (vec![false; text.len() + 1], 0);
    for &id in ids {
        let token = decoder.token(id)?;
        if !text[at..].starts_with(token) {
            return None;
        }
        at += token.len();
        ends[at] = true;
    }
    (at == text.len()).then_some(ends)
}

/// The text with a zero in place of each byte that is not UTF-8. A zero is not a letter, digit or space.
fn blank_invalid(text: &[u8]) -> String {
    let mut written = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        written.push_str(chunk.valid());
        written.extend(chunk.invalid().iter().map(|_| '\0'));
    }
    written
}

fn is_letter(char: char) -> bool {
    classes().bits_of(char as u32) & LETTER != 0
}

/// The end of the run of characters of this kind that starts at `start`.
fn end_of_run(text: &str, start: usize, is: impl Fn(char) -> bool) -> usize {
    text[start..].find(|char| !is(char)).map_or(text.len(), |length| start + length)
}

fn count(ends: &[bool]) -> u64 {
    ends.iter().map(|&end| u64::from(end)).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::drawn::{added_token, bytes_vocab};

    /// A text, written as its tokens.
    type Written<'a> = &'a [&'a [u8]];
    /// Rows of [`Counts::indents`] by number.
    type Rows<'a> = &'a [(usize, [u64; 2])];

    fn count_tokens(tokens: Written<'_>) -> Counts {
        let mut long: Vec<&str> =
            tokens.iter().filter(|token| token.len() > 1).flat_map(|&token| str::from_utf8(token)).collect();
        long.sort_unstable();
        long.dedup();
        let vocab = Arc::new(bytes_vocab(&long));
        let ids: Vec<u32> = tokens.iter().map(|token| vocab.id(token).unwrap()).collect();
        let mut counts = Counts::default();
        counts.add(Text::Bytes(&tokens.concat()), &ids, &Decoder::new(vocab, &[]), true);
        assert_eq!((counts.totals.unplaced, counts.ids.values().sum()), (0, ids.len() as u64));
        counts
    }

    #[test]
    fn words_and_their_cuts_are_counted() {
        let cases: [(Written<'_>, [u64; 5]); 9] = [
            (&[b"a", b" ", b"b"], [2, 3, 1, 1, 0]),
            (&[b"a", b" b"], [2, 2, 0, 1, 1]),
            (&[b" a", b"b"], [1, 2, 1, 1, 1]),
            (&[b" ", b"a", b"b", b"c"], [1, 4, 1, 1, 0]),
            (&[b"a", b"-", b"_b1c", b"\t", b"d"], [4, 4, 0, 0, 0]),
            (&["日".as_bytes(), "本x".as_bytes()], [1, 2, 1, 0, 0]),
            // A mark belongs to a word only after a letter.
            (&["\u{301}".as_bytes(), "é".as_bytes(), "\u{301}".as_bytes()], [1, 2, 1, 0, 0]),
            (&[b" ", "\u{301}é".as_bytes()], [1, 1, 0, 0, 0]),
            // Tokens can end inside a character.
            (&[b"\xC3", b"\xA9"], [1, 2, 1, 0, 0]),
        ];
        for (tokens, expected) in cases {
            let TextTotals { words, word_tokens, cut_words, spaced, glued, .. } = count_tokens(tokens).totals;
            assert_eq!([words, word_tokens, cut_words, spaced, glued], expected, "{tokens:?}");
        }
    }

    #[test]
    fn numbers_are_counted_by_their_cuts() {
        let cases: [(Written<'_>, usize); 5] = [
            (&[b"x7", b"y"], 0b1),
            (&[b"1", b"2", b"3"], 0b111),
            (&[b"12", b"34x"], 0b1010),
            (&[b"a1", b"234", b" "], 0b1001),
            (&[b"123456789012"], 1 << (DIGITS - 1)),
        ];
        for (tokens, row) in cases {
            let counts = count_tokens(tokens);
            assert_eq!(
                (counts.numbers[row], counts.numbers.iter().sum::<u64>(), counts.totals.long_numbers),
                (1, 1, 0)
            );
        }
        let counts = count_tokens(&[b"1234567890123", b"a", b"99"]);
        assert_eq!((counts.totals.long_numbers, counts.numbers[0b10], counts.numbers.iter().sum::<u64>()), (1, 1, 1));
    }

    #[test]
    fn indented_lines_are_counted_by_width() {
        let (narrow, wide) = (" ".repeat(SPACES), " ".repeat(SPACES + 1) + "x");
        let mixed = SPACES + TABS;
        let cases: [(Written<'_>, Rows<'_>); 7] = [
            (&[b"  ", b"  x", b"\n", b"    ", b"y  z"], &[(3, [2, 2])]),
            (&[b"\n\t", b"\ty", b"\r", b" z"], &[(SPACES + 1, [1, 1]), (0, [1, 0])]),
            (&[b" ", b"\t", b"a"], &[(mixed, [1, 2])]),
            (&[narrow.as_bytes(), b"x\n", wide.as_bytes()], &[(SPACES - 1, [1, 1]), (mixed, [1, 0])]),
            (&[&b"\t".repeat(TABS), b"a\n", &b"\t".repeat(TABS + 1), b"b"], &[(mixed - 1, [1, 1]), (mixed, [1, 1])]),
            // These lines are blank.
            (&[b"  ", b"\n", b"\t\r\n", b"  "], &[]),
            (&[b"a ", b" b", b"\x0B c"], &[]),
        ];
        for (tokens, expected) in cases {
            let indents = count_tokens(tokens).indents;
            let found: Vec<_> = (0..).zip(indents).filter(|(_, row)| row[0] > 0).collect();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(found, expected, "{tokens:?}");
        }
    }

    #[test]
    fn a_text_that_differs_from_its_tokens_is_unplaced() {
        let decoder = Decoder::new(Arc::new(bytes_vocab(&["ab"])), &[added_token("<s>", 300, true)]);
        let mut counts = Counts::default();
        counts.add(Text::Bytes(b"ab<s>b"), &[256, 300, 98], &decoder, true);
        assert_eq!((counts.totals.changed, counts.totals.unplaced, counts.totals.words), (0, 0, 3));
        counts.add(Text::Bytes(b"ab<t>b"), &[256, 300, 98], &decoder, true);
        counts.add(Text::Bytes(b"a b"), &[97, 98], &decoder, true);
        counts.add(Text::Bytes(b"a b"), &[97, 999], &decoder, true);
        let TextTotals { changed, unplaced, words, tokens, chars, .. } = counts.totals;
        assert_eq!((changed, unplaced, words, tokens, chars), (3, 3, 3, 10, 18));
        counts.add(Text::Bytes(b"a\xFFb"), &[97, 255, 98], &decoder, true);
        assert_eq!((counts.totals.unplaced, counts.totals.words, counts.totals.chars), (3, 5, 21));
    }
}
