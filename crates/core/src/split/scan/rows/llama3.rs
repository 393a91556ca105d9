//! Llama 3's pattern: that of `cl100k`, but white space at the end is cut as elsewhere.

use super::cl100k::Cl100k;
use crate::split::scan::row::Pattern;
use crate::split::scan::scanner::Scanner;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "llama3",
    source: "Llama 3, DBRX, GLM-4 and OLMo 2 and 3",
    regexes: &[concat!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )],
    scanner: Some(Scanner::for_row::<Cl100k<3, false>>()),
    has_cuts: true,
    hard_texts: &[
        ("newlines stay together", &["a", "\r\n\r\n", " b"]),
        ("white space at the end is cut after its last newline", &["a", "\n", "  "]),
    ],
};
