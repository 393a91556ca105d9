r"""Training on characters: SentencePiece's byte-pair encoding, WordPiece, and byte-pair encoding with ends of words.

All three choose an alphabet (`covering`) and run the loop of `training` on its characters. They differ in what a word is and in
the marks that its characters carry.

>>> learned_characters(["ab ab", "ab"], 2, character_coverage=1.0)[0]
['▁', 'a', 'b', '▁a', '▁ab']
>>> learned_marked(["ab abc"], 1, prefix="##")[0]
['a', 'b', 'c', '##b', '##c', 'ab']
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

import regex

from . import Text, utf8
from .names import listing
from .normalizers import Step, normalized
from .search import line_of, text
from .splitters import pieces
from .training import learn, pieces_of

BOUNDARY = "\uffff"  # marks a symbol that stays whole; no word contains it
WORDS = f" ?[^ \n{BOUNDARY}]+| |\n"
TEXTS = f"[^{BOUNDARY}]+"
FIRST, LAST = b"\xff", b"\xfe"  # the marks at the ends of a word, which count as one byte each


def tidied(document: Text, user_symbols: Collection[str] = (), dummy_prefix: bool = True) -> str:
    r"""A document as the model's normalizer has it, its spaces not written `▁`, with a mark for each symbol that stays whole.

    >>> tidied("a<x>▁b", ["<x>"])
    ' a\uffff b'
    """
    whole = utf8(document).decode(errors="replace")
    longest_first = sorted(user_symbols, key=len, reverse=True)
    whole = regex.sub("|".join(map(regex.escape, longest_first)) or "(?!)", BOUNDARY, whole).replace("▁", " ")
    return f" {whole}" if whole and dummy_prefix else whole


def covering(counts: Mapping[str, int], coverage: float) -> list[str]:
    """The most frequent characters until they make up a share of all, by code point. Shares are compared in single precision,
    and of equals the first by code point comes first, where a space counts as `▁`.

    >>> covering({"c": 5, "b": 4, "a": 1}, 0.9), covering({"c": 5, "b": 4, "a": 1}, 0.91)
    (['b', 'c'], ['a', 'b', 'c'])
    """

    def single(number: float) -> float:
        return float(struct.unpack("f", struct.pack("f", number))[0])

    kept: list[str] = []
    for char in sorted(counts, key=lambda char: (-counts[char], char.replace(" ", "▁"))):
        if single(sum(counts[other] for other in kept) / sum(counts.values())) >= single(coverage):
            break
        kept.append(char)
    return sorted(kept)


def characters(words: Mapping[str, int]) -> dict[str, int]:
    """How often each character occurs in counted words.

    >>> characters({"aba": 2})
    {'a': 4, 'b': 2}
    """
    counts: dict[str, int] = {}
    for word, n in words.items():
        for char in word:
            counts[char] = counts.get(char, 0) + n
    return counts


def within(words: Mapping[str, int], alphabet: Collection[str]) -> dict[str, int]:
    """What words hold between characters that are not in the alphabet.

    >>> within({"axb": 2, "ab": 1, "b": 1}, "ab")
    {'a': 2, 'b': 3, 'ab': 1}
    """
    counts: dict[str, int] = {}
    for word, n in words.items():
        for part in filter(None, "".join(char if char in alphabet else BOUNDARY for char in word).split(BOUNDARY)):
            counts[part] = counts.get(part, 0) + n
    return counts


def words_of(
    documents: Iterable[Text], pattern: str | None, least: int, longest: int | None, **options: object
) -> dict[str, int]:
    """The words of documents with their counts, or the documents themselves where the pattern is None.

    >>> words_of(["a b", "a"], WORDS, 1, None)
    {' a': 2, ' b': 1}
    """
    tidy = [tidied(document, **options) for document in documents]  # type: ignore[arg-type]
    return {piece.decode(): n for piece, n in pieces_of(tidy, [pattern or TEXTS], "none", least, longest).items()}


def learned_characters(
    documents: Sequence[Text],
    merges: int | None = None,
    *,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    user_symbols: Sequence[str] = (),
    byte_fallback: bool = False,
    pattern: str | None = WORDS,
    character_coverage: float = 0.9995,
    dummy_prefix: bool = True,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    ties: str = "lowest_ids",
    min_count: int = 1,
    max_token_bytes: int | None = None,
) -> tuple[list[str], list[int], list[int]]:
    """The characters and the tokens that merges make of them, in the order of their scores; and of each merge its count and the
    symbols left after it: `toksmith.train` with `unit="char"`.

    The unknown token, bytes (`byte_fallback`), symbols that stay whole and special tokens take a part of `vocab_size`.

    >>> learned_characters(["ab ab"], vocab_size=5)
    (['▁', 'a', 'b', '▁a'], [2], [4])
    """
    words = words_of(
        documents, pattern, min_piece_count, max_piece_bytes, user_symbols=user_symbols, dummy_prefix=dummy_prefix
    )
    alphabet = covering(characters({word.replace(BOUNDARY, ""): n for word, n in words.items()}), character_coverage)
    others = 1 + 256 * byte_fallback + len(user_symbols) + len(special_tokens)
    limit = merges if vocab_size is None else vocab_size - others - len(alphabet)
    tokens = {id: char.encode() for id, char in enumerate(alphabet)}
    parts = [([alphabet.index(char) for char in word], n) for word, n in within(words, alphabet).items()]
    rules = (ties, min_count, max_token_bytes, False)
    found = learn(parts, tokens, [], len(alphabet), limit, rules=rules)
    for (left, right, id), *_ in found:
        tokens[id] = tokens[left] + tokens[right]
    shown = [token.decode().replace(" ", "▁") for token in tokens.values()]
    return shown, [n for _, n, _ in found], [left for *_, left in found]


def marked_words(words: Mapping[str, int], alphabet: Collection[str], prefix: str, suffix: str) -> dict[bytes, int]:
    r"""The words with marks, in the order of their bytes: before the first character where others carry a prefix, and behind the
    last where it carries a suffix.

    Of a word with a character that is not in the alphabet the parts between such characters are taken; where tokens carry a
    prefix the word is left out, because it would be unknown as a whole.

    >>> marked_words({"axb": 1, "ab": 2}, "ab", "", "</w>"), marked_words({"axb": 1, "ab": 2}, "ab", "##", "")
    ({b'a': 1, b'ab\xfe': 2, b'b\xfe': 1}, {b'\xffab': 2})
    """
    counts: dict[bytes, int] = {}
    for word, n in words.items():
        if prefix and not {*word} <= {*alphabet}:
            continue
        known = "".join(char if char in alphabet else BOUNDARY for char in word)
        for part in regex.finditer(f"[^{BOUNDARY}]+", known):
            first, last = prefix and part.start() == 0, suffix and part.end() == len(word)
            content = (FIRST if first else b"") + part.group().encode() + (LAST if last else b"")
            counts[content] = counts.get(content, 0) + n
    return dict(sorted(counts.items()))


def learned_marked(
    documents: Sequence[Text],
    merges: int | None = None,
    *,
    prefix: str = "",
    end_of_word_suffix: str = "",
    lowercase: bool = True,
    splitters: Sequence[Step] = (),
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    character_coverage: float = 0.9995,
    ties: str = "lowest_ids",
    min_count: int = 1,
    max_token_bytes: int | None = None,
) -> tuple[list[str], list[int], list[int]]:
    """The tokens of WordPiece (`prefix="##"`), or of byte-pair encoding with ends of words, in the order of their ids; and of
    each merge its count and the symbols left after it.

    Args:
        lowercase: For WordPiece: whether texts are made lower case and lose their accents.
        splitters: What cuts words; BERT's or white space if there is nothing.

    >>> learned_marked(["low low"], 2, end_of_word_suffix="</w>")
    (['l', 'o', 'w', 'w</w>', 'lo', 'low</w>'], [2, 2], [4, 2])
    """
    bert = {"clean_text": True, "handle_chinese_chars": True, "lowercase": lowercase, "strip_accents": None}
    steps: Sequence[Step] = [("bert", bert)] if prefix else []
    cuts = splitters or [("bert" if prefix else "whitespace_split", {})]
    words: dict[str, int] = {}
    for document in documents:
        for piece in pieces(normalized(line_of(utf8(document).decode(errors="replace")), steps), cuts):
            words[text(piece)] = words.get(text(piece), 0) + 1
    alphabet = covering(characters(words), character_coverage)
    marked = marked_words(words, alphabet, prefix, end_of_word_suffix)
    cut = [(regex.findall(rb"(?s)\xff?[\x00-\x7f\xc2-\xf4][\x80-\xbf]*\xfe?", word), n) for word, n in marked.items()]
    # The symbols in the order of their ids: plain characters, and then those with a mark.
    start = sorted(
        {symbol for parts, _ in cut for symbol in parts}, key=lambda symbol: (FIRST in symbol or LAST in symbol, symbol)
    )
    rules = (ties, min_count, max_token_bytes, False)
    shown = {
        id: (prefix if prefix and FIRST not in symbol else "")
        + symbol.strip(FIRST + LAST).decode()
        + (end_of_word_suffix if LAST in symbol else "")
        for id, symbol in enumerate(start)
    }
    others = 1 + len(special_tokens) + len({*alphabet, *shown.values()})
    limit = merges if vocab_size is None else vocab_size - others
    numbered = [([start.index(symbol) for symbol in parts], n) for parts, n in cut]
    found = learn(numbered, dict(enumerate(start)), [], len(start), limit, rules=rules)
    listed = sorted(shown, key=lambda id: (FIRST not in start[id], id)) if prefix else [*shown]
    for (left, right, id), *_ in found:
        shown[id] = shown[left] + shown[right].removeprefix(prefix)
    tokens = dict.fromkeys([*alphabet, *(shown[id] for id in [*listed, *(id for (_, _, id), *_ in found)])])
    return [*tokens], [n for _, n, _ in found], [left for *_, left in found]


__dir__ = listing(__name__)
