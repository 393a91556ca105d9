//! `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

use super::Text;
use super::class::{END, LETTER, NUMBER, SPACE};

/// The end of the piece at `at`.
pub fn end(text: Text<'_>, at: usize) -> usize {
    let after = contraction(text, at);
    if after > at {
        return after;
    }
    let start = at + usize::from(text.byte(at) == Some(b' '));
    let (class, _) = text.look(start);
    if class & (SPACE | END) != 0 {
        return text.white_space(at, false, true);
    }
    match class & (LETTER | NUMBER) {
        LETTER => text.run(start, LETTER),
        NUMBER => text.run(start, NUMBER),
        _ => text.run_without(start, SPACE | LETTER | NUMBER),
    }
}

/// Unlike later patterns', in lower case only.
#[inline]
fn contraction(text: Text<'_>, at: usize) -> usize {
    let rest = &text.text.as_bytes()[at..];
    match rest {
        [b'\'', b's' | b'd' | b'm' | b't', ..] => at + 2,
        [b'\'', b'l', b'l', ..] | [b'\'', b'v' | b'r', b'e', ..] => at + 3,
        _ => at,
    }
}
