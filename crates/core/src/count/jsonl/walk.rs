//! Parses the JSON of one row for the value of one field.
//!
//! The walk stores and converts nothing that it skips, and no function recurses. So numbers can have any length, and
//! values any depth.

use std::borrow::Cow;

pub enum FieldValue<'r> {
    Text(Cow<'r, str>),
    Other(&'static str),
}

pub struct JsonProblem {
    pub what: &'static str,
    pub at: usize,
}

/// A walk over JSON, including the numbers `NaN`, `Infinity` and `-Infinity`, which Python writes.
pub struct JsonWalk<'r> {
    row: &'r str,
    at: usize,
}

impl<'r> JsonWalk<'r> {
    pub fn new(row: &'r str) -> Self {
        Self { row, at: 0 }
    }

    /// Returns the field of the row's object; the last of several.
    pub fn find_field(&mut self, field: &str) -> Result<Option<FieldValue<'r>>, JsonProblem> {
        self.skip_space();
        if !self.accept(b'{') {
            return self.fail("the row does not begin with '{'");
        }
        let mut value = None;
        self.skip_space();
        if !self.accept(b'}') {
            loop {
                let name = self.read_name()?;
                if name == field {
                    value = Some(self.read_field()?);
                } else {
                    self.skip_value()?;
                }
                self.skip_space();
                if self.accept(b'}') {
                    break;
                }
                self.skip_comma()?;
            }
        }
        self.skip_space();
        if self.at < self.row.len() { self.fail("there is text after the object") } else { Ok(value) }
    }

    fn read_field(&mut self) -> Result<FieldValue<'r>, JsonProblem> {
        let kind = match self.peek() {
            Some(b'"') => return self.read_string().map(unescape).map(FieldValue::Text),
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b't' | b'f') => "true or false",
            Some(b'n') => "null",
            _ => "a number",
        };
        self.skip_value().map(|()| FieldValue::Other(kind))
    }

    /// Reads a name with its colon and the space after it.
    fn read_name(&mut self) -> Result<Cow<'r, str>, JsonProblem> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return self.fail("a name in quotes is missing");
        }
        let name = self.read_string()?;
        self.skip_space();
        if !self.accept(b':') {
            return self.fail("a colon is missing");
        }
        self.skip_space();
        Ok(unescape(name))
    }

    fn skip_comma(&mut self) -> Result<(), JsonProblem> {
        if self.accept(b',') { Ok(()) } else { self.fail("a comma or a closing bracket is missing") }
    }

    /// Skips a value. A list holds its open brackets, so that depth takes no stack.
    fn skip_value(&mut self) -> Result<(), JsonProblem> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    self.skip_space();
                    let end = bracket + 2;
                    if !self.accept(end) {
                        open.push(end);
                        self.skip_to_value(end)?;
                        continue;
                    }
                }
                Some(b'"') => drop(self.read_string()?),
                _ => self.skip_plain()?,
            }
            loop {
                self.skip_space();
                let Some(&end) = open.last() else { return Ok(()) };
                if !self.accept(end) {
                    self.skip_comma()?;
                    self.skip_to_value(end)?;
                    break;
                }
                open.pop();
            }
        }
    }

    fn skip_to_value(&mut self, end: u8) -> Result<(), JsonProblem> {
        if end == b'}' {
            self.read_name()?;
        }
        self.skip_space();
        Ok(())
    }

    /// Returns a string without its quotes. Its escapes must be valid, and it must not hold control characters.
    fn read_string(&mut self) -> Result<&'r str, JsonProblem> {
        let begun = self.at + 1;
        self.at = begun;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let hexadecimal = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') if self.row.get(self.at + 1..self.at + 5).is_some_and(hexadecimal) => self.at += 4,
                        _ => return self.fail("an escape is not one of JSON's"),
                    }
                }
                Some(0..0x20) => return self.fail("a string holds a control character"),
                Some(_) => {}
                None => return self.fail("the row ends inside a string"),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(&self.row[begun..self.at - 1])
    }

    /// Skips a number of any length, or a word.
    fn skip_plain(&mut self) -> Result<(), JsonProblem> {
        let begun = self.at;
        for word in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
            if self.row[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        self.accept(b'-');
        let zero = self.peek() == Some(b'0');
        let mut right =
            self.skip_digits() && (!zero || self.at - begun == 1 + usize::from(self.row.as_bytes()[begun] == b'-'));
        if right && self.accept(b'.') {
            right = self.skip_digits();
        }
        if right && (self.accept(b'e') || self.accept(b'E')) {
            let _ = self.accept(b'+') || self.accept(b'-');
            right = self.skip_digits();
        }
        if right { Ok(()) } else { self.fail("a value is missing or not JSON") }
    }

    /// Skips digits and returns whether there were any.
    fn skip_digits(&mut self) -> bool {
        let begun = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > begun
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.row.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, JsonProblem> {
        Err(JsonProblem { what, at: self.at })
    }
}

/// Decodes a string with valid escapes. A lone surrogate becomes U+FFFD, as in a `str` (decision 6).
pub fn unescape(string: &str) -> Cow<'_, str> {
    let bytes = string.as_bytes();
    let next = |start: usize| memchr::memchr(b'\\', &bytes[start..]).map(|at| start + at);
    let Some(mut at) = next(0) else { return Cow::Borrowed(string) };
    let (mut text, mut start) = (String::with_capacity(string.len()), 0);
    loop {
        text.push_str(&string[start..at]);
        // Texts in other scripts can consist of escapes only.
        while let [b'\\', escape @ ..] = &bytes[at..] {
            let (char, len) = decode_escape(escape);
            text.push(char);
            at += 1 + len;
        }
        start = at;
        let Some(escape_start) = next(start) else { break };
        at = escape_start;
    }
    text.push_str(&string[start..]);
    Cow::Owned(text)
}

/// Returns the character of an escape, given the bytes after its backslash, and how many of them it takes.
fn decode_escape(escape: &[u8]) -> (char, usize) {
    let char = match escape {
        [b'b', ..] => '\u{8}',
        [b'f', ..] => '\u{C}',
        [b'n', ..] => '\n',
        [b'r', ..] => '\r',
        [b't', ..] => '\t',
        &[b'u', a, b, c, d, ref rest @ ..] => return decode_units(parse_unit([a, b, c, d]), rest),
        [other, ..] => char::from(*other),
        [] => char::REPLACEMENT_CHARACTER,
    };
    (char, 1)
}

/// The same for one UTF-16 unit, or two that form one character.
fn decode_units(first: u16, rest: &[u8]) -> (char, usize) {
    if let Some(char) = char::from_u32(u32::from(first)) {
        return (char, 5);
    }
    if let &[b'\\', b'u', a, b, c, d, ..] = rest
        && let Some(Ok(char)) = char::decode_utf16([first, parse_unit([a, b, c, d])]).next()
    {
        return (char, 11);
    }
    (char::REPLACEMENT_CHARACTER, 5)
}

/// The number of four hex digits.
fn parse_unit(digits: [u8; 4]) -> u16 {
    digits.iter().fold(0, |unit, &digit| unit << 4 | HEX[usize::from(digit)])
}

/// The value of each byte that is a hex digit.
static HEX: [u16; 256] = {
    let mut values = [0; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u16;
        values[b"0123456789ABCDEF"[value] as usize] = value as u16;
        value += 1;
    }
    values
};
