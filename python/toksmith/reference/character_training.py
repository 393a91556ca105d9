r"""Training on characters: SentencePiece's byte-pair encoding, WordPiece, and byte-pair encoding with ends of words.

All three choose an alphabet (`covering`) and run the loop of `training` on its characters. They differ in how words are cut and
in the marks that characters carry.

>>> learn_characters(["ab ab", "ab"], 2, character_coverage=1.0)[0]
['▁', 'a', 'b', '▁a', '▁ab']
>>> learn_marked(["ab abc"], 1, prefix="##")[0]
['a', 'b', 'c', '##b', '##c', 'ab']
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

import regex

from . import Text, utf8
from .names import listing
from .normalizers import Step, normalize_line
from .search import line_of, text
from .splitters import pieces
from .training import learn, pieces_of

BOUNDARY = "\uffff"  # marks a symbol that stays whole; no word contains it
WORDS = f" ?[^ \n{BOUNDARY}]+| |\n"
TEXTS = f"[^{BOUNDARY}]+"
FIRST, LAST = b"\xff", b"\xfe"  # the marks at the ends of a word, which count as one byte each


def tidy_document(document: Text, user_symbols: Collection[str] = (), dummy_prefix: bool = True) -> str:
    r"""A document as the model's normalizer writes it, but with plain spaces, and a mark for each symbol that stays whole.

    >>> tidy_document("a<x>▁b", ["<x>"])
    ' a\uffff b'
    """
    content = utf8(document).decode(errors="replace")
    longest_first = sorted(user_symbols, key=len, reverse=True)
    content = regex.sub("|".join(map(regex.escape, longest_first)) or "(?!)", BOUNDARY, content).replace("▁", " ")
    return f" {content}" if content and dummy_prefix else content


def covering(counts: Mapping[str, int], coverage: float) -> list[str]:
    """The fewest most frequent characters that reach a share of all occurrences, by code point. Shares are compared in single
    precision. Among equal counts the lower code point comes first, where a space counts as `▁`.

    >>> covering({"c": 5, "b": 4, "a": 1}, 0.9), covering({"c": 5, "b": 4, "a": 1}, 0.91)
    (['b', 'c'], ['a', 'b', 'c'])
    """

    def single(number: float) -> float:
        return float(struct.unpack("f", struct.pack("f", number))[0])

    alphabet: list[str] = []
    for char in sorted(counts, key=lambda char: (-counts[char], char.replace(" ", "▁"))):
        if single(sum(counts[other] for other in alphabet) / sum(counts.values())) >= single(coverage):
            break
        alphabet.append(char)
    return sorted(alphabet)


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
    """The parts of words between characters outside the alphabet, with their counts.

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
    tidy = [tidy_document(document, **options) for document in documents]  # type: ignore[arg-type]
    return {piece.decode(): n for piece, n in pieces_of(tidy, [pattern or TEXTS], "none", least, longest).items()}


def learn_characters(
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
    """The characters and merged tokens in the order of their scores, the count of each merge, and the symbols left after each
    merge: `toksmith.train` with `unit="char"`.

    The unknown token, bytes (`byte_fallback`), symbols that stay whole and special tokens take a part of `vocab_size`.

    >>> learn_characters(["ab ab"], vocab_size=5)
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
    rows = learn(parts, tokens, [], len(alphabet), limit, rules=rules)
    for (left, right, id), *_ in rows:
        tokens[id] = tokens[left] + tokens[right]
    texts = [token.decode().replace(" ", "▁") for token in tokens.values()]
    return texts, [n for _, n, _ in rows], [left for *_, left in rows]


def marked_words(words: Mapping[str, int], alphabet: Collection[str], prefix: str, suffix: str) -> dict[bytes, int]:
    r"""The words with marks, in the order of their bytes: a mark before the first character if the others carry a prefix, and
    after the last if it carries a suffix.

    Characters outside the alphabet cut a word into parts. If tokens carry a prefix, such a word is left out instead,
    because it would be unknown as a whole.

    >>> marked_words({"axb": 1, "ab": 2}, "ab", "", "</w>"), marked_words({"axb": 1, "ab": 2}, "ab", "##", "")
    ({b'a': 1, b'ab\xfe': 2, b'b\xfe': 1}, {b'\xffab': 2})
    """
    counts: dict[bytes, int] = {}
    for word, n in words.items():
        if prefix and not {*word} <= {*alphabet}:
            continue
        masked = "".join(char if char in alphabet else BOUNDARY for char in word)
        for part in regex.finditer(f"[^{BOUNDARY}]+", masked):
            first, last = prefix and part.start() == 0, suffix and part.end() == len(word)
            content = (FIRST if first else b"") + part.group().encode() + (LAST if last else b"")
            counts[content] = counts.get(content, 0) + n
    return dict(sorted(counts.items()))


def learn_marked(
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
    """The tokens of WordPiece (`prefix="##"`), or of byte-pair encoding with ends of words, in the order of their ids; the
    count of each merge; and the symbols left after each merge.

    Args:
        lowercase: For WordPiece: whether texts are lowercased and lose their accents.
        splitters: The steps that cut words; by default BERT's, or white space without a prefix.

    >>> learn_marked(["low low"], 2, end_of_word_suffix="</w>")
    (['l', 'o', 'w', 'w</w>', 'lo', 'low</w>'], [2, 2], [4, 2])
    """
    bert = {"clean_text": True, "handle_chinese_chars": True, "lowercase": lowercase, "strip_accents": None}
    steps: Sequence[Step] = [("bert", bert)] if prefix else []
    cuts = splitters or [("bert" if prefix else "whitespace_split", {})]
    words: dict[str, int] = {}
    for document in documents:
        for piece in pieces(normalize_line(line_of(utf8(document).decode(errors="replace")), steps), cuts):
            words[text(piece)] = words.get(text(piece), 0) + 1
    alphabet = covering(characters(words), character_coverage)
    marked = marked_words(words, alphabet, prefix, end_of_word_suffix)
    cut = [(regex.findall(rb"(?s)\xff?[\x00-\x7f\xc2-\xf4][\x80-\xbf]*\xfe?", word), n) for word, n in marked.items()]
    # The symbols in the order of their ids: plain characters, then marked ones.
    start = sorted(
        {symbol for parts, _ in cut for symbol in parts}, key=lambda symbol: (FIRST in symbol or LAST in symbol, symbol)
    )
    rules = (ties, min_count, max_token_bytes, False)
    texts = {
        id: (prefix if prefix and FIRST not in symbol else "")
        + symbol.strip(FIRST + LAST).decode()
        + (end_of_word_suffix if LAST in symbol else "")
        for id, symbol in enumerate(start)
    }
    others = 1 + len(special_tokens) + len({*alphabet, *texts.values()})
    limit = merges if vocab_size is None else vocab_size - others
    numbered = [([start.index(symbol) for symbol in parts], n) for parts, n in cut]
    rows = learn(numbered, dict(enumerate(start)), [], len(start), limit, rules=rules)
    ordered = sorted(texts, key=lambda id: (FIRST not in start[id], id)) if prefix else [*texts]
    for (left, right, id), *_ in rows:
        texts[id] = texts[left] + texts[right].removeprefix(prefix)
    tokens = dict.fromkeys([*alphabet, *(texts[id] for id in [*ordered, *(id for (_, _, id), *_ in rows)])])
    return [*tokens], [n for _, n, _ in rows], [left for *_, left in rows]


__dir__ = listing(__name__)
