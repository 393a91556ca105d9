//! What a part of a regex can match: how much, and at which characters ignoring case may join it with its neighbours.
//!
//! If case is ignored, Oniguruma matches one character with several (`ß` with `ss`), even if these are in neighbouring
//! parts. The `regex` crate never does. So letters that one such character matches must not be neighbours.

/// Characters that match several others if case is ignored. The ranges hold some other characters too.
pub const FOLDED_TO_MANY: &[(char, char)] = &[
    ('ß', 'ß'),
    ('ŉ', 'ŉ'),
    ('ǰ', 'ǰ'),
    ('ΐ', 'ΐ'),
    ('ΰ', 'ΰ'),
    ('և', 'և'),
    ('İ', 'İ'),
    ('ẖ', 'ẞ'),
    ('ὐ', 'ῼ'),
    ('ﬀ', 'ﬗ'),
];

const S: u16 = 1;
const F: u16 = 2;
const I: u16 = 4;
const L: u16 = 8;
const T: u16 = 16;
/// A mark or letter that is the second of such a pair, whatever the first is.
const SECOND: u16 = 32;
/// A letter that is the first, whatever the second is.
const FIRST: u16 = 64;
/// Any character.
const ANY: u16 = 128;
/// Which may not follow which.
const CLASHES: &[(u16, u16)] = &[(S, S | T), (F, F | I | L), (ANY, SECOND), (FIRST, ANY)];

/// What a part can match.
#[derive(Debug, Clone, Copy)]
pub struct RegexShape {
    /// The fewest characters.
    pub min: usize,
    /// The most, if there is a most.
    pub max: Option<usize>,
    /// Whether each branch of the outermost has one length.
    pub even: bool,
    /// Whether it depends on the text around it.
    pub asks: bool,
    /// Whether it captures, or refers to what was captured.
    pub captures: bool,
    /// Which characters whose case is ignored may come first and last.
    pub(super) heads: u16,
    pub(super) tails: u16,
}

impl RegexShape {
    /// Nothing.
    pub const EMPTY: Self = Self { min: 0, max: Some(0), even: true, asks: false, captures: false, heads: 0, tails: 0 };
    /// One character.
    pub const ONE: Self = Self { min: 1, max: Some(1), ..Self::EMPTY };
    /// A place.
    pub const PLACE: Self = Self { asks: true, ..Self::EMPTY };

    /// A character whose case is ignored.
    pub fn folded(char: char) -> Option<Self> {
        if FOLDED_TO_MANY.iter().any(|(first, last)| (first..=last).contains(&&char)) {
            return None;
        }
        let kind = match char {
            's' | 'S' | 'ſ' => S,
            'f' | 'F' => F,
            'i' | 'I' => I,
            'l' | 'L' => L,
            't' | 'T' => T,
            'ʼ' => FIRST,
            '\u{2be}' | '\u{300}'..='\u{36f}' | 'ι' | 'Ι' | '\u{1fbe}' | '\u{530}'..='\u{58f}' => SECOND,
            _ => 0,
        };
        Some(Self { heads: kind | ANY, tails: kind | ANY, ..Self::ONE })
    }

    /// Whether ignoring case reaches into it.
    pub fn is_folded(self) -> bool {
        self.heads | self.tails != 0
    }

    /// This and then another.
    pub fn then(self, next: Self) -> Option<Self> {
        let min = self.min.checked_add(next.min)?;
        let max = self.max.zip(next.max).and_then(|(max, more)| max.checked_add(more));
        let shape = Self {
            min,
            max,
            even: max == Some(min),
            asks: self.asks || next.asks,
            captures: self.captures || next.captures,
            heads: self.heads | if self.min == 0 { next.heads } else { 0 },
            tails: next.tails | if next.min == 0 { self.tails } else { 0 },
        };
        (!clash(self.tails, next.heads)).then_some(shape)
    }

    /// This or another.
    pub fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.zip(other.max).map(|(max, more)| max.max(more)),
            even: self.even && other.even,
            asks: self.asks || other.asks,
            captures: self.captures || other.captures,
            heads: self.heads | other.heads,
            tails: self.tails | other.tails,
        }
    }

    /// This several times; nothing if the engines may differ. They leave a loop over something that can match nothing in
    /// different ways, and Oniguruma does not repeat places.
    pub fn repeated(self, min: usize, max: Option<usize>) -> Option<Self> {
        let again = max != Some(1);
        if self.min == 0 && (self.asks || again) || again && clash(self.tails, self.heads) {
            return None;
        }
        let max = self.max.zip(max).and_then(|(most, times)| most.checked_mul(times));
        let least = self.min.checked_mul(min)?;
        Some(Self { min: least, max, even: max == Some(least), ..self })
    }

    /// The place where this is looked for.
    pub fn place(self) -> Self {
        Self { captures: self.captures, ..Self::PLACE }
    }

    /// The same in a group: only one length is even there.
    pub fn grouped(self) -> Self {
        Self { even: self.max == Some(self.min), ..self }
    }
}

fn clash(tails: u16, heads: u16) -> bool {
    CLASHES.iter().any(|&(first, second)| tails & first != 0 && heads & second != 0)
}
