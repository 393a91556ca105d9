//! GPT-4's pattern: words with any one character before them, three digits at a time, newlines after other characters.

use crate::split::scan::block::{Kinds, READ, bit, contraction};
use crate::split::scan::class::{END, LETTER, NEWLINE, NUMBER, SPACE};
use crate::split::scan::row::Pattern;
use crate::split::scan::scanner::{Scan, Scanner};
use crate::split::scan::text::ScanText;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "cl100k",
    source: "GPT-3.5 and GPT-4, as spelt in tiktoken 0.14",
    regexes: &[concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    )],
    scanner: Some(Scanner::for_row::<Cl100k<3, true>>()),
    has_cuts: true,
    hard_texts: &[
        ("the long s folds to s", &["I", "'M", " it", "'ſ"]),
        ("white space gives up its last character", &["a", " ", " b"]),
        ("any one character belongs to a word", &["\t", "\tif"]),
        ("three digits at a time", &["123", "456", "7"]),
        ("a mark is not a letter", &["ह", "िन", "्द", "ी"]),
        ("white space stays whole at the end", &["a", "\n  "]),
    ],
};

/// `CONTRACTION|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s`, with
/// `\s+$` before the last three if `WHOLE_AT_END`. `DIGITS` is 1 or 3.
pub struct Cl100k<const DIGITS: usize, const WHOLE_AT_END: bool>;

impl<const DIGITS: usize, const WHOLE_AT_END: bool> Scan for Cl100k<DIGITS, WHOLE_AT_END> {
    #[inline]
    fn piece_end(text: ScanText<'_>, at: usize) -> usize {
        let (class, len) = text.char_at(at);
        if class & LETTER != 0 {
            return text.run_end(at + len, LETTER);
        }
        if class & NUMBER != 0 {
            return text.numbers_end(at, DIGITS);
        }
        let after = text.contraction_end(at);
        if after > at {
            return after;
        }
        let (next, next_len) = text.char_at(at + len);
        if class & NEWLINE == 0 && next & LETTER != 0 {
            return text.run_end(at + len + next_len, LETTER);
        }
        let other = SPACE | LETTER | NUMBER;
        if class & SPACE != 0 && (text.byte(at) != Some(b' ') || next & (other | END) != 0) {
            return text.white_space_end(at, true, WHOLE_AT_END);
        }
        text.run_end(text.other_run_end(at + len, other), NEWLINE)
    }

    #[inline(always)]
    fn piece_starts(kinds: &Kinds, text: &[u8; READ]) -> (u64, u64) {
        let other = kinds.other_starts();
        let (numbers, odd) = numbers::<DIGITS>(kinds);
        let mut starts = kinds.word_starts(other) | numbers | other | kinds.white_starts();
        let mut apostrophes = kinds.apostrophe & other & kinds.letter >> 1;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if let Some(len) = contraction(text, at, true) {
                starts |= kinds.letter & bit(at + len);
            }
        }
        (starts, odd)
    }
}

/// The starts of numbers, and the places that need a closer look: three digits can be more than three bytes.
#[inline(always)]
fn numbers<const DIGITS: usize>(kinds: &Kinds) -> (u64, u64) {
    match DIGITS {
        1 => (kinds.number, 0),
        _ => (kinds.number_starts(), kinds.number & kinds.not_ascii),
    }
}
