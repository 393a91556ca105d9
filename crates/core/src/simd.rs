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
    /// First bytes of characters of three bytes that are letters without case: most of Han, kana and Hangul.
    pub han: u64,
    /// First bytes of upper case letters of two bytes: the usual ones of Cyrillic.
    pub wide_upper: u64,
    /// The same in lower case.
    pub wide_lower: u64,
}

impl Masks {
    /// The kinds, from where bytes equal one and where they are among so many from one on.
    #[inline(always)]
    fn new(equal: impl Fn(u8) -> u64, range: impl Fn(u8, u8) -> u64, not_ascii: u64) -> Self {
        let newline = equal(b'\n') | equal(b'\r');
        let mut masks = Self {
            upper: range(b'A', 26),
            lower: range(b'a', 26),
            digit: range(b'0', 10),
            space: equal(b' '),
            tab: range(b'\t', 5) & !newline,
            newline,
            apostrophe: equal(b'\''),
            slash: equal(b'/'),
            not_ascii,
            ..Self::default()
        };
        if not_ascii != 0 {
            masks.add_wide(equal, range);
        }
        masks
    }

    #[inline(always)]
    fn add_wide(&mut self, equal: impl Fn(u8) -> u64, range: impl Fn(u8, u8) -> u64) {
        let (low, high) = (range(0x80, 0x20), range(0xB0, 0x10));
        self.inner = range(0x80, 0x40);
        // U+5000 to U+9FFF, U+AC00 to U+CFFF, U+D000 to U+D77F.
        let han = range(0xE5, 5) | range(0xEB, 2) | equal(0xEA) & high >> 1 | equal(0xED) & range(0x80, 0x1E) >> 1;
        // U+3041 to U+30FF but for what stands among kana and is no letter, and some that is.
        let odd = equal(0x80) | range(0x97, 0x0A) | equal(0xBB);
        self.han = (han | equal(0xE3) & range(0x81, 3) >> 1 & !(odd >> 2)) & (u64::MAX >> 2);
        // U+0410 to U+042F and U+0400 to U+040F; U+0430 to U+045F.
        let (first, second) = (equal(0xD0), equal(0xD1));
        self.wide_upper = first & (self.inner & !high) >> 1;
        self.wide_lower = first & high >> 1 | second & low >> 1;
    }
}

/// Work that asks for the kinds of many blocks.
pub trait AsksMasks {
    /// What the work gives.
    type Result;

    /// Does the work; `masks` gives the kinds of 64 bytes. To be inlined always, so that all of it is compiled for the
    /// instructions that are there.
    fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks) -> Self::Result;
}

/// Does the work with the best instructions of this machine.
#[inline]
pub fn with_masks<W: AsksMasks>(work: W) -> W::Result {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let has_bits = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        if has_bits && has!("avx512f") && has!("avx512bw") {
            // SAFETY: the instructions were just found to be there.
            return unsafe { with_avx512(work) };
        }
        if has_bits && has!("avx2") {
            // SAFETY: as above.
            return unsafe { with_avx2(work) };
        }
    }
    work.run(masks_plain)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx512<W: AsksMasks>(work: W) -> W::Result {
    work.run(|block| masks_avx512(block))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<W: AsksMasks>(work: W) -> W::Result {
    work.run(|block| masks_avx2(block))
}

/// The twin of the others.
fn masks_plain(block: &[u8; BLOCK]) -> Masks {
    let of = |is: &dyn Fn(u8) -> bool| {
        block.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u64::from(is(byte)) << at)
    };
    let equal = |value: u8| of(&|byte| byte == value);
    let range = |first: u8, count: u8| of(&|byte| byte.wrapping_sub(first) < count);
    Masks::new(equal, range, range(0x80, 0x80))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn masks_avx512(block: &[u8; BLOCK]) -> Masks {
    use std::arch::x86_64::{
        _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask, _mm512_loadu_si512, _mm512_movepi8_mask, _mm512_set1_epi8,
        _mm512_sub_epi8,
    };
    // SAFETY: the block is 64 readable bytes, and the load needs no alignment.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let splat = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, splat(byte));
    let range = |first: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, splat(first)), splat(count));
    Masks::new(equal, range, _mm512_movepi8_mask(bytes))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn masks_avx2(block: &[u8; BLOCK]) -> Masks {
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
    Masks::new(equal, range, join(halves))
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

    struct One<'b>(&'b [u8; BLOCK]);

    impl AsksMasks for One<'_> {
        type Result = Masks;

        fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks) -> Masks {
            masks(self.0)
        }
    }

    #[test]
    fn every_byte_at_every_place_is_what_it_is() {
        for first in 0..=255u8 {
            let block = std::array::from_fn(|at| first.wrapping_add((at as u8).wrapping_mul(37)));
            let plain = masks_plain(&block);
            assert_eq!(with_masks(One(&block)), plain);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the instructions were just found to be there.
                assert_eq!(unsafe { masks_avx2(&block) }, plain);
            }
        }
    }
}
