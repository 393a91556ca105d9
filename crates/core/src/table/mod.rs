//! Parses and writes the token tables of files: `.tiktoken` lines, and the native format's lines.
//!
//! Parsing only checks the spelling of every line; [`crate::vocab::Vocab::new`] checks that a table is a vocabulary. A
//! file can claim any number of lines: parsing allocates no more than the rest of the file can fill. It also finds a
//! repeated token or rank of a `.tiktoken` file, because the line is not known later.
//!
//! This file has the walk over each byte of every line; `plain_lines` reads the usual token lines faster. Both fill
//! `tokens`.

mod plain_lines;
mod tokens;

use std::hash::Hash;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::switches::slow;
use crate::table::tokens::hex;
use crate::text::utf8::text_of;

pub use crate::table::tokens::{TOKEN_LIMIT, Tokens};

/// The bytes reserved for each token; few vocabularies need more.
const USUAL_LENGTH: usize = 12;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The SHA-256 of the bytes, in hex.
#[must_use]
pub fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().fold(String::with_capacity(64), |mut hex, byte| {
        hex.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
        hex
    })
}

/// Walks over the lines of a file from a byte on; errors have the line's number, counted from 1 in the whole file.
pub(crate) struct Lines<'a> {
    pub(crate) data: &'a [u8],
    /// The start of the current line.
    line: usize,
    /// The start of the next line.
    pub(crate) next: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(data: &'a [u8], start: usize) -> Self {
        let start = start.min(data.len());
        Self { data, line: start, next: start }
    }

    /// Refuses a claim of `count` lines of at least `least` bytes that exceeds the rest of the file.
    fn check_count(&self, count: usize, least: usize) -> Result<()> {
        let room = (self.data.len() - self.next) / least;
        if count <= room {
            Ok(())
        } else {
            Err(self.error(format!("the file ends before the {count} lines it claims")))
        }
    }

    /// The next line; the last one needs no line feed.
    fn next(&mut self) -> Option<&'a [u8]> {
        self.line = self.next;
        let rest = &self.data[self.next..];
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.next = self.data.len().min(self.next + length + 1);
        if rest.is_empty() { None } else { Some(&rest[..length]) }
    }

    /// The next line, which must end with a line feed.
    pub(crate) fn next_required(&mut self) -> Result<&'a [u8]> {
        match self.next() {
            Some(line) if self.line + line.len() < self.next => Ok(line),
            _ => Err(self.error("the file ends within a section")),
        }
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> Error {
        error_at(self.data, self.line, problem)
    }
}

/// The error of the line that holds byte `at`.
fn error_at(data: &[u8], at: usize, problem: impl Into<String>) -> Error {
    Error::Format { place: Some(line_number(data, at).to_string()), problem: problem.into() }
}

fn line_number(data: &[u8], at: usize) -> usize {
    data[..at].split(|&byte| byte == b'\n').count()
}

/// A decimal number without sign or leading zeros.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

fn id(digits: &[u8]) -> Option<u32> {
    number(digits).and_then(|value| u32::try_from(value).ok())
}

/// The start of bytes from a file, escaped for an error message.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let head = bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars()).take(40);
    let dots = if bytes.len() > 40 { "…" } else { "" };
    format!("'{}{dots}'", head.flat_map(char::escape_debug).collect::<String>())
}

/// Parses a `.tiktoken` file: lines of base64, a space and a decimal rank. Empty lines are skipped, and a carriage
/// return before the line feed does not belong to the line.
///
/// Returns the tokens in rank order; the ranks are the ids.
///
/// # Errors
/// [`Error::Format`] with the number of the first malformed line. [`crate::vocab::Vocab::new`] refuses a repeated token
/// or rank; [`refuse_repeats`] finds its line.
pub fn parse_tiktoken(data: &[u8]) -> Result<Tokens> {
    let tokens = tiktoken_lines(data, |_| {})?;
    Ok(if tokens.ids.is_sorted() { tokens } else { sort_by_rank(&tokens) })
}

/// The tokens in the order of the file; `see` gets the start of each line.
fn tiktoken_lines(data: &[u8], mut see: impl FnMut(usize)) -> Result<Tokens> {
    let mut lines = Lines::new(data, 0);
    let mut tokens = Tokens::default();
    tokens.blob.reserve(data.len() / 2);
    tokens.ends.reserve(data.len() / USUAL_LENGTH);
    tokens.ids.reserve(data.len() / USUAL_LENGTH);
    while let Some(line) = lines.next() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            tiktoken_line(line, &mut tokens).map_err(|problem| lines.error(problem))?;
            see(lines.line);
        }
    }
    Ok(tokens)
}

