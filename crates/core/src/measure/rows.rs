//! Of what kind the bytes of some blocks are, and where they change.
//!
//! A word of 64 bits says which bytes of a block are of a kind. Such words of some blocks make a row, and bit algebra goes over
//! rows, so that the compiler makes vectors of it. What takes a step each, such as a character of a rare class, is found in
//! all blocks first: the processor cannot foresee the end of a loop over the few of a single block.

use crate::simd::{BLOCK, Masks};
use crate::split::scan::class::{CASELESS, Classes, LETTER};

/// The blocks of a row.
pub const BLOCKS: usize = 32;

/// A word for each block, from 1 on. The first word is of the block before, the last one of what reaches behind the blocks.
#[derive(Debug, Clone, Copy)]
pub struct Row(pub [u64; BLOCKS + 2]);

impl Default for Row {
    fn default() -> Self {
        Self([0; BLOCKS + 2])
    }
}

impl Row {
    /// Which bytes of a block come after those of the row.
    #[inline(always)]
    #[must_use]
    pub fn after(&self, block: usize) -> u64 {
        self.0[block] << 1 | self.0[block - 1] >> 63
    }

    /// The 64 bits from a place on.
    #[inline(always)]
    #[must_use]
    pub fn from(&self, place: BytePlace) -> u64 {
        let (low, high) = (self.0[place.block], self.0[place.block + 1]);
        ((u128::from(high) << BLOCK | u128::from(low)) >> place.bit) as u64
    }
}

/// A byte of some blocks.
#[derive(Debug, Clone, Copy)]
pub struct BytePlace {
    /// From 1 on.
    pub block: usize,
    /// Its place there.
    pub bit: u32,
}

/// The rows of some blocks.
#[derive(Debug, Default)]
pub struct KindRows {
    /// Where the first block begins in the text.
    pub base: usize,
    /// How many blocks there are, at most [`BLOCKS`].
    pub blocks: usize,
    /// Letters, and the marks after them.
    pub word: Row,
    /// U+0020.
    pub space: Row,
    /// U+0009.
    pub tab: Row,
    /// CR and LF, and the end of the text.
    pub newline: Row,
    /// 0 to 9.
    pub digit: Row,
    /// Bytes of characters after the first.
    pub inner: Row,
    letter: Row,
    mark: Row,
    /// First bytes of characters of which only a table says what they are.
    others: Row,
    /// 1 if the last byte is of a mark without a letter before it.
    leading: u64,
}

impl KindRows {
    /// Reads the next blocks of a text, [`Self::word`] aside. What is behind its end is zero.
    #[inline(always)]
    pub fn read(&mut self, text: &[u8], base: usize, masks: impl Fn(&[u8; BLOCK]) -> Masks) {
        let part = &text[base..];
        // The last block may be empty: it ends what goes to the end of the text.
        (self.base, self.blocks) = (base, (part.len() / BLOCK + 1).min(BLOCKS));
        let mut zeros = [0; BLOCK];
        for block in 1..=self.blocks.min(BLOCKS) {
            let rest = &part[(block - 1) * BLOCK..];
            let kinds = masks(rest.first_chunk().unwrap_or_else(|| {
                zeros[..rest.len()].copy_from_slice(rest);
                &zeros
            }));
            let two = kinds.wide_upper | kinds.wide_lower;
            let wide = kinds.han | kinds.han << 1 | kinds.han << 2 | two | two << 1;
            self.letter.0[block] = kinds.upper | kinds.lower | wide;
            self.others.0[block] = kinds.not_ascii & !(kinds.inner | kinds.han | two);
            (self.inner.0[block], self.digit.0[block]) = (kinds.inner, kinds.digit);
            (self.space.0[block], self.tab.0[block], self.newline.0[block]) =
                (kinds.space, kinds.tabulator, kinds.newline);
        }
        if part.len() < BLOCKS * BLOCK {
            self.newline.0[self.blocks] |= 1 << (part.len() % BLOCK);
        }
    }

    /// Finds the bytes of words.
    #[inline(always)]
    pub fn find_words(&mut self, text: &[u8], classes: &Classes, places: &mut Places) {
        self.read_others(text, classes, places);
        let Self { letter, mark, word, blocks, leading, .. } = self;
        if mark.0.iter().all(|&word| word == 0) {
            (*word, *leading) = (*letter, 0);
            return;
        }
        for block in 1..=(*blocks).min(BLOCKS) {
            let either = [block - 1, block].map(|block| letter.0[block] | mark.0[block]);
            let (after, marks) = (either[1] << 1 | either[0] >> 63, mark.0[block]);
            // Marks without a letter before them: adding the first of them to a run of marks clears the run.
            let heads = marks & (either[1] & !after | *leading);
            let alone = marks & !marks.wrapping_add(heads);
            *leading = alone >> 63;
            word.0[block] = either[1] & !alone;
        }
    }

