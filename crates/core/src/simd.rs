//! Unsafe CPU intrinsics: classifying the bytes of a block, listing the set bits of a word, and prefetching.
//!
//! The only module of the core with unsafe code besides [`crate::text::utf8`]. Each function has a plain twin, which
//! runs where the instructions are missing and which tests compare.

#![allow(unsafe_code)]

/// The bytes of a block.
pub const BLOCK: usize = 64;

/// For each byte of a block, from the lowest bit on, whether it is of a kind. Every ASCII byte is exactly one of
/// `upper`, `lower`, `digit`, `space`, `tab`, `newline` and `other`; other bytes are `not_ascii`.
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
    /// A backslash, which is also `other`.
    pub backslash: u64,
    /// U+0000 to U+001F and U+007F; some of them are `tab` or `newline`, and the rest `other`.
    pub control: u64,
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
    /// The kinds. `equal` finds the bytes equal to a value, and `range` those in a range, given by its start and
    /// length.
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
            backslash: equal(b'\\'),
            control: range(0, 0x20) | equal(0x7F),
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
        // U+3041 to U+30FF without the characters among kana that are not letters, and without a few that are.
        let odd = equal(0x80) | range(0x97, 0x0A) | equal(0xBB);
        self.han = (han | equal(0xE3) & range(0x81, 3) >> 1 & !(odd >> 2)) & (u64::MAX >> 2);
        // U+0410 to U+042F and U+0400 to U+040F; U+0430 to U+045F.
        let (first, second) = (equal(0xD0), equal(0xD1));
        self.wide_upper = first & (self.inner & !high) >> 1;
        self.wide_lower = first & high >> 1 | second & low >> 1;
    }
}

/// Work on the kinds of many blocks.
pub trait MaskWork {
    /// The result of the work.
    type Result;

    /// Does the work; `masks` returns the kinds of 64 bytes, and `places` writes the positions of the set bits of a
    /// word, plus a base, possibly writing past them. It must be inlined, so that the compiler makes all of it for the
    /// instructions at hand.
    fn run(
        self,
        masks: impl Fn(&[u8; BLOCK]) -> Masks,
        places: impl Fn(usize, u64, &mut [usize; BLOCK]),
    ) -> Self::Result;
}

/// A set of instructions that this machine has. A value is the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instructions(InstructionSet);

/// A machine that has one set also has those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum InstructionSet {
    /// 64-bit words only. Processors other than x86-64 use this set: there was no ARM machine to test and time NEON on.
    Words,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// The fastest set of this machine.
    #[inline]
    #[must_use]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let has_bits = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
            if has_bits && has!("avx2") {
                let has_avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512vbmi2");
                return Self(if has_avx512 { InstructionSet::Avx512 } else { InstructionSet::Avx2 });
            }
        }
        Self(InstructionSet::Words)
    }

    /// All sets of this machine, the fastest last.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let sets = [
            InstructionSet::Words,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512,
        ];
        sets.into_iter().filter(|&set| set <= Self::best().0).map(Self).collect()
    }

    /// Does the work with these instructions.
    #[inline]
    pub fn run<W: MaskWork>(self, work: W) -> W::Result {
        match self.0 {
            InstructionSet::Words => work.run(masks_words, places_words),
            // SAFETY: a value of this type proves that the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => unsafe { with_avx2(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => unsafe { with_avx512(work) },
        }
    }
}

/// Does the work with the best instructions of this machine.
#[inline]
pub fn with_masks<W: MaskWork>(work: W) -> W::Result {
    Instructions::best().run(work)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx512<W: MaskWork>(work: W) -> W::Result {
    use std::arch::x86_64::{
        __m128i, _mm_srli_si128, _mm512_add_epi64, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
        _mm512_cvtepu8_epi64, _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8,
        _mm512_movepi8_mask, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    };
    let splat = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    // A closure and not a function, so that each kind of work has separate code without the kinds that it ignores.
    let masks = |block: &[u8; BLOCK]| {
        // SAFETY: the block is 64 readable bytes, and the load needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        let equal = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, splat(byte));
        let range = |first: u8, count: u8| _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, splat(first)), splat(count));
        Masks::new(equal, range, _mm512_movepi8_mask(bytes))
    };
    // At most 32 without a branch on their number, which would be mispredicted.
    let places = |base: usize, bits: u64, room: &mut [usize; BLOCK]| {
        // SAFETY: the numbers are 64 readable bytes, and the load needs no alignment.
        let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
        let places_of_bits = _mm512_maskz_compress_epi8(bits, numbers);
        let base = _mm512_set1_epi64(base.cast_signed() as i64);
        let eights = room.as_chunks_mut::<STRIDE>().0;
        let mut write = |at: usize, sixteen: __m128i| {
            for (eight, half) in eights[at..at + 2].iter_mut().zip([sixteen, _mm_srli_si128::<8>(sixteen)]) {
                let places = _mm512_add_epi64(_mm512_cvtepu8_epi64(half), base);
                // SAFETY: the eight are 64 writable bytes, and the store needs no alignment.
                unsafe { _mm512_storeu_si512(eight.as_mut_ptr().cast(), places) };
            }
        };
        write(0, _mm512_extracti32x4_epi32::<0>(places_of_bits));
        write(2, _mm512_extracti32x4_epi32::<1>(places_of_bits));
        if bits.count_ones() > 32 {
            write(4, _mm512_extracti32x4_epi32::<2>(places_of_bits));
            write(6, _mm512_extracti32x4_epi32::<3>(places_of_bits));
        }
    };
    work.run(masks, places)
}

