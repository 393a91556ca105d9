//! Validates UTF-8, and encodes Python's strings of 1, 2 or 4 bytes per character as UTF-8.
//!
//! Each character becomes a word of four bytes: its UTF-8, then zeros. Words are computed for 16 characters at a time
//! without a branch, and packed by removing the zeros. AVX-512 packs 64 bytes in one instruction; the plain twin writes
//! each word over the zeros of the one before. Blocks of only ASCII just lose their upper bytes.

#![allow(unsafe_code)]

use std::str::Utf8Error;

use crate::simd::{BLOCK, MaskWork, Masks, with_masks};

/// Returns the bytes as a text.
///
/// # Errors
/// The place of the first invalid byte.
pub fn text_of(bytes: &[u8]) -> Result<&str, Utf8Error> {
    // The fast check does not report the place.
    simdutf8::basic::from_utf8(bytes).or_else(|_| std::str::from_utf8(bytes))
}

/// The words packed at once.
const WORDS: usize = 16;

/// The UTF-8 of [`WORDS`] characters, with zeros between them.
type Words = [u32; WORDS];

/// A unit of a text: the code point of a character.
pub trait CodeUnit: Copy + Default + Into<u32> + Sync {}

impl<U: Copy + Default + Into<u32> + Sync> CodeUnit for U {}

/// The UTF-8 of a text; None if a unit is a surrogate or not a code point, or if memory is short.
#[must_use]
pub fn utf8<U: CodeUnit>(units: &[U]) -> Option<String> {
    let mut room = Vec::new();
    let len = write_fastest(Utf8Job { units, room: &mut room })?;
    room.truncate(len);
    // SAFETY: `len` bytes were written as UTF-8.
    Some(unsafe { String::from_utf8_unchecked(room) })
}

/// Encodes a text in a reusable buffer. Pairs of surrogates become their character, and each other surrogate U+FFFD.
pub fn utf8_in<'r, U: CodeUnit>(units: &[U], room: &'r mut Vec<u8>) -> &'r str {
    if let Some(len) = write_fastest(Utf8Job { units, room }) {
        // SAFETY: the first `len` bytes were written as UTF-8.
        return unsafe { std::str::from_utf8_unchecked(&room[..len]) };
    }
    *room = repair(units).into_bytes();
    std::str::from_utf8(room).unwrap_or_default()
}

/// Encodes a text and repairs its surrogates.
fn repair<U: CodeUnit>(units: &[U]) -> String {
    let mut utf16 = Vec::new();
    for unit in units.iter().map(|&unit| unit.into()) {
        match char::from_u32(unit) {
            Some(char) => utf16.extend_from_slice(char.encode_utf16(&mut [0; 2])),
            None => utf16.push(unit as u16),
        }
    }
    String::from_utf16_lossy(&utf16)
}

/// The characters sampled to estimate the bytes of a text.
const SAMPLE: usize = 1 << 8;

/// Estimates the bytes of a text's UTF-8 from its first characters.
pub fn estimate_len<U: CodeUnit>(units: &[U]) -> usize {
    let sample = &units[..units.len().min(SAMPLE)];
    let bytes: usize = sample.iter().map(|&unit| bytes_of(unit) as usize).sum();
    units.len() * bytes / sample.len().max(1)
}

/// The UTF-8 bytes of a unit.
#[inline(always)]
fn bytes_of<U: CodeUnit>(unit: U) -> u32 {
    let unit: u32 = unit.into();
    1 + u32::from(unit >= 0x80) + u32::from(unit >= 0x800) + u32::from(unit >= 0x1_0000)
}

struct Utf8Job<'t, 'r, U> {
    units: &'t [U],
    room: &'r mut Vec<u8>,
}

