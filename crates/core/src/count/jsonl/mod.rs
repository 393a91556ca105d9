//! Rows of `.jsonl` to texts: the rule for a row, and the value of one field. `docs/spec.md` has the rule.
//!
//! Reading order: [`Rows`] finds the rows for all readers; counting takes them row by row, [`mod@column`] many at a
//! time. [`row_text_slowly`] is the rule for one row, and `walk` parses JSON for it. [`row_text`] tries serde first,
//! which is faster and accepts nearly every row. The rest goes to `row_text_slowly`: `NaN`, names with escapes of lone
//! surrogates, and lines that are not rows.
//!
//! Left out: opening and unpacking files, which the Python package does, and the handling of bad rows, which the caller
//! decides.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::utf8::text_of;
pub mod column;
mod walk;

use walk::{FieldValue, JsonWalk, unescape};

/// The byte order mark that some programs write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The most characters of a field's name that an error quotes.
const QUOTED: usize = 100;

/// The place of a row in its block: its line number, and its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPlace {
    /// The number among all lines, blank ones included.
    pub line: u64,
    /// The byte range, with the line feed.
    pub bytes: Range<usize>,
}

/// The rows of a block of whole lines; the last line needs no line feed. Only the places are found here: a row is
/// parsed when taken, on any thread.
#[derive(Debug)]
pub struct Rows<'b> {
    block: &'b [u8],
    /// The place of each row. A blank line is not a row.
    pub places: Vec<RowPlace>,
    /// The number of lines in the block, blank ones included.
    pub lines: u64,
}

impl<'b> Rows<'b> {
    /// Finds the rows of a block.
    #[must_use]
    pub fn new(block: &'b [u8]) -> Self {
        let (mut places, mut lines, mut start) = (Vec::new(), 0, 0);
        while start < block.len() {
            let end = memchr::memchr(b'\n', &block[start..]).map_or(block.len(), |end| start + end + 1);
            if !is_blank(&block[start..end]) {
                places.push(RowPlace { line: lines, bytes: start..end });
            }
            (start, lines) = (end, lines + 1);
        }
        Self { block, places, lines }
    }

    /// The bytes of a row, unchanged.
    #[must_use]
    pub fn row(&self, number: usize) -> &'b [u8] {
        &self.block[self.places[number].bytes.clone()]
    }
}

/// The fields to read from a row.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'f> {
    /// The field of the text.
    pub text: &'f str,
    /// The field of the row's name, if requested.
    pub name: Option<&'f str>,
}

/// The name of a row: the value of a field that has only one spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowName<'r> {
    /// The field is missing or null, or was not requested.
    Missing,
    /// A string, or the digits of an integer.
    Known(Cow<'r, str>),
    /// Any other value: the caller reads the row.
    Unread,
}

/// Whether a line holds only white space and so is not a row.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0B)
}

/// The number of line feeds in a block.
#[must_use]
pub fn line_feeds(block: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', block).count()
}

/// Returns the text in the field of a row.
///
/// # Errors
/// The problem of the row, in words.
pub fn row_text<'r>(row: &'r [u8], field: &str) -> Result<Cow<'r, str>, String> {
    text_and_name(row, Fields { text: field, name: None }).map(|(text, _)| text)
}

/// Returns the text and the name of a row.
///
/// # Errors
/// The problem of the row, in words. A name is never a problem.
pub fn text_and_name<'r>(row: &'r [u8], fields: Fields<'_>) -> Result<(Cow<'r, str>, RowName<'r>), String> {
    let utf8 = utf8(row)?;
    let mut reader = serde_json::Deserializer::from_str(utf8);
    let result = JsonRow(fields).deserialize(&mut reader).and_then(|result| reader.end().map(|()| result));
    match result {
        Ok((Some(text), name)) => Ok((text, name)),
        _ => row_text_slowly(row, fields.text)
            .map(|text| (text, fields.name.map_or(RowName::Missing, |_| RowName::Unread))),
    }
}

fn utf8(row: &[u8]) -> Result<&str, String> {
    let row = row.strip_prefix(BYTE_ORDER_MARK).unwrap_or(row);
    let wrong = |at: usize| format!("is not UTF-8: byte {at} of the row is 0x{:02X}; save the file as UTF-8", row[at]);
    text_of(row).map_err(|problem| wrong(problem.valid_up_to()))
}