fn tiktoken_line(line: &[u8], tokens: &mut Tokens) -> std::result::Result<(), String> {
    let expected = || format!("expected base64, a space and a rank, not {}", quote(line));
    let space = line.iter().position(|&byte| byte == b' ').ok_or_else(expected)?;
    let rank = id(&line[space + 1..]).ok_or_else(expected)?;
    let base64 = &line[..space];
    STANDARD.decode_vec(base64, &mut tokens.blob).map_err(|_| format!("{} is not base64", quote(base64)))?;
    tokens.close(rank)
}

/// Searches a `.tiktoken` file for a repeated token or rank.
///
/// # Errors
/// [`Error::Format`] with the line of the second occurrence, and as [`parse_tiktoken`].
pub fn refuse_repeats(data: &[u8]) -> Result<()> {
    let mut starts = Vec::new();
    let tokens = tiktoken_lines(data, |start| starts.push(start))?;
    let names = || (0..tokens.ids.len()).map(|index| tokens.token(index));
    let (what, (first, again)) = if let Some(places) = first_repeat(names()) {
        (format!("token {}", tokens.token(places.0).escape_ascii()), places)
    } else if let Some(places) = first_repeat(tokens.ids.iter()) {
        (format!("rank {}", tokens.ids[places.0]), places)
    } else {
        return Ok(());
    };
    let line = line_number(data, starts[first]);
    Err(error_at(data, starts[again], format!("the {what} is in line {line} already")))
}

/// The places of the first item that occurs a second time.
fn first_repeat<T: Hash + Eq>(items: impl ExactSizeIterator<Item = T>) -> Option<(usize, usize)> {
    let mut places = HashMap::with_capacity(items.len());
    items.enumerate().find_map(|(again, item)| places.insert(item, again).map(|first| (first, again)))
}

fn sort_by_rank(tokens: &Tokens) -> Tokens {
    let mut order: Vec<usize> = (0..tokens.ids.len()).collect();
    order.sort_unstable_by_key(|&index| tokens.ids[index]);
    let mut sorted = Tokens { blob: Vec::with_capacity(tokens.blob.len()), ..Tokens::default() };
    for index in order {
        sorted.blob.extend_from_slice(tokens.token(index));
        sorted.ends.push(sorted.blob.len() as u32);
        sorted.ids.push(tokens.ids[index]);
    }
    sorted
}

/// Parses `count` token lines from byte `start` on: an id, a space, and the escaped token. Also returns the end of the
/// lines.
///
/// # Errors
/// [`Error::Format`] with the number of the first malformed line.
pub fn parse_token_lines(data: &[u8], start: usize, count: usize) -> Result<(Tokens, usize)> {
    token_lines(data, start, count, slow())
}

fn token_lines(data: &[u8], start: usize, count: usize, is_slow: bool) -> Result<(Tokens, usize)> {
    let mut lines = Lines::new(data, start);
    lines.check_count(count, "0 a\n".len())?;
    let first = lines.next;
    let mut tokens = Tokens::default();
    tokens.ends.reserve(count);
    tokens.ids.reserve(count);
    tokens.blob.reserve((data.len() - first).min(count * USUAL_LENGTH));
    let mut read = 0;
    while read < count {
        if !is_slow {
            let (plain, end) = plain_lines::read(data, lines.next, count - read, &mut tokens);
            (read, lines.next) = (read + plain, end);
        }
        if read < count {
            let line = lines.next_required()?;
            token_line(line, &mut tokens).map_err(|problem| lines.error(problem))?;
            read += 1;
        }
    }
    match text_of(&data[first..lines.next]) {
        Ok(_) => Ok((tokens, lines.next)),
        Err(bad) => Err(error_at(data, first + bad.valid_up_to(), "the line is not UTF-8")),
    }
}

fn token_line(line: &[u8], tokens: &mut Tokens) -> std::result::Result<(), String> {
    let expected = || format!("expected an id, a space and a token, not {}", quote(line));
    let space = line.iter().position(|&byte| byte == b' ').ok_or_else(expected)?;
    let id = id(&line[..space]).ok_or_else(expected)?;
    unescape(&line[space + 1..], &mut tokens.blob)?;
    tokens.close(id)
}

