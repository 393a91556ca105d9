//! Properties of a token's bytes: whole or cut characters, white space, special.

use crate::decode::Decoder;
use crate::split::special::AddedToken;

/// The token begins with the last bytes of a character.
pub const STARTS_INSIDE: u8 = 2;
/// The token ends inside its last character.
pub const ENDS_INSIDE: u8 = 4;
/// The bytes occur in no well-formed UTF-8.
pub const IMPOSSIBLE: u8 = 8;
/// White space only.
pub const WHITE: u8 = 16;
/// A special token.
pub const SPECIAL: u8 = 32;

/// The flags of a token's bytes. Bytes that are whole characters have none of the first three flags.
#[must_use]
pub fn flags(token: &[u8]) -> u8 {
    let inner = token.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
    let mut flags = if inner > 0 { STARTS_INSIDE } else { 0 };
    match std::str::from_utf8(&token[inner..]) {
        _ if inner > 3 => flags |= IMPOSSIBLE,
        Ok(rest) if inner == 0 && !rest.is_empty() && rest.chars().all(char::is_whitespace) => flags |= WHITE,
        Ok(_) => {}
        Err(problem) if problem.error_len().is_none() => flags |= ENDS_INSIDE,
        Err(_) => flags |= IMPOSSIBLE,
    }
    flags
}

/// The facts about all tokens, in the order of their ids.
#[derive(Debug, Default)]
pub struct Facts {
    /// The ids, ascending.
    pub ids: Vec<u32>,
    /// The length of each token in bytes.
    pub lengths: Vec<u32>,
    /// The flags of each token.
    pub flags: Vec<u8>,
}

/// The facts about the tokens of a decoder.
#[must_use]
pub fn facts(decoder: &Decoder, added: &[AddedToken]) -> Facts {
    let mut facts = Facts::default();
    let mut special: Vec<u32> = added.iter().filter(|token| token.special).map(|token| token.id).collect();
    special.sort_unstable();
    for (id, token) in decoder.tokens() {
        facts.ids.push(id);
        facts.lengths.push(token.len() as u32);
        facts.flags.push(flags(token) | if special.binary_search(&id).is_ok() { SPECIAL } else { 0 });
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_describe_cut_characters_and_white_space() {
        let cases: [(&[u8], u8); 12] = [
            (b"ab", 0),
            (" \t\u{3000}".as_bytes(), WHITE),
            (b" \xE2\x98", ENDS_INSIDE),
            (b"\x80 ", STARTS_INSIDE),
            (b"\x98\x80", STARTS_INSIDE),
            (b"\x80 \xC3", STARTS_INSIDE | ENDS_INSIDE),
            (b"\xC3", ENDS_INSIDE),
            (b"\xF5", IMPOSSIBLE),
            (b"\xC0\x80", IMPOSSIBLE),
            (b"\xE0\x80", IMPOSSIBLE),
            (b"\x80\x80\x80", STARTS_INSIDE),
            (b"\x80\x80\x80\x80", STARTS_INSIDE | IMPOSSIBLE),
        ];
        for (token, expected) in cases {
            assert_eq!(flags(token), expected, "{}", token.escape_ascii());
        }
    }
}
