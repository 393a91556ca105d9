//! A bracketed class of Oniguruma: which characters it holds, and how the `regex` crate writes that.
//!
//! A class that means the same there stays as it is written. Otherwise its characters are written as ranges.
//!
//! Oniguruma keeps one bit for each byte, and ranges for the characters of several bytes. It mixes the two up in two cases,
//! which are not translated. If a negated class names no character of several bytes and holds another negated class, it may
//! match no such character. If a negated class inside another class has a range from U+0000 to such a character, it matches
//! all of them.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::escape::EscapeKind;
use super::names;
use super::reader::{PatternReader, Unlike};

/// A class that was read.
pub struct Bracket {
    /// Whether it holds what is not in `set`.
    negated: bool,
    /// Its content as it is written, if the `regex` crate reads it in the same way.
    plain: Option<String>,
    /// The characters that its content names.
    set: ClassUnicode,
    /// What it has anywhere inside.
    inside: Inside,
}

/// What decides whether Oniguruma mixes bytes and characters up.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// A negated class.
    negated: bool,
    /// A range from U+0000 to a character of several bytes.
    from_zero: bool,
}

/// The first character of several bytes.
const WIDE: char = '\u{80}';

/// Where a class is being read: what a `-` means here.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// At the start of a class or of a side of `&&`.
    Start,
    /// After a character, with which a range may start.
    Char(char),
    /// After something like `\s`, with which no range may start.
    EscapeKind,
    /// After a character and `-`.
    Range(char),
    /// After a range or a class.
    Complete,
}

/// One side of `&&`.
struct Side {
    state: State,
    items: String,
    last: usize,
    set: ClassUnicode,
    /// Whether it has a range from U+0000 to a character of several bytes.
    from_zero: bool,
}

impl Side {
    fn new() -> Self {
        Self { state: State::Start, items: String::new(), last: 0, set: ClassUnicode::empty(), from_zero: false }
    }

    /// Takes a character, which may end a range.
    fn char(&mut self, char: char) -> Option<()> {
        let first = if let State::Range(from) = self.state {
            self.items.truncate(self.last);
            write!(self.items, "{}-{}", escaped(from), escaped(char)).ok()?;
            self.state = State::Complete;
            self.from_zero |= from == '\0' && char >= WIDE;
            from
        } else {
            self.last = self.items.len();
            self.items.push_str(&escaped(char));
            self.state = State::Char(char);
            char
        };
        self.set.push((first <= char).then(|| ClassUnicodeRange::new(first, char))?);
        Some(())
    }

    /// Takes something that is not a character, and so cannot end a range.
    fn add(&mut self, items: &str, set: &ClassUnicode, state: State) -> Option<()> {
        if matches!(self.state, State::Range(_)) {
            return None;
        }
        self.items.push_str(items);
        self.set.union(set);
        self.state = state;
        Some(())
    }
}

impl Inside {
    /// The same with a class more; None if Oniguruma mixes that up.
    fn with(self, class: &Bracket) -> Option<Self> {
        let negated = self.negated || class.negated || class.inside.negated;
        let from_zero = self.from_zero || class.inside.from_zero;
        (!class.negated || !class.inside.from_zero).then_some(Self { negated, from_zero })
    }
}

impl Bracket {
    /// Reads a class after its `[`.
    pub fn read(reader: &mut PatternReader) -> Option<Self> {
        reader.deeper(|reader| {
            let negated = reader.take('^');
            let mut sides: Option<ClassUnicode> = None;
            let (mut side, mut plain, mut inside) = (Side::new(), true, Inside::default());
            if reader.peek() == Some(']') {
                reader.closes_later().then_some(())?;
                reader.at += 1;
                side.char(']')?;
            }
            loop {
                match reader.next()? {
                    ']' => break,
                    '-' => side.hyphen(reader)?,
                    '[' => {
                        if let Some(kind) = posix(reader).ok()? {
                            side.kind(&kind, reader.flags.fold, &mut plain)?;
                        } else {
                            plain = false;
                            let class = Self::read(reader)?;
                            inside = inside.with(&class)?;
                            side.add("", &class.characters(), State::Complete)?;
                        }
                    }
                    '&' if reader.take('&') => {
                        plain = false;
                        inside.from_zero |= side.from_zero;
                        let right = std::mem::replace(&mut side, Side::new()).set;
                        sides = Some(both(sides, right));
                    }
                    '\\' => match reader.kind().ok()? {
                        Some(kind) => side.kind(&kind, reader.flags.fold, &mut plain)?,
                        None => side.char(reader.escaped_char(true)?)?,
                    },
                    char => side.char(char)?,
                }
            }
            inside.from_zero |= side.from_zero;
            let mut set = both(sides, side.set);
            let plain = (!join_at_surrogates(&mut set) && plain).then_some(side.items);
            let has_wide = set.ranges().last().is_some_and(|range| range.end() >= WIDE);
            (has_wide || !negated || !inside.negated).then_some(Self { negated, plain, set, inside })
        })
    }

