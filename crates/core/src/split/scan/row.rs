//! The row of a split pattern, which names everything that belongs to it.

use super::scanner::Scanner;

/// The difficulty of a text, and its pieces.
pub type HardText = (&'static str, &'static [&'static str]);

/// One named split pattern.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    /// The name that users give.
    pub name: &'static str,
    /// The models that use it, and where it is published.
    pub source: &'static str,
    /// The regexes, each applied to the pieces of the one before.
    pub regexes: &'static [&'static str],
    /// The scanner that has the matches of the regexes.
    pub scanner: Option<Scanner>,
    /// Whether the proof in `split/text_cuts.rs` holds, so that a long text can be cut into separate texts.
    pub has_cuts: bool,
    /// Texts that distinguish it from similar patterns.
    pub hard_texts: &'static [HardText],
}
