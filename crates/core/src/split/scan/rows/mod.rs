//! The table of split patterns: one file for each row.
//!
//! Reading order: `gpt2`, the plainest row; the others differ from it or from `cl100k` in a branch or two.
//!
//! Left out: the fields of a row (`row` of the folder above), and running a scanner (`scanner` there).

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
