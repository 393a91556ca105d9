//! What is counted of texts and their ids. Counts of parts of a corpus add up to those of the whole, in any order.
//!
//! A *word* is a letter with the letters and marks after it. A space (U+0020) before a word counts with it, because a
//! tokenizer puts it into the token of the word wherever it can. A *number* is a run of ASCII digits. An *indented
//! line* begins with spaces or tabs and goes on with something else.

/// The most digits of a number whose cuts are counted one by one.
pub const DIGITS: usize = 12;
/// The widest indentation that has a row of its own, in spaces.
pub const SPACES: usize = 64;
/// The same in tabs.
pub const TABS: usize = 16;

/// The counts that are one number each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextTotals {
    /// Texts.
    pub documents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their bytes that begin a character.
    pub chars: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Texts that decoding does not give back from their ids.
    pub changed: u64,
    /// Texts that are not the bytes of their tokens, one after another: the counts below leave them out.
    pub unplaced: u64,
    /// Words.
    pub words: u64,
    /// Tokens that hold a byte of a word, summed over words.
    pub word_tokens: u64,
    /// Words that no single token holds.
    pub cut_words: u64,
    /// Words with a space before them.
    pub spaced: u64,
    /// Those whose first letter is in the token of that space.
    pub glued: u64,
    /// Numbers of more than [`DIGITS`] digits.
    pub long_numbers: u64,
}

impl TextTotals {
    /// The counts by name.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("documents", self.documents),
            ("bytes", self.bytes),
            ("chars", self.chars),
            ("tokens", self.tokens),
            ("changed", self.changed),
            ("unplaced", self.unplaced),
            ("words", self.words),
            ("word_tokens", self.word_tokens),
            ("cut_words", self.cut_words),
            ("spaced", self.spaced),
            ("glued", self.glued),
            ("long_numbers", self.long_numbers),
        ]
    }
}

/// All counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// See [`TextTotals`].
    pub totals: TextTotals,
    /// By place among [`crate::decode::Decoder::tokens`]: how often the id was emitted.
    pub ids: Vec<u64>,
    /// By `1 << (digits - 1) | cuts`, where bit i of `cuts` is set if a token ends after digit i + 1: numbers.
    pub numbers: Vec<u64>,
    /// By width (spaces from 1 on, then tabs from 1 on, then all others): lines, and tokens that end in the indentation.
    pub indents: Vec<[u64; 2]>,
}

impl Counts {
    /// No counts of so many tokens.
    #[must_use]
    pub fn new(tokens: usize) -> Self {
        let (numbers, indents) = (vec![0; 1 << DIGITS], vec![[0; 2]; SPACES + TABS + 1]);
        Self { totals: TextTotals::default(), ids: vec![0; tokens], numbers, indents }
    }

    /// Adds the counts of other texts by the same tokens.
    pub fn merge(&mut self, other: &Self) {
        let (own, more) = (&mut self.totals, &other.totals);
        own.documents += more.documents;
        own.bytes += more.bytes;
        own.chars += more.chars;
        own.tokens += more.tokens;
        own.changed += more.changed;
        own.unplaced += more.unplaced;
        own.words += more.words;
        own.word_tokens += more.word_tokens;
        own.cut_words += more.cut_words;
        own.spaced += more.spaced;
        own.glued += more.glued;
        own.long_numbers += more.long_numbers;
        self.ids.iter_mut().zip(&other.ids).for_each(|(own, more)| *own += more);
        self.numbers.iter_mut().zip(&other.numbers).for_each(|(own, more)| *own += more);
        self.indents.iter_mut().zip(&other.indents).for_each(|(own, more)| *own = [own[0] + more[0], own[1] + more[1]]);
    }
}
