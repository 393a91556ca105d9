//! GPT-2's spelling of bytes as visible characters. A byte whose Latin-1 character is visible is that character. The
//! others, in order, are the characters from U+0100 on.

/// Whether a byte is spelled as the character of the same number.
const fn is_shown(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF)
}

const CHARS: [char; 256] = {
    let mut chars = ['\0'; 256];
    let (mut byte, mut others) = (0, 0x100);
    while byte < 256 {
        let point = if is_shown(byte as u8) {
            byte as u32
        } else {
            others += 1;
            others - 1
        };
        chars[byte] = match char::from_u32(point) {
            Some(char) => char,
            None => '\0',
        };
        byte += 1;
    }
    chars
};

/// The character that spells a byte.
#[must_use]
pub fn char_of(byte: u8) -> char {
    CHARS[usize::from(byte)]
}

/// The byte that a character spells.
#[must_use]
pub fn byte_of(char: char) -> Option<u8> {
    match u32::from(char) {
        point @ 0..0x100 => Some(point as u8).filter(|&byte| is_shown(byte)),
        _ => CHARS.iter().position(|&other| other == char).map(|byte| byte as u8),
    }
}

/// Calls `emit` with the character of each byte of `char`.
pub fn byte_characters(char: char, emit: &mut dyn FnMut(char)) {
    for byte in char.encode_utf8(&mut [0; 4]).bytes() {
        emit(char_of(byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_a_round_trip() {
        for byte in 0..=255 {
            assert_eq!(byte_of(char_of(byte)), Some(byte));
        }
        assert_eq!((char_of(b' '), char_of(b'\n'), byte_of(' '), byte_of('\u{144}')), ('Ġ', 'Ċ', None, None));
    }
}
