"""Texts that tokenizers get wrong, and strategies that draw more of them.

`HARD_TEXTS` is the table of texts that some tokenizer got wrong, or that a rule exists for, with the reason. The
strategies draw strings of the same kinds: `texts()` for split patterns, `small_texts()` for merges, where few letters
produce overlaps, runs and ties all the time.
"""

import unicodedata
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

HARD_TEXTS = {
    "nothing": "",
    "one byte": "a",
    "NUL": "a\0b\0\0c",
    "contractions": "I'm you're he'll we've they'd it's don't I'M YOU'RE HE'LL WE'VE THEY'D IT'S DON'T",
    "contractions that are none": "'sa 'ta 're' 'x o'clock rock'n'roll ''s 's's ' s",
    "long s folds to s": "it'ſ IT'ſ 'ſ'ſ x'ſa",
    "the Kelvin sign folds to k": "'\u212a a\u212a K",
    "typographic apostrophe": "it’s don’t ’s",
    "dotted I": "İ'ı I'\u0130",
    "digits in runs": "1 12 123 1234 12345 1234567 12345678901",
    "digits of other scripts": "١٢٣٤٥ ½²Ⅷ ①②③④ १२३४ 𝟘𝟙𝟚𝟛",
    "white space at the end": "a  ",
    "white space at the end with a line feed": "a\n  ",
    "a space before text": "a  b   c",
    "tabs before text": "\t\tif x:\n\t\t\treturn",
    "mixed newlines": "a\r\nb\n\rc\r\r\nd\n\n\ne \n f\r",
    "white space of every kind": "a\t\x0b\x0c\x85\xa0\u1680\u2000\u2009\u200a\u2028\u2029\u202f\u205f\u3000b",
    "separators that are no white space": "a\x1c\x1d\x1e\x1f\u200b\ufeff\u2060b",
    "slashes after punctuation": "http://a//b/\n/ ./ !//\r\n/",
    "camel case": "camelCaseXML HTTPServer iPhone ǅuro ʰaʰ",
    "combining marks": "e\u0301 \u0301 \u0301a a\u0301\u0302\u0303 हिन्दी में नमस्ते",
    "marks first": "\u0301\u0302 \u20dd",
    "CJK": "中文，漢字。ひらがなカタカナ 한국어 ㄱㄴ",
    "Thai": "ภาษาไทยง่ายนิดเดียว",
    "Devanagari and digits": "कैसे हैं १०० नमस्ते, आप",
    "Arabic with marks": "العَرَبِيَّة ۱۲۳ \u200fabc",
    "emoji with joiners": "👩‍👩‍👧‍👦👍🏽☀️🏳️‍🌈 ❤️‍🔥1️⃣",
    "flags": "🇩🇪🇫🇷🇺",
    "the last code point": "\U0010ffff\U0010fffe\ufffe\uffff",
    "private use": "\ue000\U000f0000",
    "replacement character": "\ufffd\ufffd a\ufffdb",
    "letters beyond the BMP": "𝐀𝐁𝐜𝐝 𐐀𐐨 𓀀 𝔘𝔫𝔦",
    "title case and modifiers": "ǅ ǈ ᾼ ʰ ˑ ª º",
    "a lone high surrogate": "a\ud83db",
    "a lone low surrogate": "\ude04",
    "a surrogate pair in a str": "x\ud83d\ude04y",
    "surrogates the wrong way round": "\ude04\ud83d",
    "special token spellings": "<|endoftext|> <|endoftext| |endoftext|> <|fim_prefix|><|fim_suffix|>",
    "long run of a letter": "a" * 300,
    "long run of spaces": " " * 300 + "x" + " " * 299,
    "long run of newlines": "\n" * 300,
    "punctuation in runs": "!!!??? ...—–-- ((([[[{{{ %%%$$$ ///\\\\\\",
    "underscores": "snake_case __init__ _ __ a_1",
}

