//! Rows of JSON to texts: the value of one field of an object, and nothing else of it.
//!
//! What is not understood here (numbers that JSON has no place for, escapes of lone surrogates, bytes that are no UTF-8)
//! is left to the caller, so that one reader decides what a row is.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The lines of a block that are not blank, each with its number among all lines.
pub fn lines(block: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut rest, mut next) = (block, 0);
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, after) = rest.split_at(end);
            (rest, next) = (after, next + 1);
            if !line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0B) {
                return Some((next - 1, line));
            }
        }
        None
    })
}

/// The text in the field of a row; None if it has none, or is not understood.
#[must_use]
pub fn text<'r>(row: &'r [u8], field: &str) -> Option<Cow<'r, str>> {
    let mut reader = serde_json::Deserializer::from_slice(row);
    let found = Row(field).deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    found
}

/// The row, whose field of this name is asked for.
struct Row<'f>(&'f str);

impl<'r> DeserializeSeed<'r> for Row<'_> {
    type Value = Option<Cow<'r, str>>;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'r> Visitor<'r> for Row<'_> {
    type Value = Option<Cow<'r, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'r>>(self, mut row: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(is_field) = row.next_key_seed(Name(self.0))? {
            if is_field {
                // Of several fields of one name the last counts.
                found = Some(row.next_value_seed(Value)?);
            } else {
                row.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a name is the one asked for.
struct Name<'f>(&'f str);

impl<'r> DeserializeSeed<'r> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// A value that is a text.
struct Value;

impl<'r> DeserializeSeed<'r> for Value {
    type Value = Cow<'r, str>;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'r> Visitor<'r> for Value {
    type Value = Cow<'r, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'r str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Self::Value, E> {
        Err(E::custom("bytes are no text"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_of_a_row() {
        let rows: [(&str, Option<&str>); 9] = [
            (r#"{"text": "a b"}"#, Some("a b")),
            (r#" {"x": [1, {"text": 2}], "text": "a\n\u00e9\ud83d\ude00"} "#, Some("a\né😀")),
            (r#"{"text": "a", "te\u0078t": "b"}"#, Some("b")),
            (r#"{"texts": "a"}"#, None),
            (r#"{"text": 1}"#, None),
            (r#"["text"]"#, None),
            (r#"{"text": "a"} {}"#, None),
            (r#"{"text": "\ud800"}"#, None),
            (r#"{"text": "a", "n": NaN}"#, None),
        ];
        for (row, expected) in rows {
            assert_eq!(text(row.as_bytes(), "text").as_deref(), expected, "{row}");
        }
        assert_eq!(text(b"{\"text\": \"\xFF\"}", "text"), None);
    }

    #[test]
    fn blank_lines_are_no_rows() {
        assert_eq!(lines(b"\n {}\r\n \t\n{}").collect::<Vec<_>>(), [(1, &b" {}\r\n"[..]), (3, b"{}")]);
        assert_eq!(lines(b"").count(), 0);
    }
}