/// The twin of [`row_text`] that describes problems. It accepts numbers of any length and nesting of any depth.
///
/// # Errors
/// The problem of the row, in words.
pub fn row_text_slowly<'r>(row: &'r [u8], field: &str) -> Result<Cow<'r, str>, String> {
    let value = JsonWalk::new(utf8(row)?).find_field(field).map_err(|problem| {
        let at = problem.at;
        format!("is not a JSON object: {} at byte {at} of the row; expected one object in each line", problem.what)
    })?;
    let is = match value {
        Some(FieldValue::Text(text)) => return Ok(text),
        Some(FieldValue::Other(kind)) => format!("but {kind}"),
        None => "which is missing".to_owned(),
    };
    let name: String = field.chars().take(QUOTED).collect();
    Err(format!("has no text in the field '{name}', {is}; name the field with field="))
}

struct JsonRow<'f>(Fields<'f>);

impl<'r> DeserializeSeed<'r> for JsonRow<'_> {
    type Value = (Option<Cow<'r, str>>, RowName<'r>);

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'r> Visitor<'r> for JsonRow<'_> {
    type Value = (Option<Cow<'r, str>>, RowName<'r>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'r>>(self, mut row: M) -> Result<Self::Value, M::Error> {
        let (mut text, mut name) = (None, RowName::Missing);
        while let Some(which) = row.next_key_seed(FieldName(self.0))? {
            // The last of several fields of one name counts.
            match which {
                FieldKind::Text => text = string_value(row.next_value()?),
                FieldKind::Name => name = row.next_value_seed(NameValue)?,
                FieldKind::Other => drop(row.next_value::<IgnoredAny>()?),
            }
        }
        if self.0.name == Some(self.0.text) {
            name = text.clone().map_or(RowName::Missing, RowName::Known);
        }
        Ok((text, name))
    }
}

/// The text of a string value. Serde would collect it in a growing buffer and then copy it.
fn string_value(value: &RawValue) -> Option<Cow<'_, str>> {
    let in_quotes = value.get().strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(in_quotes))
}

enum FieldKind {
    Text,
    Name,
    Other,
}

/// Reads a name and returns the requested field that has it.
struct FieldName<'f>(Fields<'f>);

impl<'r> DeserializeSeed<'r> for FieldName<'_> {
    type Value = FieldKind;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<FieldKind, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName<'_> {
    type Value = FieldKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<FieldKind, E> {
        Ok(match name {
            _ if name == self.0.text => FieldKind::Text,
            _ if Some(name) == self.0.name => FieldKind::Name,
            _ => FieldKind::Other,
        })
    }
}

struct NameValue;

impl<'r> DeserializeSeed<'r> for NameValue {
    type Value = RowName<'r>;

