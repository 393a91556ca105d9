//! What a backslash of Oniguruma begins.

use super::names;
use super::reader::{PatternReader, Unlike};
use super::shape::RegexShape;

/// Characters of a kind, such as `\s`: a class of the `regex` crate.
pub struct EscapeKind {
    /// The class.
    pub class: String,
    /// Whether the kind holds the characters that the class leaves out.
    pub negated: bool,
}

impl EscapeKind {
    fn new(class: &str, negated: bool) -> Self {
        Self { class: class.to_owned(), negated }
    }

    /// The kind as a class, inside or outside brackets.
    pub fn text(&self) -> String {
        match (self.negated, self.class.strip_prefix('\\'), self.class.strip_prefix('[')) {
            (false, ..) => self.class.clone(),
            (true, Some(letter), _) => format!(r"\{}{}", letter[..1].to_ascii_uppercase(), &letter[1..]),
            (true, _, Some(items)) if !items.starts_with('^') => format!("[^{items}"),
            (true, ..) => format!("[^{}]", self.class),
        }
    }
}

impl PatternReader {
    /// What comes after a backslash outside brackets.
    pub fn escape(&mut self) -> Option<RegexShape> {
        if let Some(mut kind) = self.kind().ok()? {
            if kind.class == names::WORD {
                kind.class.insert_str(1, names::LATIN_NUMBERS);
            }
            let text = kind.text();
            // Outside brackets, ignoring case adds nothing to a kind.
            return Some(self.set(&if self.flags.fold { format!("(?-i:{text})") } else { text }));
        }
        match self.next()? {
            'A' => Some(self.assertion(r"\A")),
            'z' => Some(self.assertion(r"\z")),
            'Z' => Some(self.assertion(r"(?=\n?\z)")),
            'b' => Some(self.boundary("(?=", "(?!")),
            'B' => Some(self.boundary("(?!", "(?=")),
            'N' => Some(self.set(".")),
            'O' => Some(self.set("(?s:.)")),
            'R' => {
                self.out.push_str(r"(?>\r\n|[\n-\r\x{85}\x{2028}\x{2029}])");
                Some(RegexShape { min: 1, max: Some(2), even: false, ..RegexShape::EMPTY })
            }
            'k' => self.reference_by_name(),
            '1'..='9' => self.reference_by_number(),
            _ => {
                self.at -= 1;
                let char = self.escaped_char(false)?;
                self.literal(char)
            }
        }
    }

    /// A word boundary, or a place that is not one. `outside` must follow after anything but a word character, and `inside`
    /// after a word character.
    fn boundary(&mut self, outside: &str, inside: &str) -> RegexShape {
        let word = EscapeKind::new(&names::WORD.replacen('[', &format!("[{}", names::LATIN_NUMBERS), 1), false).class;
        let (open, close) = if self.flags.fold { ("(?-i:", ")") } else { ("(?:", ")") };
        self.assertion(&format!("{open}(?<={word}){inside}{word})|(?<!{word}){outside}{word}){close}"))
    }

    fn reference_by_name(&mut self) -> Option<RegexShape> {
        let end = match self.next()? {
            '<' => '>',
            '\'' => '\'',
            _ => return None,
        };
        let name = self.name(end)?;
        let number = self.names.iter().find(|(other, _)| *other == name)?.1;
        self.reference(number, &format!(r"\k<{name}>"))
    }

    fn reference_by_number(&mut self) -> Option<RegexShape> {
        self.at -= 1;
        let number = self.number().ok()??;
        self.numbered = true;
        self.reference(number - 1, &format!(r"(?:\{number})"))
    }

    /// A reference to what a group before it captured.
    fn reference(&mut self, group: usize, text: &str) -> Option<RegexShape> {
        let shape = (*self.groups.get(group)?)?;
        self.out.push_str(text);
        let even = shape.max == Some(shape.min);
        (!self.flags.fold && !shape.is_folded()).then_some(RegexShape { captures: true, even, ..shape })
    }

    /// A kind of characters after a backslash, if one comes next.
    pub fn kind(&mut self) -> Result<Option<EscapeKind>, Unlike> {
        let Some(letter) = self.peek() else { return Ok(None) };
        let class = match letter.to_ascii_lowercase() {
            'd' => r"\d",
            's' => r"\s",
            'h' => "[0-9A-Fa-f]",
            'w' => names::WORD,
            'p' if self.chars.get(self.at + 1) == Some(&'{') => {
                self.at += 2;
                return self.property(letter == 'P').map(Some).ok_or(Unlike);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(EscapeKind::new(class, letter.is_ascii_uppercase())))
    }

    /// A property after its `{`.
    fn property(&mut self, negated: bool) -> Option<EscapeKind> {
        let negated = negated ^ self.take('^');
        let start = self.at;
        while self.next()? != '}' {}
        let name: String = self.chars[start..self.at - 1].iter().collect();
        names::property(&name).map(|class| EscapeKind { class, negated })
    }

    /// The character that an escape means.
    pub fn escaped_char(&mut self, in_class: bool) -> Option<char> {
        Some(match self.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\x0C',
            'a' => '\x07',
            'v' => '\x0B',
            'e' => '\x1B',
            'b' if in_class => '\x08',
            'x' if self.take('{') => return self.code(16, 1, 8, true),
            'o' if self.take('{') => return self.code(8, 1, 11, true),
            // Only those escapes of bytes that are characters.
            'x' => return self.code(16, 1, 2, false).filter(char::is_ascii),
            'u' => return self.code(16, 4, 4, false),
            '0' => return self.code(8, 0, 2, false).filter(char::is_ascii),
            '1'..='7' if in_class => {
                self.at -= 1;
                return self.code(8, 1, 3, false).filter(char::is_ascii);
            }
            char if char.is_ascii_alphanumeric() => return None,
            char => char,
        })
    }

    /// The character of a code of `least` to `most` digits.
    fn code(&mut self, base: u32, least: usize, most: usize, braced: bool) -> Option<char> {
        let start = self.at;
        while self.at < start + most && self.peek().is_some_and(|char| char.is_digit(base)) {
            self.at += 1;
        }
        let digits: String = self.chars[start..self.at].iter().collect();
        if digits.len() < least || braced && !self.take('}') {
            return None;
        }
        char::from_u32(if digits.is_empty() { 0 } else { u32::from_str_radix(&digits, base).ok()? })
    }
}
