//! Piece counts as lines for other tools: the count, a tab, the piece.
//!
//! A piece is written unchanged, except for backslashes, control characters and bytes that are not UTF-8. These become
//! `\\`, `\t`, `\n`, `\r`, and `\x` with two hexadecimal digits for any other byte.

use crate::count::arena::Arena;
use crate::count::tally::Tally;
use crate::error::{Error, Result};
use crate::threads::parallel::Stop;

/// Writes the lines of the pieces with these numbers.
///
/// # Errors
/// [`Error::Interrupted`].
pub fn dump(arena: &Arena, numbers: &[u32], stop: &Stop) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(arena.bytes.len() + numbers.len() * 8);
    for &number in numbers {
        stop.check()?;
        out.extend_from_slice(arena.tallies[number as usize].count.to_string().as_bytes());
        out.push(b'\t');
        escape(arena.piece(number as usize), &mut out);
        out.push(b'\n');
    }
    Ok(out)
}

fn escape(piece: &[u8], out: &mut Vec<u8>) {
    for chunk in piece.utf8_chunks() {
        for &byte in chunk.valid().as_bytes() {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                0..0x20 | 0x7F => out.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
                _ => out.push(byte),
            }
        }
        for byte in chunk.invalid() {
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// Parses lines into pieces without positions; `first_line` is the number of the first line.
///
/// # Errors
/// [`Error::Format`] for a line that is not a count, a tab and a piece; [`Error::Interrupted`].
pub fn parse(data: &[u8], first_line: usize, stop: &Stop) -> Result<Arena> {
    let mut arena = Arena::default();
    let mut piece = Vec::new();
    let lines = data.strip_suffix(b"\n").unwrap_or(data);
    for (place, line) in lines.split(|&byte| byte == b'\n').enumerate().filter(|_| !data.is_empty()) {
        stop.check()?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let bad = |problem: &str| Error::Format {
            place: Some((first_line + place).to_string()),
            problem: format!("{problem}; expected a count, a tab and a piece (escapes: \\\\ \\t \\n \\r \\xNN)"),
        };
        let tab = memchr::memchr(b'\t', line).ok_or_else(|| bad("there is no tab"))?;
        let digits = std::str::from_utf8(&line[..tab]).ok().filter(|digits| digits.bytes().all(|d| d.is_ascii_digit()));
        let count =
            digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| bad("the count is not a 64-bit number"))?;
        piece.clear();
        unescape(&line[tab + 1..], &mut piece).ok_or_else(|| bad("an escape or a tab in the piece is wrong"))?;
        arena.push(&piece, Tally { count, first: (place as u64, 0) });
    }
    Ok(arena)
}

fn unescape(mut text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        if byte != b'\\' {
            (byte != b'\t').then(|| out.push(byte))?;
            continue;
        }
        let (&escape, rest) = text.split_first()?;
        text = rest;
        out.push(match escape {
            b'\\' => b'\\',
            b't' => b'\t',
            b'n' => b'\n',
            b'r' => b'\r',
            b'x' => {
                let (digits, rest) = text.split_at_checked(2)?;
                text = rest;
                let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
                u8::from_str_radix(digits, 16).ok()?
            }
            _ => return None,
        });
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_survives_a_round_trip() {
        let mut arena = Arena::default();
        let mut pieces: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte, b'x', byte]).collect();
        pieces.extend([" é☀\u{2028}".into(), b"\\n\\".to_vec(), b"#\xE2\x98".to_vec()]);
        for (place, piece) in pieces.iter().enumerate() {
            arena.push(piece, Tally { count: u64::MAX - place as u64, first: (place as u64, 0) });
        }
        let numbers: Vec<u32> = (0..pieces.len() as u32).collect();
        let lines = dump(&arena, &numbers, &Stop::default()).unwrap();
        assert_eq!(lines.split(|&byte| byte == b'\n').count() - 1, pieces.len());
        assert_eq!(parse(&lines, 1, &Stop::default()), Ok(arena));
        assert_eq!(parse(b"", 1, &Stop::default()).unwrap().len(), 0);
    }

    #[test]
    fn a_bad_line_is_named() {
        for bad in
            ["a", "x\ta", "18446744073709551616\ta", "-1\ta", "+1\ta", "1\ta\tb", "1\t\\q", "1\t\\x4", "1\t\\x+1", ""]
        {
            let problem = parse(format!("3\tok\n{bad}\n").as_bytes(), 7, &Stop::default()).unwrap_err();
            assert!(matches!(problem, Error::Format { place: Some(place), .. } if place == "8"), "{bad}");
        }
    }
}
