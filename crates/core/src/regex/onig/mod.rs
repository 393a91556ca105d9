//! A regex of Oniguruma in the dialect of the `regex` crate with look-around, where that has exactly the same matches.
//!
//! Reading order: this file. [`translate()`] reads a regex as Oniguruma does with its default syntax and options on
//! UTF-8, and writes what it reads in the other dialect, with `reader` as its place in the regex. `class` reads what is
//! between brackets, `escape` what a backslash begins, `group` what a parenthesis begins, `shape` says what a part can
//! match, and [`names`] which properties both engines know alike. [`mod@matches`] runs Oniguruma itself.
//!
//! Left out: every regex that is not known to mean the same in both dialects. It is not translated, and Oniguruma runs
//! it.

mod class;
mod escape;
mod group;
pub mod matches;
pub mod names;
mod reader;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use class::Bracket;
use reader::{PatternReader, Unlike};
use shape::RegexShape;

/// The longest regex that is translated, in bytes: it bounds the work at loading. Published ones have some hundreds.
const LONGEST: usize = 16 << 10;
/// The most repetitions that a translation counts.
const MOST: usize = 1000;

/// The regex in the Rust dialect that has the same matches in every text; `None` if none is known.
///
/// A regex that can match nothing at all is not translated: an empty match counts in Oniguruma, and not here.
#[must_use]
pub fn translate(pattern: &str) -> Option<String> {
    if pattern.len() > LONGEST {
        return None;
    }
    let mut reader = PatternReader::new(pattern);
    let shape = reader.alternatives()?;
    let is_whole = reader.at == reader.chars.len();
    // If some groups have names, the others capture nothing and have no number.
    let counts_alike = !reader.numbered || reader.names.is_empty();
    (is_whole && counts_alike && shape.min > 0).then_some(reader.out)
}

/// How often something repeats.
#[derive(Clone, Copy)]
struct Repeat {
    min: usize,
    max: Option<usize>,
    how: How,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Greedy,
    Lazy,
    Possessive,
}

