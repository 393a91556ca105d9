//! `CONTRACTION|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s`, with
//! `\s+$` before the last three if `WHOLE_AT_END`.

use super::Text;
use super::class::{END, LETTER, NEWLINE, NUMBER, SPACE};

/// The end of the piece at `at`.
pub fn end<const DIGITS: usize, const WHOLE_AT_END: bool>(text: Text<'_>, at: usize) -> usize {
    let (class, len) = text.look(at);
    if class & LETTER != 0 {
        return text.run(at + len, LETTER);
    }
    if class & NUMBER != 0 {
        return text.numbers(at, DIGITS);
    }
    let after = text.contraction(at);
    if after > at {
        return after;
    }
    let (next, next_len) = text.look(at + len);
    if class & NEWLINE == 0 && next & LETTER != 0 {
        return text.run(at + len + next_len, LETTER);
    }
    let other = SPACE | LETTER | NUMBER;
    if class & SPACE != 0 && (text.byte(at) != Some(b' ') || next & (other | END) != 0) {
        return text.white_space(at, true, WHOLE_AT_END);
    }
    text.run(text.run_without(at + len, other), NEWLINE)
}
