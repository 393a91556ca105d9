//! Makes texts of libFuzzer's data: unchanged, or composed of fragments that are hard for tokenizers.

/// Fragments of every kind that the patterns and the engines distinguish.
const FRAGMENTS: &[&str] = &[
    "a",
    "B",
    "word",
    "Word",
    "HTTP",
    "camelCase",
    "s",
    "T",
    "ll",
    "VE",
    "re",
    "'",
    "'s",
    "'S",
    "'ll",
    "'RE",
    "'ſ",
    "it's",
    "don't",
    "1",
    "12",
    "123",
    "1234567",
    " ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " \n",
    "\n ",
    "\u{b}",
    "\u{c}",
    "\u{1c}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{200b}",
    "\u{feff}",
    "!",
    "?!",
    "/",
    "//",
    ".",
    ",",
    "_",
    "-",
    "(",
    "==",
    "<|end|>",
    "<|",
    "|>",
    "##",
    "#",
    "é",
    "É",
    "ß",
    "ſ",
    "\u{212a}",
    "ª",
    "ǅ",
    "ʰ",
    "\u{300}",
    "\u{903}",
    "e\u{301}",
    "中",
    "文字",
    "漢",
    "。",
    "ぁ",
    "カ",
    "한",
    "국어",
    "ก",
    "ำ",
    "हि",
    "न्दी",
    "ع",
    "ّ",
    "слово",
    "ДА",
    "½",
    "²",
    "٣",
    "१",
    "Ⅷ",
    "𝟙",
    "𐐀",
    "𐐨",
    "𝐀",
    "𑀀",
    "😀",
    "👩\u{200d}👧",
    "🏽",
    "☀\u{fe0f}",
    "🇩🇪",
    "…",
    "—",
    "’",
    "\u{fffd}",
    "\0",
    "\u{10ffff}",
    "ა",
    "०",
    "\u{816}",
    "aaaaaaaaaaaaaaaa",
    "abababab",
];
/// The longest text in bytes: regexes with a lookahead take quadratic time for runs of white space.
const LONGEST: usize = 2048;
/// Bytes from here on repeat the fragment before them.
const REPEATS: u8 = 0xF0;
/// Bytes from here on take the next three bytes as a code point.
const CODE_POINTS: u8 = 0xE0;
/// Bytes from here on stand for themselves.
const BYTES: u8 = 0xD0;

/// Makes a text of `data`: unchanged after an even first byte, else one part for each byte.
#[must_use]
pub fn text_of(data: &[u8]) -> Vec<u8> {
    match data {
        [] => Vec::new(),
        [mode, rest @ ..] if mode % 2 == 0 => rest.to_vec(),
        [_, rest @ ..] => build_text(rest),
    }
}

fn build_text(data: &[u8]) -> Vec<u8> {
    let (mut text, mut last) = (Vec::new(), &b"a"[..]);
    let mut codes = data.iter().copied();
    while let Some(code) = codes.next()
        && text.len() < LONGEST
    {
        match code {
            REPEATS.. => text.extend_from_slice(&last.repeat(usize::from(code - REPEATS) * 4 + 1)),
            CODE_POINTS.. => {
                let mut next = || u32::from(codes.next().unwrap_or(0));
                let number = (next() << 16 | next() << 8 | next()) & 0x1F_FFFF;
                text.extend_from_slice(
                    char::from_u32(number).unwrap_or('\u{fffd}').encode_utf8(&mut [0; 4]).as_bytes(),
                );
            }
            BYTES.. => text.push(code.wrapping_mul(5)),
            _ => {
                last = FRAGMENTS[usize::from(code) % FRAGMENTS.len()].as_bytes();
                text.extend_from_slice(last);
            }
        }
    }
    text
}
