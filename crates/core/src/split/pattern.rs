//! The table of split patterns: one row per pattern, in the dialect of the Rust `regex` crate with look-around.
//!
//! A row is never edited: a vocabulary depends on every character of its pattern. `gpt2` and `cl100k` are the spellings
//! of tiktoken; the older spellings, which give the same ids with OpenAI's vocabularies but other merges in training,
//! have separate rows. Each row is a file of `scan/rows/`.

pub use crate::split::scan::{PATTERNS, Pattern};

/// The row with exactly these regexes.
#[must_use]
pub fn find_pattern(regexes: &[impl AsRef<str>]) -> Option<&'static Pattern> {
    let regexes = || regexes.iter().map(AsRef::as_ref);
    PATTERNS.iter().find(|row| row.regexes.iter().copied().eq(regexes()))
}

/// The Unicode version of the class tables (`\p{L}`, `\s`, …), which are those of the pinned `regex` crate.
pub const UNICODE_VERSION: &str = "16.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_compile() {
        assert!(PATTERNS.is_sorted_by_key(|row| row.name));
        for row in PATTERNS {
            crate::split::Splitter::new(row.regexes).unwrap();
        }
    }
}
