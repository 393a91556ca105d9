//! Reads the characters of a regex, and holds what was read and written so far.

use super::shape::RegexShape;

/// How deep groups and classes may be nested, so that no regex exhausts the stack.
const DEEPEST: usize = 100;
/// The longest translation, in bytes: classes written as ranges are long.
const LONGEST_OUT: usize = 1 << 20;

/// Reads a regex by recursive descent and writes the translation.
pub(super) struct PatternReader {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) out: String,
    pub(super) depth: usize,
    pub(super) flags: RegexFlags,
    /// What each group that captures can match; `None` if that is not known, or nothing may refer to the group.
    pub(super) groups: Vec<Option<RegexShape>>,
    /// The groups with names, each with its number.
    pub(super) names: Vec<(String, usize)>,
    /// Whether something refers to a group by its number.
    pub(super) numbered: bool,
}

/// Options of a place in a regex.
#[derive(Clone, Copy, Default)]
pub(super) struct RegexFlags {
    /// Whether case is ignored.
    pub(super) fold: bool,
    /// Whether `.` matches a line feed.
    pub(super) dot_all: bool,
    /// Whether white space and comments mean nothing.
    pub(super) extended: bool,
}

/// The error of something that is not known to mean the same in both engines.
pub(super) struct Unlike;

impl PatternReader {
    pub(super) fn new(pattern: &str) -> Self {
        Self {
            chars: pattern.chars().collect(),
            at: 0,
            out: String::new(),
            depth: 0,
            flags: RegexFlags::default(),
            groups: Vec::new(),
            names: Vec::new(),
            numbered: false,
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    pub(super) fn take(&mut self, char: char) -> bool {
        let takes = self.peek() == Some(char);
        self.at += usize::from(takes);
        takes
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        let mut rest = self.chars[self.at..].iter();
        text.chars().all(|char| rest.next() == Some(&char))
    }

    /// Whether a `]` without a backslash before it comes anywhere after the next character.
    pub(super) fn closes_later(&self) -> bool {
        let mut escaped = false;
        self.chars[self.at + 1..].iter().any(|&char| {
            let closes = char == ']' && !escaped;
            escaped = char == '\\' && !escaped;
            closes
        })
    }

    /// What `read` gives one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST || self.out.len() > LONGEST_OUT {
            return None;
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }
}
