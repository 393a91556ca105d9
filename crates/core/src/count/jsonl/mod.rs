//! Rows of `.jsonl` to texts: what a row must be, and the value of one field of it. `docs/spec.md` has the rule.
//!
//! Reading order: this file. [`read`] is the rule, and `walk` reads JSON for it. [`text`] asks serde first, which is
//! faster and understands nearly every row. It leaves to `read` what serde refuses: `NaN`, escapes of lone surrogates,
//! a field that occurs twice, and lines that are not rows.
//!
//! Left out: opening and unpacking files, which the Python package does, and what is done with a bad row, which the
//! caller says.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

pub mod column;
mod walk;

use walk::{FieldFound, Json};

/// What some programs write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// How many characters of a field's name an error quotes.
const QUOTED: usize = 100;

/// The lines of a block that are not blank, each with its number among all lines.
pub fn lines(block: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let (mut rest, mut next) = (block, 0);
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
            let (line, after) = rest.split_at(end);
            (rest, next) = (after, next + 1);
            if !is_blank(line) {
                return Some((next - 1, line));
            }
        }
        None
    })
}

/// Whether a line holds nothing but white space, so that it is not a row.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0B)
}

/// The text in the field of a row.
///
/// # Errors
/// What is wrong with the row, in words.
pub fn text<'r>(row: &'r [u8], field: &str) -> Result<Cow<'r, str>, String> {
    let utf8 = utf8(row)?;
    let mut reader = serde_json::Deserializer::from_str(utf8);
    let found = JsonRow(field).deserialize(&mut reader).and_then(|found| reader.end().map(|()| found));
    match found {
        Ok(Some(text)) => Ok(text),
        _ => read(row, field),
    }
}

fn utf8(row: &[u8]) -> Result<&str, String> {
    let row = row.strip_prefix(BYTE_ORDER_MARK).unwrap_or(row);
    let wrong = |at: usize| format!("is no UTF-8: byte {at} of the row is 0x{:02X}; save the file as UTF-8", row[at]);
    std::str::from_utf8(row).map_err(|problem| wrong(problem.valid_up_to()))
}

/// The twin of [`text`] that says what is wrong. It accepts numbers of any length and nesting of any depth.
///
/// # Errors
/// What is wrong with the row, in words.
pub fn read<'r>(row: &'r [u8], field: &str) -> Result<Cow<'r, str>, String> {
    let found = Json::new(utf8(row)?).fields(field).map_err(|problem| {
        let at = problem.at;
        format!("is no JSON object: {} at byte {at} of the row; expected one object in each line", problem.what)
    })?;
    let is = match found {
        Some(FieldFound::Text(text)) => return Ok(text),
        Some(FieldFound::Other(kind)) => format!("but {kind}"),
        None => "which is missing".to_owned(),
    };
    let name: String = field.chars().take(QUOTED).collect();
    Err(format!("has no text in the field '{name}', {is}; name the field with field="))
}

/// The row, and the name of the field that is asked for.
struct JsonRow<'f>(&'f str);

