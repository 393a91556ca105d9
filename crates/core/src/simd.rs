//! Instructions that have no safe name: which bytes of a block are what, and loading memory ahead of its use.
//!
//! The only module with unsafe code. Each function has a plain twin, which runs where the instructions are missing and
//! which tests hold equal.

#![allow(unsafe_code)]

/// Bytes that are looked at together.
pub const BLOCK: usize = 64;

/// For each byte of a block, from the lowest bit on, whether it is of a kind. Every ASCII byte is of exactly one of
/// `upper`, `lower`, `digit`, `space`, `tab`, `newline` and `other`; the rest is `not_ascii`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Masks {
    /// A to Z.
    pub upper: u64,
    /// a to z.
    pub lower: u64,
    /// 0 to 9.
    pub digit: u64,
    /// U+0020.
    pub space: u64,
    /// White space that is neither U+0020 nor a newline: tab, vertical tab, form feed.
    pub tab: u64,
    /// CR and LF.
    pub newline: u64,
    /// An apostrophe, which is also `other`.
    pub apostrophe: u64,
    /// A slash, which is also `other`.
    pub slash: u64,
    /// 0x80 and above.
    pub not_ascii: u64,
    /// 0x80 to 0xBF: bytes of a character after its first.
    pub inner: u64,
}

/// The kinds of 64 bytes.
#[inline]
#[must_use]
pub fn masks(block: &[u8; BLOCK]) -> Masks {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512bw") {
            // SAFETY: the instructions were just found to be there; the block is 64 readable bytes.
            return unsafe { masks_avx512(block) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { masks_avx2(block) };
        }
    }
    masks_plain(block)
}

/// The twin of the others.
fn masks_plain(block: &[u8; BLOCK]) -> Masks {
    let of =
        |is: fn(u8) -> bool| block.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u64::from(is(byte)) << at);
    Masks {
        upper: of(|byte| byte.is_ascii_uppercase()),
        lower: of(|byte| byte.is_ascii_lowercase()),
        digit: of(|byte| byte.is_ascii_digit()),
        space: of(|byte| byte == b' '),
        tab: of(|byte| matches!(byte, b'\t' | 0x0B | 0x0C)),
        newline: of(|byte| matches!(byte, b'\r' | b'\n')),
        apostrophe: of(|byte| byte == b'\''),
        slash: of(|byte| byte == b'/'),
        not_ascii: of(|byte| byte >= 0x80),
        inner: of(|byte| byte & 0xC0 == 0x80),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn masks_avx512(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_set1_epi8,
        _mm512_sub_epi8,
    };
    // SAFETY: the block is 64 readable bytes, and the load needs no alignment.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let splat = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, splat(byte));
    let range = |first: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, splat(first)), splat(count));
    let newline = equal(b'\n') | equal(b'\r');
    Masks {
        upper: range(b'A', 26),
        lower: range(b'a', 26),
        digit: range(b'0', 10),
        space: equal(b' '),
        tab: range(b'\t', 5) & !newline,
        newline,
        apostrophe: equal(b'\''),
        slash: equal(b'/'),
        not_ascii: _mm512_movepi8_mask(bytes),
        inner: range(0x80, 0x40),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn masks_avx2(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
        _mm256_sub_epi8,
    };
    // SAFETY: the block is 64 readable bytes, and the loads need no alignment.
    let halves =
        unsafe { [_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block.as_ptr().add(32).cast())] };
    let splat = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let join = |mask: [__m256i; 2]| {
        let [low, high] = mask.map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
        low | high << 32
    };
    let equal = |byte: u8| join(halves.map(|half| _mm256_cmpeq_epi8(half, splat(byte))));
    let range = |first: u8, count: u8| {
        join(halves.map(|half| {
            let offset = _mm256_sub_epi8(half, splat(first));
            _mm256_cmpeq_epi8(_mm256_min_epu8(offset, splat(count - 1)), offset)
        }))
    };
    let newline = equal(b'\n') | equal(b'\r');
    Masks {
        upper: range(b'A', 26),
        lower: range(b'a', 26),
        digit: range(b'0', 10),
        space: equal(b' '),
        tab: range(b'\t', 5) & !newline,
        newline,
        apostrophe: equal(b'\''),
        slash: equal(b'/'),
        not_ascii: join(halves),
        inner: range(0x80, 0x40),
    }
}

/// Asks for the memory of `value`, which will be read soon.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of a valid reference reads nothing and cannot fault.
    unsafe {
        std::arch::x86_64::_mm_prefetch(std::ptr::from_ref(value).cast(), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_what_it_is() {
        for first in 0..=255u8 {
            let block = std::array::from_fn(|at| first.wrapping_add((at as u8).wrapping_mul(37)));
            let plain = masks_plain(&block);
            assert_eq!(masks(&block), plain);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the instructions were just found to be there.
                assert_eq!(unsafe { masks_avx2(&block) }, plain);
            }
        }
    }
}