impl PatternReader {
    /// Passes comments, and also white space and lines after `#` where these mean nothing.
    fn skip(&mut self) -> Option<()> {
        loop {
            if self.starts_with("(?#") {
                self.at += 3;
                loop {
                    match self.next()? {
                        ')' => break,
                        '\\' => self.at += usize::from(self.at < self.chars.len()),
                        _ => {}
                    }
                }
            } else if self.flags.extended && matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r' | '\x0C')) {
                self.at += 1;
            } else if self.flags.extended && self.peek() == Some('#') {
                while self.next().is_some_and(|char| char != '\n') {}
            } else {
                return Some(());
            }
        }
    }

    /// Branches with `|` between.
    fn alternatives(&mut self) -> Option<RegexShape> {
        let mut shape = self.branch()?;
        while self.take('|') {
            self.out.push('|');
            shape = shape.or(self.branch()?);
        }
        Some(shape)
    }

    /// Parts one after another.
    fn branch(&mut self) -> Option<RegexShape> {
        let mut shape = RegexShape::EMPTY;
        loop {
            self.skip()?;
            if matches!(self.peek(), None | Some('|' | ')')) {
                return Some(shape);
            }
            shape = shape.then(self.repeated()?)?;
        }
    }

    /// A part and how often it repeats. A second quantifier repeats what the first one made.
    fn repeated(&mut self) -> Option<RegexShape> {
        let (start, first) = (self.out.len(), self.at);
        let mut shape = self.atom()?;
        for turn in 0.. {
            let is_space = turn == 0 && self.chars[first..self.at] == ['\\', 's'];
            self.skip()?;
            let Some(repeat) = self.quantifier().ok()? else { break };
            shape = shape.repeated(repeat.min, repeat.max)?;
            if turn > 0 {
                self.out.insert_str(start, "(?:");
                self.out.push(')');
            }
            self.write(repeat, start);
            if is_space && repeat.how == How::Possessive && repeat.min == 1 && self.take('$') {
                // After all the white space, the end of a line is the end of the text.
                self.out.push('$');
                self.skip()?;
                return if self.quantifier().ok()?.is_some() { None } else { shape.then(RegexShape::PLACE) };
            }
        }
        Some(shape)
    }

    /// Writes how often what was written from `start` on repeats.
    fn write(&mut self, repeat: Repeat, start: usize) {
        let Repeat { min, max, how } = repeat;
        let sign = match (min, max) {
            (0, Some(1)) => "?".to_owned(),
            (0, None) => "*".to_owned(),
            (1, None) => "+".to_owned(),
            (_, None) => format!("{{{min},}}"),
            (_, Some(max)) if min == max => format!("{{{min}}}"),
            (_, Some(max)) => format!("{{{min},{max}}}"),
        };
        let atomic = how == How::Possessive && sign.starts_with('{');
        self.out.push_str(&sign);
        if atomic {
            self.out.insert_str(start, "(?>");
        }
        self.out.push_str(match how {
            How::Greedy => "",
            How::Lazy => "?",
            How::Possessive if atomic => ")",
            How::Possessive => "+",
        });
    }

    /// A quantifier, if one comes next.
    fn quantifier(&mut self) -> Result<Option<Repeat>, Unlike> {
        let (min, max) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => return self.interval(),
            _ => return Ok(None),
        };
        self.at += 1;
        let how = match self.peek() {
            Some('?') => How::Lazy,
            Some('+') => How::Possessive,
            _ => How::Greedy,
        };
        self.at += usize::from(how != How::Greedy);
        Ok(Some(Repeat { min, max, how }))
    }

    /// `{n}`, `{n,}`, `{,m}` or `{n,m}`, if one comes next; `{` may also mean itself. A `+` after it is another quantifier, and
    /// so is a `?` after `{n}`. `{m,n}` with m above n gives nothing back.
    fn interval(&mut self) -> Result<Option<Repeat>, Unlike> {
        let start = self.at;
        self.at += 1;
        if self.peek().is_none() {
            self.at = start;
            return Ok(None);
        }
        let low = self.number()?;
        let comma = self.take(',');
        let high = if comma { self.number()? } else { low };
        if !self.take('}') || (low.is_none() && (!comma || high.is_none())) {
            self.at = start;
            return Ok(None);
        }
        let min = low.unwrap_or(0);
        if min > MOST || high.is_some_and(|max| max > MOST || max == 0) {
            return Err(Unlike);
        }
        let repeat = match high {
            Some(max) if max < min => Repeat { min: max, max: Some(min), how: How::Possessive },
            max if comma && self.take('?') => Repeat { min, max, how: How::Lazy },
            max => Repeat { min, max, how: How::Greedy },
        };
        Ok(Some(repeat))
    }

    /// The digits that come next as a number, if there are any. A number that is too high for a translation is an error.
    fn number(&mut self) -> Result<Option<usize>, Unlike> {
        let start = self.at;
        while self.peek().is_some_and(|char| char.is_ascii_digit()) {
            self.at += 1;
        }
        match &self.chars[start..self.at] {
            [] => Ok(None),
            digits if digits.len() > 6 => Err(Unlike),
            digits => Ok(digits.iter().collect::<String>().parse().ok()),
        }
    }

    /// A character, a class or a group.
    fn atom(&mut self) -> Option<RegexShape> {
        if self.peek() == Some('{') && self.interval().ok()?.is_some() {
            return None;
        }
        match self.next()? {
            '(' => self.deeper(Self::group),
            '[' => self.bracket(),
            '\\' => self.escape(),
            '.' => Some(self.set(if self.flags.dot_all { "(?s:.)" } else { "." })),
            '^' => Some(self.assertion(r"(?:\A|(?<=\n)(?!\z))")),
            '$' => Some(self.assertion("(?m:$)")),
            '*' | '+' | '?' => None,
            char => self.literal(char),
        }
    }

    /// A class in brackets.
    fn bracket(&mut self) -> Option<RegexShape> {
        let bracket = Bracket::read(self)?;
        if self.flags.fold && bracket.names_any(shape::FOLDED_TO_MANY) {
            return None;
        }
        Some(self.set(&bracket.text()))
    }

    /// Writes what matches one character.
    fn set(&mut self, text: &str) -> RegexShape {
        self.out.push_str(text);
        RegexShape::ONE
    }

    /// Writes what matches a place.
    fn assertion(&mut self, text: &str) -> RegexShape {
        self.out.push_str(text);
        RegexShape::PLACE
    }

    /// Writes a character.
    fn literal(&mut self, char: char) -> Option<RegexShape> {
        match char {
            '\n' => self.out.push_str(r"\n"),
            '\r' => self.out.push_str(r"\r"),
            '\t' => self.out.push_str(r"\t"),
            '\\' | '^' | '$' | '.' | '|' | '?' | '*' | '+' | '(' | ')' | '[' | ']' | '{' | '}' => {
                self.out.extend(['\\', char]);
            }
            _ if char.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(self.out, r"\x{{{:X}}}", u32::from(char));
            }
            _ => self.out.push(char),
        }
        if self.flags.fold { RegexShape::folded(char) } else { Some(RegexShape::ONE) }
    }
}
