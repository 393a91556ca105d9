//! GPT-2's pattern: letters, digits and other characters, each with one space before them; contractions in lower case.

use crate::split::scan::block::{Kinds, READ, bit, contraction};
use crate::split::scan::class::{END, LETTER, NUMBER, SPACE};
use crate::split::scan::row::Pattern;
use crate::split::scan::scanner::{Scan, Scanner};
use crate::split::scan::text::ScanText;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "gpt2",
    source: "GPT-2, GPT-3 and Codex, as spelt in tiktoken 0.14",
    regexes: &[r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"],
    scanner: Some(Scanner::for_row::<Gpt2>()),
    has_cuts: true,
    hard_texts: &[
        ("contractions are in lower case", &["I", "'", "M", " it", "'", "ſ", " I", "'m"]),
        ("only a space belongs to what follows", &["\t", "\t", "if"]),
        ("digits of any number", &["1234567", " 89"]),
        ("white space stays whole at the end", &["a", "\n  "]),
    ],
};

/// `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
pub struct Gpt2;

impl Scan for Gpt2 {
    #[inline]
    fn piece_end(text: ScanText<'_>, at: usize) -> usize {
        let after = lower_contraction(text, at);
        if after > at {
            return after;
        }
        let start = at + usize::from(text.byte(at) == Some(b' '));
        let (class, _) = text.char_at(start);
        if class & (SPACE | END) != 0 {
            return text.white_space_end(at, false, true);
        }
        match class & (LETTER | NUMBER) {
            LETTER => text.run_end(start, LETTER),
            NUMBER => text.run_end(start, NUMBER),
            _ => text.other_run_end(start, SPACE | LETTER | NUMBER),
        }
    }

    #[inline(always)]
    fn piece_starts(kinds: &Kinds, text: &[u8; READ]) -> (u64, u64) {
        let space = kinds.space << 1;
        let other = kinds.other_starts();
        let words = kinds.letter & !(kinds.letter << 1) & !space;
        let numbers = kinds.number & !(kinds.number << 1) & !space;
        let white = kinds.white & !(kinds.white << 1) | kinds.last_of_runs(kinds.white);
        let mut starts = words | numbers | other | white;
        let mut apostrophes = kinds.apostrophe & other & kinds.letter >> 1;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if let Some(len) = contraction(text, at, false) {
                starts = starts & !(1 << (at + 1)) | kinds.letter & bit(at + len);
            }
        }
        (starts, 0)
    }
}

/// Unlike in later patterns, in lower case only.
#[inline]
fn lower_contraction(text: ScanText<'_>, at: usize) -> usize {
    let rest = &text.text.as_bytes()[at..];
    match rest {
        [b'\'', b's' | b'd' | b'm' | b't', ..] => at + 2,
        [b'\'', b'l', b'l', ..] | [b'\'', b'v' | b'r', b'e', ..] => at + 3,
        _ => at,
    }
}