impl<U: CodeUnit> Utf8Job<'_, '_, U> {
    /// Writes the text and returns its length; `pack` writes words without their zeros, possibly writing past them, and
    /// returns their length.
    #[inline(always)]
    fn write(self, pack: impl Fn(&Words, &mut [u8; BLOCK]) -> usize) -> Option<usize> {
        let len = length(self.units)?;
        let (out, mut at) = (self.room, 0);
        out.try_reserve((len + BLOCK).saturating_sub(out.len())).ok()?;
        out.resize(len + BLOCK, 0);
        let (blocks, rest) = self.units.as_chunks::<BLOCK>();
        for block in blocks {
            if block.iter().fold(0, |all, &unit| all | unit.into()) < 0x80 {
                for (byte, unit) in out[at..][..BLOCK].iter_mut().zip(block) {
                    *byte = (*unit).into() as u8;
                }
                at += BLOCK;
                continue;
            }
            for units in block.as_chunks().0 {
                at += pack(&words(units), room(out, at)?);
            }
        }
        for units in rest.chunks(WORDS) {
            let mut last_units = [U::default(); WORDS];
            last_units[..units.len()].copy_from_slice(units);
            at += pack(&words(&last_units), room(out, at)?);
        }
        // Each unit is a code point, or `length` returned None, and all were written as UTF-8. The units that fill the
        // last words are written after `len`.
        Some(len)
    }
}

/// The bytes of a text's UTF-8; None if a unit is a surrogate or not a code point.
#[must_use]
pub fn exact_len<U: CodeUnit>(units: &[U]) -> Option<usize> {
    with_masks(LengthWork(units))
}

struct LengthWork<'t, U>(&'t [U]);

impl<U: CodeUnit> MaskWork for LengthWork<'_, U> {
    type Result = Option<usize>;

    #[inline(always)]
    fn run(self, _: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) -> Option<usize> {
        length(self.0)
    }
}

/// The same with the instructions of the caller.
#[inline(always)]
fn length<U: CodeUnit>(units: &[U]) -> Option<usize> {
    let (mut len, mut wrong) = (0, false);
    // In parts whose sums fit 32 bits.
    for part in units.chunks(1 << 16) {
        let mut sum = 0u32;
        for &unit in part {
            sum += bytes_of(unit);
            let unit: u32 = unit.into();
            wrong |= (unit & 0xFFFF_F800 == 0xD800) | (unit > 0x0010_FFFF);
        }
        len += sum as usize;
    }
    (!wrong).then_some(len)
}

/// The place of the next words.
#[inline(always)]
fn room(out: &mut [u8], at: usize) -> Option<&mut [u8; BLOCK]> {
    out.get_mut(at..)?.first_chunk_mut()
}

/// The UTF-8 of each character, from the lowest byte on.
#[inline(always)]
fn words<U: CodeUnit>(units: &[U; WORDS]) -> Words {
    units.map(|unit| {
        let unit: u32 = unit.into();
        // The bits of the last byte, of the one before it, and so on.
        let bits = |last: u32| unit >> (6 * last) & 0x3F;
        let two = 0x80C0 | unit >> 6 | bits(0) << 8;
        let three = 0x0080_80E0 | unit >> 12 | bits(1) << 8 | bits(0) << 16;
        let four = 0x8080_80F0 | unit >> 18 | bits(2) << 8 | bits(1) << 16 | bits(0) << 24;
        let wide = if unit < 0x1_0000 { three } else { four };
        let narrow = if unit < 0x80 { unit } else { two };
        if unit < 0x800 { narrow } else { wide }
    })
}

/// Packs words without their zeros.
#[inline(always)]
fn pack_plain(words: &Words, room: &mut [u8; BLOCK]) -> usize {
    let mut at = 0;
    for word in words {
        room[at..][..4].copy_from_slice(&word.to_le_bytes());
        at += 4 - (word | 1).leading_zeros() as usize / 8;
    }
    at
}

impl<U: CodeUnit> MaskWork for Utf8Job<'_, '_, U> {
    type Result = Option<usize>;

    #[inline(always)]
    fn run(self, _: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) -> Option<usize> {
        self.write(pack_plain)
    }
}

