//! The table of split patterns: a file for each row, which this list names once.
//!
//! Reading order: `gpt2`, the plainest row; the others differ from it or from `cl100k` in a branch or two.
//!
//! Left out: what a row must say (`row` of the folder above), and how a scanner runs (`scanner` there).

use super::row::Pattern;

/// Makes a module of each file, and a table of their rows.
macro_rules! rows {
    ($($row:ident)*) => {
        $(mod $row;)*

        /// Every row, sorted by name.
        pub const PATTERNS: &[Pattern] = &[$($row::ROW),*];
    };
}

rows! {
    cl100k
    cl100k_minbpe
    gpt2
    gpt2_original
    llama3
    o200k
    qwen2
}
