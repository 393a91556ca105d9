//! GPT-4o's pattern: words keep their marks and contractions, and end where lower case turns to upper case.

use crate::split::scan::block::{Kinds, READ, bit, contraction};
use crate::split::scan::class::{CASELESS, END, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};
use crate::split::scan::row::Pattern;
use crate::split::scan::scanner::{Scan, Scanner};
use crate::split::scan::text::ScanText;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "o200k",
    source: "GPT-4o, gpt-oss and Llama 4, as spelt in tiktoken 0.14",
    regexes: &[concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    scanner: Some(Scanner::for_row::<O200k>()),
    has_cuts: true,
    hard_texts: &[
        ("words take marks in", &["हिन्दी"]),
        ("a word takes its contraction in", &["don't", " it'ſ"]),
        ("a word ends before upper case", &["camel", "Case", "X", " HTTPServer"]),
        ("slashes and newlines follow other characters", &["a", " //\n/", "b"]),
        ("three digits at a time", &["123", "456", "7"]),
    ],
};

/// `P?[UC]*[lC]+CONTRACTION?|P?[UC]+[lC]*CONTRACTION?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
///
/// P is `[^\r\n\p{L}\p{N}]`, U `[\p{Lu}\p{Lt}]`, l `\p{Ll}` and C `[\p{Lm}\p{Lo}\p{M}]`. A mark is both a P and a C.
pub struct O200k;

impl Scan for O200k {
    const MARKS_IN_WORDS: bool = true;

    #[inline]
    fn piece_end(text: ScanText<'_>, at: usize) -> usize {
        let (class, len) = text.char_at(at);
        if class & NUMBER != 0 {
            return text.numbers_end(at, 3);
        }
        if let Some(end) = word(text, at, class, at + len) {
            return text.contraction_end(end);
        }
        let (next, _) = text.char_at(at + len);
        let other = SPACE | LETTER | NUMBER;
        if class & SPACE != 0 && (text.byte(at) != Some(b' ') || next & (other | END) != 0) {
            return text.white_space_end(at, true, false);
        }
        let mut end = text.other_run_end(at + len, other);
        while text.byte(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n' | b'/')) {
            end += 1;
        }
        end
    }

    #[inline(always)]
    fn piece_starts(kinds: &Kinds, text: &[u8; READ]) -> (u64, u64) {
        let other = kinds.other_starts();
        let humps = kinds.upper & kinds.lower << 1;
        let numbers = kinds.number_starts();
        let mut starts = kinds.word_starts(other) | humps | numbers | other | kinds.white_starts();
        // A contraction belongs to the word before it, and none belongs to the text after it.
        let mut apostrophes = kinds.apostrophe & kinds.letter << 1 & kinds.letter >> 1;
        let mut after_last = 0;
        while apostrophes != 0 {
            let at = apostrophes.trailing_zeros() as usize;
            apostrophes &= apostrophes - 1;
            if at != after_last
                && let Some(len) = contraction(text, at, true)
            {
                after_last = at + len;
                let inside = bit(at) | bit(at + 1) | bit(after_last - 1);
                starts = starts & !inside | kinds.letter & bit(after_last);
            }
        }
        let slash = kinds.slash & kinds.newline << 1;
        (starts, kinds.number & kinds.not_ascii | odd_word(kinds) | slash)
    }
}

/// Upper case after letters without case, where a word sometimes gives some back; and marks without a word before
/// them, which can belong to others.
#[inline(always)]
fn odd_word(kinds: &Kinds) -> u64 {
    kinds.upper & kinds.caseless << 1 | kinds.mark & !kinds.inner & !(kinds.letter << 1)
}

/// The end of the word at `at`, tried in the order of the regex: each branch with its prefix before it without.
#[inline]
fn word(text: ScanText<'_>, at: usize, class: u8, after_prefix: usize) -> Option<usize> {
    let has_prefix = class & (LETTER | NEWLINE | NUMBER) == 0;
    let prefixed = has_prefix.then_some(after_prefix);
    let bare = (class & (LETTER | CASELESS) != 0).then_some(at);
    let lower = prefixed.and_then(|start| lower_word(text, start)).or_else(|| lower_word(text, bare?));
    lower.or_else(|| prefixed.and_then(|start| upper_word(text, start)).or_else(|| upper_word(text, bare?)))
}

/// `[UC]*[lC]+`: if nothing follows the first run, it gives its last C back, and the match ends after it.
#[inline]
fn lower_word(text: ScanText<'_>, start: usize) -> Option<usize> {
    let (mut end, mut after_caseless) = (start, start);
    loop {
        let (class, len) = text.char_at(end);
        if class & (UPPER | CASELESS) == 0 {
            break;
        }
        end += len;
        if class & CASELESS != 0 {
            after_caseless = end;
        }
    }
    let lower_end = text.run_end(end, LOWER | CASELESS);
    if lower_end > end { Some(lower_end) } else { (after_caseless > start).then_some(after_caseless) }
}

/// `[UC]+[lC]*`
#[inline]
fn upper_word(text: ScanText<'_>, start: usize) -> Option<usize> {
    let end = text.run_end(start, UPPER | CASELESS);
    (end > start).then(|| text.run_end(end, LOWER | CASELESS))
}