fn write_fastest<U: CodeUnit>(job: Utf8Job<'_, '_, U>) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512vbmi2") && has!("popcnt") {
            // SAFETY: the machine has the instructions.
            return unsafe { with_avx512(job) };
        }
    }
    with_masks(job)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn with_avx512<U: CodeUnit>(job: Utf8Job<'_, '_, U>) -> Option<usize> {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_storeu_si512, _mm512_test_epi8_mask,
    };
    job.write(|words, room| {
        // SAFETY: the words are 64 readable bytes, and the load needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        // The first byte of a character counts even if it is zero.
        let mask = _mm512_test_epi8_mask(bytes, bytes) | 0x1111_1111_1111_1111;
        // SAFETY: the room is 64 writable bytes, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), _mm512_maskz_compress_epi8(mask, bytes)) };
        mask.count_ones() as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Draw;
    use crate::simd::Instructions;

    /// Compares the results of all instructions of this machine with the standard library's.
    fn check_units<U: CodeUnit>(units: &[U]) {
        let expected: Option<String> = units.iter().map(|&unit| char::from_u32(unit.into())).collect();
        assert_eq!(utf8(units), expected);
        assert_eq!(exact_len(units), expected.as_ref().map(String::len));
        for instructions in Instructions::all() {
            let mut room = vec![0xFF; 100];
            let len = instructions.run(Utf8Job { units, room: &mut room });
            let written = len.map(|len| std::str::from_utf8(&room[..len]).unwrap());
            assert_eq!(written, expected.as_deref(), "{instructions:?}");
        }
    }

    #[test]
    fn every_number_is_encoded_or_refused() {
        for unit in 0..=0x0011_0000u32 {
            let text = [0x41, unit, 0x42];
            let expected: Option<String> = text.iter().map(|&unit| char::from_u32(unit)).collect();
            assert_eq!(utf8(&text), expected, "{unit:#x}");
        }
        check_units(&[u32::MAX]);
        for unit in 0..=u16::MAX {
            assert_eq!(utf8(&[unit]), char::from_u32(unit.into()).map(String::from), "{unit:#x}");
        }
        for unit in 0..=u8::MAX {
            check_units(&[unit]);
        }
    }

    #[test]
    fn surrogates_are_repaired_in_a_reused_buffer() {
        let mut room = Vec::new();
        assert_eq!(utf8_in(&[0x61u16, 0xD83D, 0xDE04, 0x62], &mut room), "a😄b");
        assert_eq!(
            utf8_in(&[0xDE04u32, 0xD83D, 0x1F604, 0xDE04, 0xD83D], &mut room),
            "\u{FFFD}\u{FFFD}😄\u{FFFD}\u{FFFD}"
        );
        assert_eq!(utf8_in(&[0xE9u8, 0x61], &mut room), "éa");
        assert_eq!(utf8_in::<u16>(&[], &mut room), "");
    }

    #[test]
    fn the_first_characters_give_an_estimate_of_the_length() {
        assert_eq!(
            (estimate_len::<u8>(&[]), estimate_len(&[0x61u8, 0xE9]), estimate_len(&[0x65E5u16; 1000])),
            (0, 3, 3000)
        );
    }

    #[test]
    fn drawn_texts_equal_the_standard_library() {
        let mut draw = Draw(51);
        let limits = [0x80, 0x100, 0x800, 0x3000, 0xD800, 0x0011_0000];
        for round in 0..4000 {
            let len = draw.below(if round % 10 == 0 { 1000 } else { 200 });
            let (common, rare, odds) = (limits[draw.below(6)], limits[draw.below(6)], 1 + draw.below(100));
            let drawn = (0..len).map(|_| {
                let limit = if draw.below(odds) == 0 { rare } else { common };
                let unit = draw.below(limit) as u32;
                if unit & 0xFFFF_F800 == 0xD800 && round % 7 != 0 { unit & 0x7FF } else { unit }
            });
            let drawn: Vec<u32> = drawn.collect();
            check_units(&drawn);
            check_units(&drawn.iter().map(|&unit| unit as u16).collect::<Vec<u16>>());
            check_units(&drawn.iter().map(|&unit| unit as u8).collect::<Vec<u8>>());
        }
    }
}