FRAGMENTS = (
    *"aAbZsS09'’ _-/.!?\t\n\r\0",
    *("'s", "'S", "'ſ", "'t", "'re", "'Ve", "'ll", "'LL", "'d", "'m", "it'", "don't", "l", "v", "e", "k", "\u212a"),
    *("  ", "   ", "\r\n", "\n\n", " \n", "\n ", "\t\t", "\x0b", "\x0c", "\x85", "\xa0", "\u1680", "\u2028", "\u3000"),
    *("\x1c", "\x1f", "\u200b", "\u200d", "\ufeff", "\ufe0f", "\u20e3", "\u0301", "\u0345", "\u0903", "\U0001f3fd"),
    *("é", "É", "ß", "İ", "ı", "ǅ", "ʰ", "ª", "ſ", "中", "文", "カ", "ー", "한", "ก", "ำ", "ह", "ि", "्", "ع", "ّ"),
    *("12", "123", "1234", "½", "²", "Ⅷ", "①", "٣", "१", "𝟘", "🙂", "👩‍👧", "☀️", "🇩🇪", "𝐀", "𐐨", "€", "…", "—"),
    *("<|endoftext|>", "<|", "|>", "hello", " World", "HTTP", "camelCase", "the ", "://", "=="),
)
WHITE_SPACE = [chr(point) for point in range(0x3001) if chr(point).isspace()]
RUN_LENGTHS = (1, 1, 1, 1, 2, 5)
PLANES = (0, 0, 0, 1, 2, 3, 14, 15, 16)

surrogates = st.sampled_from([0xD800, 0xDBFF, 0xD83D, 0xDC00, 0xDE04, 0xDFFF]).map(chr)
code_points = st.tuples(st.sampled_from(PLANES), st.integers(0, 0xFFFF)).map(lambda at: chr(at[0] << 16 | at[1]))
assigned = st.characters(exclude_categories=("Cs", "Cn", "Co"))
ascii_characters = st.integers(0, 127).map(chr)
runs = st.tuples(st.sampled_from(" \n\t\ra1'!é中"), st.integers(1, 40)).map(lambda run: run[0] * run[1])


def texts(*, lone_surrogates: bool = True, longest: int = 24) -> st.SearchStrategy[str]:
    """Strings of hard fragments, white space, runs, and code points of all planes; not normalized."""
    kinds = [st.sampled_from(FRAGMENTS), st.sampled_from(FRAGMENTS), st.sampled_from(WHITE_SPACE), ascii_characters]
    kinds += [assigned, code_points if lone_surrogates else code_points.filter(is_scalar), runs]
    if lone_surrogates:
        kinds.append(surrogates)
    joined = st.lists(st.one_of(kinds), max_size=longest).map("".join)
    return joined.flatmap(lambda text: st.sampled_from([text, text, text, decomposed(text)]))


def is_scalar(character: str) -> bool:
    """Whether UTF-8 can encode the character."""
    return not "\ud800" <= character <= "\udfff"


def decomposed(text: str) -> str:
    """The text in NFD."""
    return unicodedata.normalize("NFD", text)


def small_texts(letters: str = "ab", longest: int = 24) -> st.SearchStrategy[str]:
    """Strings of few letters, with runs: the digits of one drawn number, which is much cheaper than drawing letters."""
    runs_of_letters = [letter * times for times in RUN_LENGTHS for letter in letters]
    return st.tuples(st.integers(0, longest), st.integers(0, len(runs_of_letters) ** longest - 1)).map(
        lambda drawn: "".join(digits(*drawn, runs_of_letters))
    )


def digits(count: int, number: int, symbols: Sequence[str]) -> Iterator[str]:
    """The lowest `count` digits of a number, written in these symbols."""
    for _ in range(count):
        number, digit = divmod(number, len(symbols))
        yield symbols[digit]


def broken_bytes() -> st.SearchStrategy[bytes]:
    """Partly valid UTF-8: characters, cut characters, overlong forms, surrogates and stray bytes."""
    wrong = [b"\x80", b"\xff", b"\xc3", b"\xe2\x98", b"\xf0\x9f\x98", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
    right = [b"a", b"b", b" ", b"\n", b"1", "é".encode(), "☀".encode(), "😄".encode()]
    parts = st.one_of(st.sampled_from(right), st.sampled_from(wrong), st.binary(max_size=3))
    return st.lists(parts, max_size=16).map(b"".join)