/// The numbers of the bytes of a block.
#[cfg(target_arch = "x86_64")]
static NUMBERS: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        numbers[at] = at as u8;
        at += 1;
    }
    numbers
};

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn with_avx2<W: MaskWork>(work: W) -> W::Result {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
        _mm256_sub_epi8,
    };
    let splat = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
    let bits = |half: __m256i| u64::from(_mm256_movemask_epi8(half).cast_unsigned());
    // A closure for the same reason, and without closures over arrays, which the compiler can leave as calls.
    let masks = |block: &[u8; BLOCK]| {
        // SAFETY: the block is 64 readable bytes, and the loads need no alignment.
        let (low, high) =
            unsafe { (_mm256_loadu_si256(block.as_ptr().cast()), _mm256_loadu_si256(block.as_ptr().add(32).cast())) };
        let equal = |byte: u8| {
            let value = splat(byte);
            bits(_mm256_cmpeq_epi8(low, value)) | bits(_mm256_cmpeq_epi8(high, value)) << 32
        };
        let among = |half: __m256i, first: u8, count: u8| {
            let offset = _mm256_sub_epi8(half, splat(first));
            bits(_mm256_cmpeq_epi8(_mm256_min_epu8(offset, splat(count - 1)), offset))
        };
        let range = |first: u8, count: u8| among(low, first, count) | among(high, first, count) << 32;
        Masks::new(equal, range, bits(low) | bits(high) << 32)
    };
    work.run(masks, places_words)
}

/// The twin of the others on 64-bit words. Bit `k` of all bytes is one word of 64 bits, so that a kind is some logic on
/// eight words.
#[inline(always)]
fn masks_words(block: &[u8; BLOCK]) -> Masks {
    let planes = planes(block);
    let equal = |value: u8| {
        let bit = |at: usize| if value >> at & 1 == 1 { planes[at] } else { !planes[at] };
        // In halves, which other values share.
        (bit(0) & bit(1) & (bit(2) & bit(3))) & (bit(4) & bit(5) & (bit(6) & bit(7)))
    };
    let range = |first: u8, count: u8| {
        at_least(&planes, u32::from(first)) & !at_least(&planes, u32::from(first) + u32::from(count))
    };
    Masks::new(equal, range, planes[7])
}

/// The places written at a time.
const STRIDE: usize = 8;

/// The twin of the others: it writes eight places at a time, so that their number causes no mispredicted branch.
#[inline(always)]
fn places_words(base: usize, mut bits: u64, room: &mut [usize; BLOCK]) {
    for eight in room.as_chunks_mut::<STRIDE>().0 {
        for place in eight {
            *place = base + bits.trailing_zeros() as usize;
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            return;
        }
    }
}

/// The bytes that are `least` or more; from the lowest bit up, a bit decides where the higher bits are equal.
#[inline(always)]
fn at_least(planes: &[u64; 8], least: u32) -> u64 {
    if least > 0xFF {
        return 0;
    }
    planes.iter().enumerate().fold(
        u64::MAX,
        |mask, (at, plane)| {
            if least >> at & 1 == 1 { plane & mask } else { plane | mask }
        },
    )
}

/// The bits of a block: bit `i` of word `k` is bit `k` of byte `i`.
#[inline(always)]
#[must_use]
pub fn planes(block: &[u8; BLOCK]) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    // Byte `i` of word `k` changes places with byte `k` of word `i`, in squares of 4, 2 and 1; then bits with words.
    swap(&mut words, [(0, 4), (1, 5), (2, 6), (3, 7)], 32, 0x0000_0000_FFFF_FFFF);
    swap(&mut words, [(0, 2), (1, 3), (4, 6), (5, 7)], 16, 0x0000_FFFF_0000_FFFF);
    swap(&mut words, [(0, 1), (2, 3), (4, 5), (6, 7)], 8, 0x00FF_00FF_00FF_00FF);
    swap(&mut words, [(0, 4), (1, 5), (2, 6), (3, 7)], 4, 0x0F0F_0F0F_0F0F_0F0F);
    swap(&mut words, [(0, 2), (1, 3), (4, 6), (5, 7)], 2, 0x3333_3333_3333_3333);
    swap(&mut words, [(0, 1), (2, 3), (4, 5), (6, 7)], 1, 0x5555_5555_5555_5555);
    words
}

