//! The cell of a byte of the text: the id of a symbol, or the length of the symbol around it.
//!
//! Cells of 16 bits hold ids below 2^15. They take half the memory of cells of 32 bits, and a cache holds twice as
//! many. The lengths of the longest symbols do not fit in them: see [`CellWidth::MOST`].

use super::options::TrainOptions;

/// The width of a cell. Its highest bit marks a length.
pub trait CellWidth: Copy + Into<u32> {
    /// Marks a length.
    const LONG: u32;
    /// The cell before and after every piece. It has a length of 1, so that a step over it needs no special case.
    const SEPARATOR: u32 = Self::LONG | 1;
    /// A sentinel: the length is this or more, and the next three cells hold its digits.
    const MOST: usize = Self::LONG as usize - 1;
    /// The bits of a digit. The bit above them is set, so that no digit looks like a separator.
    const DIGIT: u32 = Self::LONG.trailing_zeros() - 1;

    /// The cell with this content, truncated to its width.
    fn new(content: u32) -> Self;

    /// The mark of a length.
    fn mark(length: usize) -> Self {
        Self::new(Self::LONG | length.min(Self::MOST) as u32)
    }

    /// The last digit of a length, and the rest of the length.
    fn digit(length: usize) -> (Self, usize) {
        let digit = length as u32 & (Self::LONG / 2 - 1);
        (Self::new(Self::LONG | (Self::LONG / 2) | digit), length >> Self::DIGIT)
    }

    /// The length of these digits, the first digit first.
    fn from_digits(digits: impl IntoIterator<Item = Self>) -> usize {
        let add = |length, digit: Self| length << Self::DIGIT | (digit.into() & (Self::LONG / 2 - 1)) as usize;
        digits.into_iter().fold(0, add)
    }
}

impl CellWidth for u16 {
    const LONG: u32 = 1 << 15;

    fn new(content: u32) -> Self {
        content as Self
    }
}

impl CellWidth for u32 {
    const LONG: u32 = 1 << 31;

    fn new(content: u32) -> Self {
        content
    }
}

/// Whether cells of 16 bits can hold every id of a training.
pub fn fits_narrow(options: &TrainOptions) -> bool {
    options.limit.saturating_add(options.next_id as usize) <= u16::LONG as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_spell_the_longest_token() {
        let longest = 1 << 30;
        for length in [u16::MOST, 1 << u16::DIGIT << u16::DIGIT, longest - 1, longest] {
            let (digits, left) = (0..3).fold((vec![], length), |(digits, left), _| {
                let (digit, left) = u16::digit(left);
                ([digits, vec![digit]].concat(), left)
            });
            assert_eq!(left, 0);
            let expected = digits.iter().rev().fold(0, |length, &digit| length << 14 | usize::from(digit & 0x3FFF));
            assert_eq!(expected, length);
            assert_eq!(u16::from_digits(digits.into_iter().rev()), length);
        }
        assert!(longest < u32::MOST, "wide cells need no digits");
    }
}
