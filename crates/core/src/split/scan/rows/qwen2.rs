//! Qwen's pattern: that of `llama3` with one digit at a time.

use super::cl100k::Cl100k;
use crate::split::scan::row::Pattern;
use crate::split::scan::scanner::Scanner;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "qwen2",
    source: "Qwen 2, 2.5 and 3, StableLM 2 and Grok 2",
    regexes: &[concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    scanner: Some(Scanner::for_row::<Cl100k<1, false>>()),
    has_cuts: true,
    hard_texts: &[
        ("digits stand alone", &["a", " ", "1", "2", "½", "b"]),
        ("white space at the end is cut after its last newline", &["a", "\n", "  "]),
    ],
};
