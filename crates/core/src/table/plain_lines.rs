//! Parses token lines of the native format the fast way: in blocks, from one significant byte to the next.
//!
//! Its slow twin is the walk of [`crate::table::parse_token_lines`] over each byte. This walk ends at an unusual line
//! or in the last partial block, and the slow twin reads that line and names its fault.

use crate::simd::{BLOCK, MaskWork, Masks, with_masks};
use crate::table::tokens::{Tokens, hex};

/// Longer ids are left to the slow twin.
const MOST_DIGITS: usize = 8;

/// Copies of up to this many bytes copy exactly this many.
const COPIED: usize = 16;

/// Parses at most `count` lines of `data` from `start` on; returns the number of lines parsed and their end.
#[must_use]
pub fn read(data: &[u8], start: usize, count: usize, tokens: &mut Tokens) -> (usize, usize) {
    if count == 0 { (0, start) } else { with_masks(PlainLines { data, start, count, tokens }) }
}

struct PlainLines<'l> {
    data: &'l [u8],
    start: usize,
    count: usize,
    tokens: &'l mut Tokens,
}

#[derive(Clone, Copy)]
struct OpenLine {
    start: usize,
    /// Its id, once parsed.
    id: Option<u32>,
    /// The first byte of the token that is not copied yet.
    from: usize,
}

impl MaskWork for PlainLines<'_> {
    type Result = (usize, usize);

    #[inline(always)]
    fn run(
        mut self,
        masks: impl Fn(&[u8; BLOCK]) -> Masks,
        _: impl Fn(usize, u64, &mut [usize; BLOCK]),
    ) -> (usize, usize) {
        let data = self.data;
        let mut line = OpenLine { start: self.start, id: None, from: self.start };
        let (mut at, mut count) = (self.start, 0);
        'blocks: while let Some(block) = data.get(at..).and_then(<[u8]>::first_chunk) {
            let Masks { space, backslash, control, .. } = masks(block);
            let mut bits = space | backslash | control;
            while bits != 0 {
                let place = at + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(next) = self.step(line, place) else { break 'blocks };
                line = next;
                if line.from == line.start {
                    count += 1;
                    if count == self.count {
                        break 'blocks;
                    }
                }
            }
            at += BLOCK;
        }
        self.tokens.blob.truncate(self.tokens.ends.last().map_or(0, |&end| end as usize));
        (count, line.start)
    }
}

impl PlainLines<'_> {
    /// Advances to the byte at `place`, the next significant one. If it ends a line, the next line starts after it.
    #[inline(always)]
    fn step(&mut self, mut line: OpenLine, place: usize) -> Option<OpenLine> {
        let data = self.data;
        match (data[place], line.id) {
            (b' ', None) => {
                line.id = Some(plain_id(&data[line.start..place])?);
                line.from = place + 1;
            }
            (b'\\', Some(_)) => {
                let &[b'x', high, low] = data.get(place + 1..place + 4)? else { return None };
                let byte = hex(high)? << 4 | hex(low)?;
                self.copy(line.from, place);
                self.tokens.blob.push(byte);
                line.from = place + 4;
            }
            (b'\n', Some(id)) => {
                self.copy(line.from, place);
                self.tokens.close(id).ok()?;
                line = OpenLine { start: place + 1, id: None, from: place + 1 };
            }
            _ => return None,
        }
        Some(line)
    }

    #[inline(always)]
    fn copy(&mut self, from: usize, to: usize) {
        let (blob, len) = (&mut self.tokens.blob, to - from);
        match self.data.get(from..from + COPIED) {
            Some(bytes) if len <= COPIED => {
                blob.extend_from_slice(bytes);
                blob.truncate(blob.len() - COPIED + len);
            }
            _ => blob.extend_from_slice(&self.data[from..to]),
        }
    }
}

/// A number of few digits, without leading zeros.
#[inline(always)]
fn plain_id(digits: &[u8]) -> Option<u32> {
    if digits.len() > MOST_DIGITS || digits.first().is_none_or(|&first| first == b'0' && digits.len() > 1) {
        return None;
    }
    let (mut id, mut is_number) = (0, true);
    for digit in digits.iter().map(|digit| digit.wrapping_sub(b'0')) {
        is_number &= digit < 10;
        id = id * 10 + u32::from(digit);
    }
    is_number.then_some(id)
}
