//! The table of split patterns: one row per pattern, in the dialect of the Rust `regex` crate with look-around.
//!
//! A row is never edited: a vocabulary depends on its pattern to the letter. `gpt2` and `cl100k` are the spellings of
//! tiktoken; the older spellings, which give the same ids with OpenAI's vocabularies but other merges in training,
//! have rows of their own.

use crate::split::scan::Scanner;

/// One named split pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// The name that users give.
    pub name: &'static str,
    /// The regexes, each applied to the pieces of the one before.
    pub regexes: &'static [&'static str],
    /// The scanner that has the matches of the regexes.
    pub scanner: Option<Scanner>,
    /// Who uses it, and where it is published.
    pub source: &'static str,
}

/// Every row, by name.
pub const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "cl100k",
        regexes: &[concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+",
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        )],
        scanner: Some(Scanner::Cl100k),
        source: "GPT-3.5 and GPT-4, as spelt in tiktoken 0.14",
    },
    Pattern {
        name: "cl100k_minbpe",
        regexes: &[concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*",
            r"|\s*[\r\n]|\s+(?!\S)|\s+"
        )],
        scanner: Some(Scanner::Llama3),
        source: "GPT-4, as spelt in minbpe and rustbpe",
    },
    Pattern {
        name: "gpt2",
        regexes: &[r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"],
        scanner: Some(Scanner::Gpt2),
        source: "GPT-2, GPT-3 and Codex, as spelt in tiktoken 0.14",
    },
    Pattern {
        name: "gpt2_original",
        regexes: &[r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"],
        scanner: Some(Scanner::Gpt2),
        source: "the release of GPT-2, and HF's ByteLevel",
    },
    Pattern {
        name: "llama3",
        regexes: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        scanner: Some(Scanner::Llama3),
        source: "Llama 3, DBRX, GLM-4 and OLMo 2 and 3",
    },
    Pattern {
        name: "o200k",
        regexes: &[concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        scanner: Some(Scanner::O200k),
        source: "GPT-4o, gpt-oss and Llama 4, as spelt in tiktoken 0.14",
    },
    Pattern {
        name: "qwen2",
        regexes: &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*",
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        )],
        scanner: Some(Scanner::Qwen2),
        source: "Qwen 2, 2.5 and 3, StableLM 2 and Grok 2",
    },
];

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