fn unescape(mut rest: &[u8], out: &mut Vec<u8>) -> std::result::Result<(), String> {
    let escaped = |&byte: &u8| byte <= b' ' || byte == b'\\' || byte == 0x7f;
    while let Some(plain) = rest.iter().position(escaped) {
        let byte = match rest[plain..] {
            [b'\\', b'x', high, low, ..] => hex(high).zip(hex(low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        let problem = || format!("the token holds {}, which must be written as \\xNN", quote(&rest[plain..=plain]));
        out.extend_from_slice(&rest[..plain]);
        out.push(byte.ok_or_else(problem)?);
        rest = &rest[plain + r"\xNN".len()..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

/// Writes the token lines of a table. Bytes that would be invisible or that an editor might change are written as
/// `\xNN`, the others unchanged: see [`is_hidden`].
///
/// # Errors
/// [`Error::Model`] if the buffers do not fit together.
pub fn dump_token_lines(blob: &[u8], ends: &[u32], ids: &[u32]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(blob.len() * 2 + ids.len() * 8);
    let mut start = 0;
    for (&end, &id) in ends.iter().zip(ids) {
        let Some(token) = blob.get(start..end as usize).filter(|_| ends.len() == ids.len()) else {
            return Err(Error::model("tokens, ends and ids differ in length", Some(id)));
        };
        start = end as usize;
        push_number(&mut out, u64::from(id));
        out.push(b' ');
        for chunk in token.utf8_chunks() {
            for char in chunk.valid().chars() {
                let mut buffer = [0; 4];
                let bytes = char.encode_utf8(&mut buffer).as_bytes();
                if is_hidden(char) { escape(&mut out, bytes) } else { out.extend_from_slice(bytes) }
            }
            escape(&mut out, chunk.invalid());
        }
        out.push(b'\n');
    }
    Ok(out)
}

fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    for &byte in bytes {
        out.extend_from_slice(&[b'\\', b'x', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// Whether a character is escaped: controls, white space, the backslash, and the characters that are ignored when text
/// is shown (`Default_Ignorable_Code_Point` of Unicode 16).
#[must_use]
pub fn is_hidden(char: char) -> bool {
    matches!(char as u32,
        0..=0x20 | 0x5c | 0x7f..=0xa0 | 0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x1680 | 0x17b4..=0x17b5
        | 0x180b..=0x180f | 0x2000..=0x200f | 0x2028..=0x202f | 0x205f..=0x206f | 0x3000 | 0x3164 | 0xfe00..=0xfe0f
        | 0xfeff | 0xffa0 | 0xfff0..=0xfff8 | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

fn push_number(out: &mut Vec<u8>, mut value: u64) {
    let start = out.len();
    loop {
        out.push(b'0' + (value % 10) as u8);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// Parses `count` lines of `columns` numbers from byte `start` on, row by row. Also returns the end of the lines.
///
/// # Errors
/// [`Error::Format`] with the number of the first malformed line.
pub fn parse_number_lines(data: &[u8], start: usize, count: usize, columns: usize) -> Result<(Vec<u64>, usize)> {
    let mut lines = Lines::new(data, start);
    lines.check_count(count, 2 * columns.max(1))?;
    let mut table = Vec::with_capacity(count * columns);
    for row in 1..=count {
        let line = lines.next_required()?;
        let bad = || lines.error(format!("expected {columns} numbers, one space between, not {}", quote(line)));
        for digits in line.split(|&byte| byte == b' ') {
            table.push(number(digits).ok_or_else(bad)?);
        }
        if table.len() != row * columns {
            return Err(bad());
        }
    }
    Ok((table, lines.next))
}

/// Writes the lines of a table of numbers, row by row.
#[must_use]
pub fn dump_number_lines(table: &[u64], columns: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(table.len() * 8);
    for row in table.chunks(columns.max(1)) {
        for (place, &value) in row.iter().enumerate() {
            if place > 0 {
                out.push(b' ');
            }
            push_number(&mut out, value);
        }
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;

    fn place_of_error<T: std::fmt::Debug>(result: Result<T>) -> String {
        match result.unwrap_err() {
            Error::Format { place: Some(place), .. } => place,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn tiktoken_lines_come_in_rank_order() {
        let tokens = parse_tiktoken(b"Yg== 7\r\n\nYQ== 0\nYWI= 300").unwrap();
        assert_eq!(tokens, Tokens { blob: b"abab".into(), ends: vec![1, 2, 4], ids: vec![0, 7, 300] });
    }

    #[test]
    fn bad_tiktoken_lines_are_named() {
        for (line, data) in [
            ("2", &b"YQ== 0\nYQ 1\n"[..]),
            ("2", b"YQ== 0\n\xff 1\n"),
            ("1", b"YQ==\n"),
            ("1", b" 5\n"),
            ("1", b"YQ==  5\n"),
            ("1", b"YQ== -5\n"),
            ("1", b"YQ== 4294967296\n"),
            ("1", b"YR== 0\n"),
            ("3", b"YQ== 0\n\nYQ== 1\n"),
            ("3", b"YQ== 0\n\nYg== 0\n"),
        ] {
            assert_eq!(
                place_of_error(refuse_repeats(data).map(|()| Tokens::default())),
                line,
                "{}",
                data.escape_ascii()
            );
        }
    }

    #[test]
    fn token_lines_survive_a_round_trip() {
        let blob =
            " a\\é\u{200d}\u{feff}\u{e9}".as_bytes().iter().copied().chain([0xff, 0xe2, 0x82]).collect::<Vec<_>>();
        let (ends, ids) = (vec![2, 5, 8, blob.len() as u32], vec![0, 9, 1, u32::MAX]);
        let lines = dump_token_lines(&blob, &ends, &ids).unwrap();
        let expected = "0 \\x20a\n9 \\x5cé\n1 \\xe2\\x80\\x8d\n4294967295 \\xef\\xbb\\xbfé\\xff\\xe2\\x82\n";
        assert_eq!(String::from_utf8(lines).unwrap(), expected);
        let file = format!("head\n{expected}tail");
        let parsed = parse_token_lines(file.as_bytes(), 5, 4).unwrap();
        assert_eq!(parsed, (Tokens { blob, ends, ids }, file.len() - 4));
    }

    #[test]
    fn plain_lines_equal_the_walk_over_each_byte() {
        let mut draw = Draw(11);
        let parts =
            ["a", "\\x20", "\\xfF", "é", "日本", "abcdefghijklmnopqrstuvwxyz", "\\", " ", "\t", "\u{7f}", "\\x0g", ""];
        let ids = ["0", "7", "199999", "16777216", "99999999", "4294967295", "4294967296", "07"];
        let ends =
            ["", "merges 0\n", "merges 0\n and so much more that there is another block of bytes after the table\n"];
        let (mut good, mut bad) = (0, 0);
        for round in 0..4000 {
            let (most_ids, most_parts) = if round % 2 == 0 { (6, 6) } else { (ids.len(), parts.len()) };
            let count = draw.below(40);
            let mut file = String::from("head\n");
            for _ in 0..count {
                file.push_str(ids[draw.below(most_ids)]);
                file.push(' ');
                for _ in 0..=draw.below(4) {
                    file.push_str(parts[draw.below(most_parts)]);
                }
                file.push('\n');
            }
            file.push_str(ends[draw.below(ends.len())]);
            let results = [false, true].map(|is_slow| token_lines(file.as_bytes(), 5, count, is_slow));
            assert_eq!(results[0], results[1], "{file}");
            if results[0].is_ok() { good += 1 } else { bad += 1 }
        }
        assert!(good > 1_900 && bad > 1_000, "{good} {bad}");
    }

    #[test]
    fn bad_token_lines_are_named() {
        for (line, data) in [
            ("2", &b"head\n0 \n"[..]),
            ("2", b"head\n0 a"),
            ("3", b"head\n0 a\n1 \\x0\n"),
            ("2", b"head\n0 \\xZZ\n"),
            ("2", b"head\n0 \\\\\n"),
            ("2", b"head\n0 a\rb\n"),
            ("2", b"head\n0 a b\n"),
            ("2", b"head\n00 a\n"),
            ("2", b"head\n0 \xff\n"),
        ] {
            let count = data.split(|&byte| byte == b'\n').count() - 2;
            assert_eq!(place_of_error(parse_token_lines(data, 5, count.max(1))), line, "{}", data.escape_ascii());
        }
        assert_eq!(place_of_error(parse_token_lines(b"head\n0 a\n", 5, usize::MAX)), "2", "a huge claim");
        let long = format!("0 {}\n", "a".repeat(TOKEN_LIMIT + 1));
        assert_eq!(place_of_error(parse_token_lines(long.as_bytes(), 0, 1)), "1", "a long token");
    }

    #[test]
    fn number_lines_survive_a_round_trip() {
        let table = [0, 1, 2, 10, 99, u64::MAX];
        let lines = dump_number_lines(&table, 3);
        assert_eq!(lines, b"0 1 2\n10 99 18446744073709551615\n");
        assert_eq!(parse_number_lines(&lines, 0, 2, 3).unwrap(), (table.to_vec(), lines.len()));
        for data in ["1 2\n", "1 2 3 4\n", "1  2\n", "1 2 x\n", "1 2 18446744073709551616\n", "1 2 3", "1 2 03\n"] {
            assert_eq!(place_of_error(parse_number_lines(data.as_bytes(), 0, 1, 3)), "1", "{data}");
        }
        assert_eq!(place_of_error(parse_number_lines(b"1 2 3\n", 0, usize::MAX, 3)), "1", "a huge claim");
    }
}
