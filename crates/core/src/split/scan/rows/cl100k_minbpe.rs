//! GPT-4's pattern in its older spelling, with the matches of `llama3`.

use super::llama3;
use crate::split::scan::row::Pattern;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "cl100k_minbpe",
    source: "GPT-4, as spelt in minbpe and rustbpe",
    regexes: &[concat!(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*",
        r"|\s*[\r\n]|\s+(?!\S)|\s+"
    )],
    scanner: llama3::ROW.scanner,
    has_cuts: true,
    hard_texts: &[
        ("white space at the end is cut after its last newline", &["a", "\n", "  "]),
        ("three digits at a time", &["123", "456", "7"]),
    ],
};