/// Exchanges, in each pair of words, the upper bits of the first word for the lower bits of the second; `low` masks the
/// lower bits. The caller names the pairs, because a compiler does not unroll a loop that looks for them.
#[inline(always)]
fn swap(words: &mut [u64; 8], pairs: [(usize, usize); 4], shift: u32, low: u64) {
    for (one, other) in pairs {
        let change = (words[one] >> shift ^ words[other]) & low;
        words[one] ^= change << shift;
        words[other] ^= change;
    }
}

/// Prefetches the memory of `value`.
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
    use crate::drawn::Draw;

    struct One<'b>(&'b [u8; BLOCK]);

    impl MaskWork for One<'_> {
        type Result = Masks;

        fn run(self, masks: impl Fn(&[u8; BLOCK]) -> Masks, _: impl Fn(usize, u64, &mut [usize; BLOCK])) -> Masks {
            masks(self.0)
        }
    }

    struct Places(usize, u64);

    impl MaskWork for Places {
        type Result = Vec<usize>;

        fn run(
            self,
            _: impl Fn(&[u8; BLOCK]) -> Masks,
            places: impl Fn(usize, u64, &mut [usize; BLOCK]),
        ) -> Vec<usize> {
            let mut room = [0; BLOCK];
            places(self.0, self.1, &mut room);
            room[..self.1.count_ones() as usize].to_vec()
        }
    }

    /// The kinds, byte by byte.
    fn masks_plain(block: &[u8; BLOCK]) -> Masks {
        let of = |is: &dyn Fn(u8) -> bool| {
            block.iter().enumerate().fold(0, |mask, (at, &byte)| mask | u64::from(is(byte)) << at)
        };
        let equal = |value: u8| of(&|byte| byte == value);
        let range = |first: u8, count: u8| of(&|byte| byte.wrapping_sub(first) < count);
        Masks::new(equal, range, range(0x80, 0x80))
    }

    fn check_block(block: &[u8; BLOCK]) {
        let plain = masks_plain(block);
        for instructions in Instructions::all() {
            assert_eq!(instructions.run(One(block)), plain, "{instructions:?} on {block:?}");
        }
    }

    #[test]
    fn every_byte_at_every_place_has_its_kinds() {
        for byte in 0..=255u8 {
            for place in 0..BLOCK {
                let mut block = [b'a'; BLOCK];
                block[place] = byte;
                check_block(&block);
                let step = (place as u8).wrapping_mul(2).wrapping_add(1);
                check_block(&std::array::from_fn(|at| byte.wrapping_add((at as u8).wrapping_mul(step))));
            }
        }
    }

    #[test]
    fn every_pair_of_bytes_has_its_kinds() {
        let mut block = [0x97; BLOCK];
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let place = usize::from(first ^ second) % (BLOCK - 1);
                let before = (block[place], block[place + 1]);
                (block[place], block[place + 1]) = (first, second);
                check_block(&block);
                (block[place], block[place + 1]) = before;
            }
        }
    }

    #[test]
    fn every_bit_has_its_place() {
        let mut draw = Draw(5);
        for round in 0..20_000 {
            // From few bits to all of them.
            let word = |draw: &mut Draw| (draw.below(1 << 32) as u64) << 32 | draw.below(1 << 32) as u64;
            let bits = (0..round % 7).fold(word(&mut draw), |bits, at| {
                if round % 2 == 0 { bits & word(&mut draw) } else { bits | word(&mut draw) >> at }
            });
            let base = draw.below(1 << 40);
            let plain: Vec<usize> = (0..BLOCK).filter(|at| bits >> at & 1 == 1).map(|at| base + at).collect();
            for instructions in Instructions::all() {
                assert_eq!(instructions.run(Places(base, bits)), plain, "{instructions:?} on {bits:#x}");
            }
        }
        for instructions in Instructions::all() {
            assert_eq!(instructions.run(Places(7, u64::MAX)), (7..71).collect::<Vec<_>>());
            assert_eq!(instructions.run(Places(7, 0)), [0; 0]);
        }
    }

    #[test]
    fn planes_have_the_bits_of_a_block() {
        let block: [u8; BLOCK] = std::array::from_fn(|at| (at as u8).wrapping_mul(37) ^ 0x5A);
        for (bit, plane) in planes(&block).into_iter().enumerate() {
            for (at, byte) in block.iter().enumerate() {
                assert_eq!(plane >> at & 1, u64::from(byte >> bit & 1), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn the_best_instructions_are_the_last_of_all() {
        assert_eq!(Instructions::all().last(), Some(&Instructions::best()));
        assert_eq!(Instructions::all()[0], Instructions(InstructionSet::Words));
    }
}
