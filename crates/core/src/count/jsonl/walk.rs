//! What a row says: a walk over the JSON of one object that asks for one field.
//!
//! The walk keeps and converts nothing that it passes, and no function calls itself. So numbers may have any length, and
//! values any depth.

use std::borrow::Cow;

/// The value of the field.
pub enum FieldFound<'r> {
    Text(Cow<'r, str>),
    Other(&'static str),
}

/// What is wrong at a byte.
pub struct Wrong {
    pub what: &'static str,
    pub at: usize,
}

/// A walk over JSON, and over the numbers `NaN`, `Infinity` and `-Infinity`, which Python writes.
pub struct Json<'r> {
    row: &'r str,
    at: usize,
}

impl<'r> Json<'r> {
    /// A walk that begins at the first byte.
    pub fn new(row: &'r str) -> Self {
        Self { row, at: 0 }
    }

    /// The field of the object that the row is; the last of several.
    pub fn fields(&mut self, field: &str) -> Result<Option<FieldFound<'r>>, Wrong> {
        self.space();
        if !self.takes(b'{') {
            return self.wrong("the row does not begin with '{'");
        }
        let mut found = None;
        self.space();
        if !self.takes(b'}') {
            loop {
                let name = self.name()?;
                if name == field {
                    found = Some(self.found()?);
                } else {
                    self.value()?;
                }
                self.space();
                if self.takes(b'}') {
                    break;
                }
                self.comma()?;
            }
        }
        self.space();
        if self.at < self.row.len() { self.wrong("something follows the object") } else { Ok(found) }
    }

    fn found(&mut self) -> Result<FieldFound<'r>, Wrong> {
        let kind = match self.next() {
            Some(b'"') => return self.string().map(unescaped).map(FieldFound::Text),
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b't' | b'f') => "true or false",
            Some(b'n') => "null",
            _ => "a number",
        };
        self.value().map(|()| FieldFound::Other(kind))
    }

    /// A name with its colon and the space behind it.
    fn name(&mut self) -> Result<Cow<'r, str>, Wrong> {
        self.space();
        if self.next() != Some(b'"') {
            return self.wrong("a name in quotes is missing");
        }
        let name = self.string()?;
        self.space();
        if !self.takes(b':') {
            return self.wrong("a colon is missing");
        }
        self.space();
        Ok(unescaped(name))
    }

    fn comma(&mut self) -> Result<(), Wrong> {
        if self.takes(b',') { Ok(()) } else { self.wrong("a comma or a closing bracket is missing") }
    }

    /// Passes a value. A list holds what is open inside it, so that depth takes no stack.
    fn value(&mut self) -> Result<(), Wrong> {
        let mut open = Vec::new();
        loop {
            match self.next() {
                Some(bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    self.space();
                    let end = bracket + 2;
                    if !self.takes(end) {
                        open.push(end);
                        self.begin(end)?;
                        continue;
                    }
                }
                Some(b'"') => drop(self.string()?),
                _ => self.plain()?,
            }
            loop {
                self.space();
                let Some(&end) = open.last() else { return Ok(()) };
                if !self.takes(end) {
                    self.comma()?;
                    self.begin(end)?;
                    break;
                }
                open.pop();
            }
        }
    }

    /// What comes before the next value of an object or a list.
    fn begin(&mut self, end: u8) -> Result<(), Wrong> {
        if end == b'}' {
            self.name()?;
        }
        self.space();
        Ok(())
    }

    /// The content of a string between its quotes. Its escapes must be right, and it must not hold control characters.
    fn string(&mut self) -> Result<&'r str, Wrong> {
        let begun = self.at + 1;
        self.at = begun;
        loop {
            match self.next() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let hexadecimal = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                    match self.next() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {}
                        Some(b'u') if self.row.get(self.at + 1..self.at + 5).is_some_and(hexadecimal) => self.at += 4,
                        _ => return self.wrong("an escape is none of JSON's"),
                    }
                }
                Some(0..0x20) => return self.wrong("a string holds a control character"),
                Some(_) => {}
                None => return self.wrong("the row ends inside a string"),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(&self.row[begun..self.at - 1])
    }

    /// A number of any length, or a word.
    fn plain(&mut self) -> Result<(), Wrong> {
        let begun = self.at;
        for word in ["true", "false", "null", "NaN", "Infinity", "-Infinity"] {
            if self.row[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(());
            }
        }
        self.takes(b'-');
        let zero = self.next() == Some(b'0');
        let mut right =
            self.digits() && (!zero || self.at - begun == 1 + usize::from(self.row.as_bytes()[begun] == b'-'));
        if right && self.takes(b'.') {
            right = self.digits();
        }
        if right && (self.takes(b'e') || self.takes(b'E')) {
            let _ = self.takes(b'+') || self.takes(b'-');
            right = self.digits();
        }
        if right { Ok(()) } else { self.wrong("a value is missing or none of JSON's") }
    }

    /// Passes digits, and says whether there were any.
    fn digits(&mut self) -> bool {
        let begun = self.at;
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > begun
    }

    fn space(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn next(&self) -> Option<u8> {
        self.row.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.next() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, Wrong> {
        Err(Wrong { what, at: self.at })
    }
}

/// The text of a string whose escapes are right. A lone surrogate becomes U+FFFD, as in a `str` (decision 6).
pub fn unescaped(string: &str) -> Cow<'_, str> {
    let bytes = string.as_bytes();
    let next = |start: usize| memchr::memchr(b'\\', &bytes[start..]).map(|at| start + at);
    let Some(mut at) = next(0) else { return Cow::Borrowed(string) };
    let (mut text, mut start) = (String::with_capacity(string.len()), 0);
    loop {
        text.push_str(&string[start..at]);
        // Texts in other scripts may have nothing but escapes.
        while let [b'\\', escape @ ..] = &bytes[at..] {
            let (char, len) = escaped(escape);
            text.push(char);
            at += 1 + len;
        }
        start = at;
        let Some(more) = next(start) else { break };
        at = more;
    }
    text.push_str(&string[start..]);
    Cow::Owned(text)
}

/// The character of an escape that begins behind its backslash, and how many bytes it has there.
fn escaped(escape: &[u8]) -> (char, usize) {
    let char = match escape {
        [b'b', ..] => '\u{8}',
        [b'f', ..] => '\u{C}',
        [b'n', ..] => '\n',
        [b'r', ..] => '\r',
        [b't', ..] => '\t',
        &[b'u', a, b, c, d, ref rest @ ..] => return escaped_units(unit([a, b, c, d]), rest),
        [other, ..] => char::from(*other),
        [] => char::REPLACEMENT_CHARACTER,
    };
    (char, 1)
}

/// The same of one unit of UTF-16, or of two that are one character.
fn escaped_units(first: u16, rest: &[u8]) -> (char, usize) {
    if let Some(char) = char::from_u32(u32::from(first)) {
        return (char, 5);
    }
    if let &[b'\\', b'u', a, b, c, d, ..] = rest
        && let Some(Ok(char)) = char::decode_utf16([first, unit([a, b, c, d])]).next()
    {
        return (char, 11);
    }
    (char::REPLACEMENT_CHARACTER, 5)
}

/// The number that four hex digits say.
fn unit(digits: [u8; 4]) -> u16 {
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