impl<'r> DeserializeSeed<'r> for JsonRow<'_> {
    type Value = Option<Cow<'r, str>>;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'r> Visitor<'r> for JsonRow<'_> {
    type Value = Option<Cow<'r, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'r>>(self, mut row: M) -> Result<Self::Value, M::Error> {
        let mut found = None;
        while let Some(is_field) = row.next_key_seed(FieldName(self.0))? {
            if is_field {
                // Of several fields of one name the last counts.
                found = Some(row.next_value_seed(FieldValue)?);
            } else {
                row.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a name is the one asked for.
struct FieldName<'f>(&'f str);

impl<'r> DeserializeSeed<'r> for FieldName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// A value that is a text.
struct FieldValue;

impl<'r> DeserializeSeed<'r> for FieldValue {
    type Value = Cow<'r, str>;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'r> Visitor<'r> for FieldValue {
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
        let rows: [(&str, Result<&str, &str>); 28] = [
            (r#"{"text": "a b"}"#, Ok("a b")),
            (r#" {"x": [1, {"text": 2}], "text": "a\n\u00e9\ud83d\ude00"} "#, Ok("a\né😀")),
            (r#"{"text": "a", "te\u0078t": "b"}"#, Ok("b")),
            (r#"{"text": 1, "text": "b"}"#, Ok("b")),
            (r#"{"text": "\ud800", "n": -Infinity}"#, Ok("\u{FFFD}")),
            (
                r#"{"text": "\ud83dx\ude00\uDE00\ud83d\ud83d\ude00\"\\\/\b\f\r\t"}"#,
                Ok("\u{FFFD}x\u{FFFD}\u{FFFD}\u{FFFD}😀\"\\/\u{8}\u{C}\r\t"),
            ),
            (r#"{"\ud800": [], "a": {}, "b": [{}, [[]], -0.5e+7, 0, true, false], "text": "a", "n": NaN}"#, Ok("a")),
            ("{\"text\": \"\u{7F}\u{2028}\"}\r\n", Ok("\u{7F}\u{2028}")),
            ("\u{FEFF}{\"text\": \"\u{FEFF}\"}", Ok("\u{FEFF}")),
            (r#"{"texts": "a"}"#, Err("which is missing")),
            ("{}", Err("which is missing")),
            (r#"{"text": "a", "text": 1}"#, Err("but a number")),
            (r#"{"text": null}"#, Err("but null")),
            (r#"["text"]"#, Err("does not begin with '{' at byte 0")),
            (r#"{"text": "a"} {}"#, Err("something follows the object at byte 14")),
            (r#"{"text": "a", }"#, Err("a name in quotes")),
            (r#"{"text": "a" "b": 1}"#, Err("a comma")),
            (r#"{"text" "a"}"#, Err("a colon")),
            (r#"{"text": "a"#, Err("ends inside a string at byte 11")),
            (r#"{"text": "a", "b": [1}"#, Err("a comma")),
            (r#"{"text": "a", "b": 01}"#, Err("a value")),
            (r#"{"text": "a", "b": 1.}"#, Err("a value")),
            (r#"{"text": "a", "b": -}"#, Err("a value")),
            (r#"{"text": "a", "b": nan}"#, Err("a value")),
            (r#"{"text": "\x41"}"#, Err("an escape")),
            (r#"{"text": "\u00é"}"#, Err("an escape")),
            ("{\"text\": \"a\tb\"}", Err("a control character at byte 11")),
            ("\u{FEFF}\u{FEFF}{\"text\": \"a\"}", Err("does not begin with '{'")),
        ];
        for (row, expected) in rows {
            for found in [text(row.as_bytes(), "text"), read(row.as_bytes(), "text")] {
                match (found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{row}"),
                    (Err(found), Err(expected)) => assert!(found.contains(expected), "{row}: {found}"),
                    (found, expected) => panic!("{row}: {found:?}, expected {expected:?}"),
                }
            }
        }
        let problem = text(b"{\"n\": \"\xFF\", \"text\": \"a\"}", "text").unwrap_err();
        assert!(problem.contains("byte 7 of the row is 0xFF"), "{problem}");
    }

    #[test]
    fn long_numbers_and_deep_values_are_passed() {
        for value in [
            "7".repeat(200_000),
            "[".repeat(200_000) + &"]".repeat(200_000),
            "{\"a\":".repeat(50_000) + "1" + &"}".repeat(50_000),
        ] {
            for place in
                ["{\"n\": #, \"text\": \"a\"}", "{\"text\": \"a\", \"n\": #}", "{\"text\": #, \"text\": \"a\"}"]
            {
                let row = place.replace('#', &value);
                assert_eq!(text(row.as_bytes(), "text").as_deref(), Ok("a"));
                assert_eq!(read(row.as_bytes(), "text").as_deref(), Ok("a"));
            }
        }
        assert!(text("[".repeat(200_000).as_bytes(), "text").is_err());
    }

    #[test]
    fn the_fast_reader_gives_what_the_rule_gives() {
        let parts = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            " ",
            "\"text\"",
            "\"a\"",
            "\"text\": ",
            "\"\\ud83d",
            "\\ude00\"",
            "1",
            "0",
            "-",
            ".5",
            "e9",
            "NaN",
            "null",
            "true",
            "\"",
            "\\",
            "\t",
            "\"\\u0041\"",
            "é",
            "{\"text\": \"b\", \"n\": ",
        ];
        let mut state = 5u64;
        let (mut rows, mut texts) = (0, 0);
        while rows < 200_000 {
            let mut row = String::from(["{\"text\": ", "{", "{\"text\": \"c\", \"n\": ", ""][rows % 4]);
            for _ in 0..rows % 9 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                row.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            row.push_str(["}", "", "\"}", "]}"][rows / 4 % 4]);
            let (fast, slow) = (text(row.as_bytes(), "text"), read(row.as_bytes(), "text"));
            assert_eq!(fast, slow, "{row}");
            texts += usize::from(fast.is_ok());
            rows += 1;
        }
        assert!(texts > 1000, "{texts}");
    }

    #[test]
    fn blank_lines_are_no_rows() {
        assert_eq!(lines(b"\n {}\r\n \t\n{}").collect::<Vec<_>>(), [(1, &b" {}\r\n"[..]), (3, b"{}")]);
        assert_eq!(lines(b"\xEF\xBB\xBF \n\x0b\x0c\r\n").count(), 0);
        assert_eq!(lines(b"").count(), 0);
    }
}