    /// Adds the letters and marks of which a table says what they are. They may reach behind their block.
    #[inline(always)]
    fn read_others(&mut self, text: &[u8], classes: &Classes, places: &mut Places) {
        let Self { base, blocks, letter, mark, others, .. } = self;
        letter.0[1] |= std::mem::take(&mut letter.0[BLOCKS + 1]);
        mark.0[1..=BLOCKS].fill(0);
        mark.0[1] = std::mem::take(&mut mark.0[BLOCKS + 1]);
        if others.0[1..=*blocks].iter().all(|&word| word == 0) {
            return;
        }
        let word = |block: usize| others.0[block];
        places.each(*blocks, word, |place| {
            let (class, length) = character(&text[at(*base, place)..], classes);
            let row = match class {
                class if class & LETTER != 0 => &mut *letter,
                class if class & CASELESS != 0 => &mut *mark,
                _ => return,
            };
            let bytes = ((1u128 << length) - 1) << place.bit;
            row.0[place.block] |= bytes as u64;
            row.0[place.block + 1] |= (bytes >> BLOCK) as u64;
        });
    }

    /// Where a place is in the text.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, place: BytePlace) -> usize {
        at(self.base, place)
    }

    /// Whether a run of so many bytes from a place on goes to the end of the blocks.
    #[inline(always)]
    #[must_use]
    pub fn goes_on(&self, place: BytePlace, run: u32) -> bool {
        place.block == self.blocks && place.bit + run >= u64::BITS
    }

    /// Makes the last block the one before.
    #[inline(always)]
    pub fn turn(&mut self) {
        let Self { blocks, letter, mark, word, space, tab, newline, digit, .. } = self;
        for row in [letter, mark, word, space, tab, newline, digit] {
            row.0[0] = row.0[*blocks];
        }
    }
}

#[inline(always)]
fn at(base: usize, place: BytePlace) -> usize {
    base + (place.block - 1) * BLOCK + place.bit as usize
}

/// So many places are written together, which is enough for most blocks.
const FEW: usize = 4;
/// The most places: none is next to another.
const MOST: usize = BLOCKS * BLOCK / 2;

/// Room for places in some blocks.
#[derive(Debug)]
pub struct Places([u16; MOST + FEW]);

impl Default for Places {
    fn default() -> Self {
        Self([0; MOST + FEW])
    }
}

impl Places {
    /// Gives the bits of a word for each block, of which no two are side by side. It finds all of them first.
    #[inline(always)]
    pub fn each(&mut self, blocks: usize, word: impl Fn(usize) -> u64, mut give: impl FnMut(BytePlace)) {
        let mut next = 0;
        for block in 1..=blocks.min(BLOCKS) {
            let mut bits = word(block);
            let end = next + bits.count_ones() as usize;
            loop {
                for place in &mut self.0[next..next + FEW] {
                    *place = (block * BLOCK) as u16 + (bits.trailing_zeros() as u16 & 63);
                    bits &= bits.wrapping_sub(1);
                }
                next += FEW;
                if next >= end {
                    break;
                }
            }
            next = end;
        }
        for &place in &self.0[..next] {
            give(BytePlace { block: usize::from(place) / BLOCK, bit: u32::from(place) % BLOCK as u32 });
        }
    }
}

/// The class of the character that a text begins with, which is not ASCII, and how many bytes it has.
#[inline(always)]
fn character(text: &[u8], classes: &Classes) -> (u8, u32) {
    let four = text.first_chunk().copied().unwrap_or_else(|| {
        let mut four = [0; 4];
        four[..text.len()].copy_from_slice(text);
        four
    });
    let low = |place: usize| u32::from(four[place] & 0x3F);
    let (code_point, length) = match four[0] {
        first @ ..0xE0 => (u32::from(first & 0x1F) << 6 | low(1), 2),
        first @ 0xE0..0xF0 => (u32::from(first & 0x0F) << 12 | low(1) << 6 | low(2), 3),
        first => (u32::from(first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4),
    };
    (classes.of(code_point), length)
}
