//! GPT-2's pattern in its first spelling, with the matches of `gpt2`.

use super::gpt2;
use crate::split::scan::row::Pattern;

/// The row.
pub const ROW: Pattern = Pattern {
    name: "gpt2_original",
    source: "the release of GPT-2, and HF's ByteLevel",
    regexes: &[r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
    scanner: gpt2::ROW.scanner,
    has_cuts: true,
    hard_texts: &[
        ("contractions are in lower case", &["I", "'", "M", " he", "'ll"]),
        ("white space stays whole at the end", &["a", "\n  "]),
    ],
};
