//! `P?[UC]*[lC]+CONTRACTION?|P?[UC]+[lC]*CONTRACTION?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! P is `[^\r\n\p{L}\p{N}]`, U `[\p{Lu}\p{Lt}]`, l `\p{Ll}` and C `[\p{Lm}\p{Lo}\p{M}]`. A mark is both a P and a C.

use super::Text;
use super::class::{CASELESS, END, LETTER, LOWER, NEWLINE, NUMBER, SPACE, UPPER};

/// The end of the piece at `at`.
pub fn end(text: Text<'_>, at: usize) -> usize {
    let (class, len) = text.look(at);
    if class & NUMBER != 0 {
        return text.numbers(at, 3);
    }
    if let Some(end) = word(text, at, class, at + len) {
        return text.contraction(end);
    }
    let (next, _) = text.look(at + len);
    let other = SPACE | LETTER | NUMBER;
    if class & SPACE != 0 && (text.byte(at) != Some(b' ') || next & (other | END) != 0) {
        return text.white_space(at, true, false);
    }
    let mut end = text.run_without(at + len, other);
    while text.byte(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n' | b'/')) {
        end += 1;
    }
    end
}

/// The end of the word at `at`, tried in the order of the regex: each branch with its prefix before it without.
#[inline]
fn word(text: Text<'_>, at: usize, class: u8, after_prefix: usize) -> Option<usize> {
    let has_prefix = class & (LETTER | NEWLINE | NUMBER) == 0;
    let prefixed = has_prefix.then_some(after_prefix);
    let bare = (class & (LETTER | CASELESS) != 0).then_some(at);
    let lower = prefixed.and_then(|start| lower_word(text, start)).or_else(|| lower_word(text, bare?));
    lower.or_else(|| prefixed.and_then(|start| upper_word(text, start)).or_else(|| upper_word(text, bare?)))
}

/// `[UC]*[lC]+`: where nothing follows the first run, its last C is given back, and the match ends behind it.
#[inline]
fn lower_word(text: Text<'_>, start: usize) -> Option<usize> {
    let (mut end, mut after_caseless) = (start, start);
    loop {
        let (class, len) = text.look(end);
        if class & (UPPER | CASELESS) == 0 {
            break;
        }
        end += len;
        if class & CASELESS != 0 {
            after_caseless = end;
        }
    }
    let lower_end = text.run(end, LOWER | CASELESS);
    if lower_end > end { Some(lower_end) } else { (after_caseless > start).then_some(after_caseless) }
}

/// `[UC]+[lC]*`
#[inline]
fn upper_word(text: Text<'_>, start: usize) -> Option<usize> {
    let end = text.run(start, UPPER | CASELESS);
    (end > start).then(|| text.run(end, LOWER | CASELESS))
}