    /// The characters in it.
    fn characters(self) -> ClassUnicode {
        let mut set = self.set;
        if self.negated {
            set.negate();
        }
        set
    }

    /// Whether it holds one of these characters as written, before a `^` turns it round.
    pub fn names_any(&self, chars: &[(char, char)]) -> bool {
        let mut set = ClassUnicode::new(chars.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)));
        set.intersect(&self.set);
        !self.negated && !set.ranges().is_empty()
    }

    /// The class in the notation of the `regex` crate.
    pub fn text(&self) -> String {
        if let Some(plain) = &self.plain {
            return format!("[{}{plain}]", if self.negated { "^" } else { "" });
        }
        let ranges = self.set.ranges();
        let mut text = String::from(if self.negated == ranges.is_empty() { "[" } else { "[^" });
        if ranges.is_empty() {
            text.push_str(r"\x{0}-\x{10FFFF}");
        }
        for range in ranges {
            text.push_str(&escaped(range.start()));
            if range.start() < range.end() {
                text.push('-');
                text.push_str(&escaped(range.end()));
            }
        }
        text.push(']');
        text
    }
}

impl Side {
    /// Takes a `-`: a character, or the sign of a range.
    fn hyphen(&mut self, reader: &PatternReader) -> Option<()> {
        let ends = reader.peek() == Some(']') || reader.starts_with("&&");
        match self.state {
            State::Char(from) if !ends => self.state = State::Range(from),
            State::EscapeKind if !ends => return None,
            _ => self.char('-')?,
        }
        Some(())
    }

    /// Takes something like `\s`; clears `plain` where ignoring case would reach into what it leaves out.
    fn kind(&mut self, kind: &EscapeKind, fold: bool, plain: &mut bool) -> Option<()> {
        let text = kind.text();
        *plain &= !fold || !(kind.negated || text.contains("[^"));
        self.add(&text, &set_of(&text)?, State::EscapeKind)
    }
}

/// Makes one range of the characters on both sides of the surrogates, which are no characters, and says whether there were
/// two: `regex_syntax` takes the ends of two for characters that neither has.
fn join_at_surrogates(set: &mut ClassUnicode) -> bool {
    let sides = ('\u{D7FF}', '\u{E000}');
    let meet = set.ranges().windows(2).any(|two| (two[0].end(), two[1].start()) == sides);
    if meet {
        set.push(ClassUnicodeRange::new(sides.0, sides.1));
    }
    meet
}

/// What is on both sides of `&&`.
fn both(left: Option<ClassUnicode>, right: ClassUnicode) -> ClassUnicode {
    match left {
        None => right,
        Some(mut left) => {
            left.intersect(&right);
            left
        }
    }
}

/// The characters of a class of the `regex` crate.
pub fn set_of(class: &str) -> Option<ClassUnicode> {
    match regex_syntax::parse(&format!("[{class}]")).ok()?.kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set.clone()),
        HirKind::Class(Class::Bytes(set)) => set.to_unicode_class(),
        HirKind::Literal(literal) => {
            let char = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            Some(ClassUnicode::new([ClassUnicodeRange::new(char, char)]))
        }
        _ => None,
    }
}

/// A character in a class.
fn escaped(char: char) -> String {
    match char {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        '[' | ']' | '\\' | '^' | '-' | '&' | '~' => format!("\\{char}"),
        _ if char.is_control() => format!(r"\x{{{:X}}}", u32::from(char)),
        _ => char.to_string(),
    }
}

/// Takes a bracket such as `[:alpha:]` after its first `[`, if one comes next, and gives its kind.
fn posix(reader: &mut PatternReader) -> Result<Option<EscapeKind>, Unlike> {
    let Some(name) = reader.chars[reader.at..].strip_prefix(&[':']) else { return Ok(None) };
    let negated = name.first() == Some(&'^');
    let name = &name[usize::from(negated)..];
    let len = name.iter().take_while(|char| char.is_alphabetic()).count();
    if !name[len..].starts_with(&[':', ']']) || len + usize::from(negated) == 0 {
        return Ok(None);
    }
    let class = names::bracket(&name[..len].iter().collect::<String>());
    reader.at += 1 + usize::from(negated) + len + 2;
    class.map(|class| Some(EscapeKind { class, negated })).ok_or(Unlike)
}