    fn deserialize<D: Deserializer<'r>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'r> Visitor<'r> for NameValue {
    type Value = RowName<'r>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, name: &'r str) -> Result<Self::Value, E> {
        Ok(RowName::Known(Cow::Borrowed(name)))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(RowName::Known(Cow::Owned(name.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(RowName::Known(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(RowName::Known(Cow::Owned(number.to_string())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(RowName::Missing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(RowName::Unread)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(RowName::Unread)
    }

    fn visit_seq<A: SeqAccess<'r>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(RowName::Unread)
    }

    fn visit_map<A: MapAccess<'r>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(RowName::Unread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    #[test]
    fn only_strings_and_integers_name_a_row() {
        let known = |name: &'static str| RowName::Known(Cow::Borrowed(name));
        let rows = [
            (r#"{"text": "a", "id": "b"}"#, known("b")),
            (r#"{"id": "\u0062", "text": "a"}"#, known("b")),
            (r#"{"id": 7, "text": "a"}"#, known("7")),
            (r#"{"id": -7, "text": "a"}"#, known("-7")),
            (r#"{"id": 18446744073709551615, "text": "a"}"#, known("18446744073709551615")),
            (r#"{"id": "b", "text": "a", "id": "c"}"#, known("c")),
            (r#"{"id": "b", "text": "a", "id": null}"#, RowName::Missing),
            (r#"{"x": {"id": "b"}, "text": "a"}"#, RowName::Missing),
            (r#"{"id": -0, "text": "a"}"#, RowName::Unread),
            (r#"{"id": 18446744073709551616, "text": "a"}"#, RowName::Unread),
            (r#"{"id": 1.0, "text": "a"}"#, RowName::Unread),
            (r#"{"id": 1e999, "text": "a"}"#, RowName::Unread),
            (r#"{"id": NaN, "text": "a"}"#, RowName::Unread),
            (r#"{"id": true, "text": "a"}"#, RowName::Unread),
            (r#"{"id": ["b", [1]], "text": "a"}"#, RowName::Unread),
            (r#"{"id": {"b": {}}, "text": "a"}"#, RowName::Unread),
            (r#"{"id": "\ud800", "text": "a"}"#, RowName::Unread),
        ];
        for (row, expected) in rows {
            let fields = Fields { text: "text", name: Some("id") };
            let (text, name) = text_and_name(row.as_bytes(), fields).unwrap();
            assert_eq!((&*text, name), ("a", expected), "{row}");
            assert_eq!(text_and_name(row.as_bytes(), Fields { name: None, ..fields }).unwrap().1, RowName::Missing);
        }
        let both = Fields { text: "text", name: Some("text") };
        let row = br#"{"text": "a", "id": "b"}"#;
        assert_eq!(text_and_name(row, both), Ok((Cow::Borrowed("a"), known("a"))));
        assert!(text_and_name(br#"{"id": "b"}"#, Fields { text: "text", name: Some("id") }).is_err());
    }

    #[test]
    fn the_last_field_is_the_text_or_the_problem_is_named() {
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
            (r#"{"text": "a"} {}"#, Err("there is text after the object at byte 14")),
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
            for found in [row_text(row.as_bytes(), "text"), row_text_slowly(row.as_bytes(), "text")] {
                match (found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{row}"),
                    (Err(found), Err(expected)) => assert!(found.contains(expected), "{row}: {found}"),
                    (found, expected) => panic!("{row}: {found:?}, expected {expected:?}"),
                }
            }
        }
        let problem = row_text(b"{\"n\": \"\xFF\", \"text\": \"a\"}", "text").unwrap_err();
        assert!(problem.contains("byte 7 of the row is 0xFF"), "{problem}");
    }

    #[test]
    fn long_numbers_and_deep_values_are_skipped() {
        for value in [
            "7".repeat(200_000),
            "[".repeat(200_000) + &"]".repeat(200_000),
            "{\"a\":".repeat(50_000) + "1" + &"}".repeat(50_000),
        ] {
            for place in
                ["{\"n\": #, \"text\": \"a\"}", "{\"text\": \"a\", \"n\": #}", "{\"text\": #, \"text\": \"a\"}"]
            {
                let row = place.replace('#', &value);
                assert_eq!(row_text(row.as_bytes(), "text").as_deref(), Ok("a"));
                assert_eq!(row_text_slowly(row.as_bytes(), "text").as_deref(), Ok("a"));
            }
        }
        assert!(row_text("[".repeat(200_000).as_bytes(), "text").is_err());
    }

    #[test]
    fn the_fast_reader_equals_the_rule() {
        let parts: Vec<&str> =
            "{¦}¦[¦]¦,¦:¦ ¦\"text\"¦\"a\"¦\"text\": ¦\"\\ud83d¦\\ude00\"¦1¦0¦-¦.5¦e9¦NaN¦null¦true¦\"¦\\¦\t¦\
            \"\\u0041\"¦é¦{\"text\": \"b\", \"n\": "
                .split('¦')
                .collect();
        let (mut draw, mut rows, mut texts) = (Draw(5), 0, 0);
        while rows < 200_000 {
            let mut row = String::from(["{\"text\": ", "{", "{\"text\": \"c\", \"n\": ", ""][rows % 4]);
            for _ in 0..rows % 9 {
                row.push_str(parts[draw.below(parts.len())]);
            }
            row.push_str(["}", "", "\"}", "]}"][rows / 4 % 4]);
            let (fast, slow) = (row_text(row.as_bytes(), "text"), row_text_slowly(row.as_bytes(), "text"));
            assert_eq!(fast, slow, "{row}");
            texts += usize::from(fast.is_ok());
            rows += 1;
        }
        assert!(texts > 1000, "{texts}");
    }

    #[test]
    fn unescaping_equals_serde() {
        let parts: Vec<&str> =
            "a|é日|😀|\\n|\\\"|\\\\|\\/|\\u00e9|\\u65E5|\\ud83d\\ude00|\\u0000|\\b\\f\\r\\t".split('|').collect();
        let mut draw = Draw(7);
        for _ in 0..20_000 {
            let string: String = (0..draw.below(12)).map(|_| parts[draw.below(parts.len())]).collect();
            let expected: String = serde_json::from_str(&format!("\"{string}\"")).unwrap();
            assert_eq!(unescape(&string), expected, "{string}");
        }
    }

    #[test]
    fn blank_lines_are_not_rows() {
        let found = Rows::new(b"\n {}\r\n \t\n{}");
        assert_eq!(found.places, [RowPlace { line: 1, bytes: 1..6 }, RowPlace { line: 3, bytes: 9..11 }]);
        assert_eq!((found.row(0), found.row(1), found.lines), (&b" {}\r\n"[..], &b"{}"[..], 4));
        assert_eq!(line_feeds(b"\n {}\r\n \t\n{}"), 3);
        for (block, lines) in [(&b"\xEF\xBB\xBF \n\x0b\x0c\r\n"[..], 2), (b"\n\n", 2), (b" ", 1), (b"", 0)] {
            let found = Rows::new(block);
            assert_eq!((found.places.len(), found.lines), (0, lines));
        }
    }
}
