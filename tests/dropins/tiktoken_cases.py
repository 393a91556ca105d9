"""Cases for `toksmith.compat.tiktoken`: encodings, texts and ids, given to every method of tiktoken's `Encoding` and of ours."""

import pickle
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from drawn_texts import Drawing

from dropins import Case
from toksmith.compat import tiktoken as own

FILES = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
PATTERNS = (CL100K, GPT2, r"\w+|\W+", r"[\s\S]", r"[\s\S]+", r"\p{L}+|\P{L}")
SPECIALS = ("<|endoftext|>", "<|fim_prefix|>", "<|im_start|>", "<|im_end|>", "<s>", "<s>>", "a<s", "</s>", "é", " ")
ODD: tuple[Any, ...] = (b"a", None, 1, ["a"], ("a",), "a\ud800", "")


class Pair(NamedTuple):
    """One encoding twice, and what it was made from."""

    name: str
    peer: Any
    ours: Any
    specials: list[str]


def ranks_of(chance: Random) -> dict[bytes, int]:
    """A small vocabulary: the bytes in some order, joined tokens, and tokens that no merge makes."""
    tokens = [bytes([byte]) for byte in range(256)]
    if chance.random() < 0.5:
        chance.shuffle(tokens)
    letters = [*b"abcdlowers <>|_ende\n12", *"é的".encode()]
    known = {*tokens}
    while len(tokens) < 256 + chance.choice([0, 5, 60]):
        parts = chance.choices(tokens[256:] + [bytes([letter]) for letter in letters], k=chance.choice([2, 2, 2, 3]))
        if (token := b"".join(parts)) not in known and len(token) < 12:
            known.add(token)
            tokens.append(token)
    gap = chance.choice([0, 0, 7])
    return {token: rank + (gap if rank > 200 else 0) for rank, token in enumerate(tokens)}


def drawn_pair(chance: Random) -> Pair:
    """An encoding of a small vocabulary."""
    import tiktoken

    ranks = ranks_of(chance)
    contents = chance.sample(SPECIALS, chance.randrange(5))
    first = max(ranks.values()) + chance.choice([1, 1, 5])
    parts = {"pat_str": chance.choice(PATTERNS), "mergeable_ranks": ranks}
    parts["special_tokens"] = {content: first + number for number, content in enumerate(contents)}
    return Pair("drawn", tiktoken.Encoding("drawn", **parts), own.Encoding("drawn", **parts), contents)


@cache
def published(folder: Path) -> list[Pair]:
    """The published encodings."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    found = []
    for name in FILES:
        ranks = load_tiktoken_bpe(str(folder / f"{name}.tiktoken"))
        contents = ["<|endoftext|>", "<|fim_prefix|>", "<|im_start|>"]
        parts = {"pat_str": CL100K if name.endswith("00k_base") else GPT2, "mergeable_ranks": ranks}
        parts["special_tokens"] = {content: max(ranks.values()) + 1 + place for place, content in enumerate(contents)}
        found.append(Pair(name, tiktoken.Encoding(name, **parts), own.Encoding(name, **parts), contents))
    return found


def result(call: Callable[[Any], Any], encoding: Any) -> dict[str, Any]:
    """The value that a call returns, with its type; or the class of its exception."""
    try:
        found = call(encoding)
    except BaseException as error:  # a panic of the peer is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return {
            "raises": next(
                each.__name__ for each in type(error).__mro__ if each.__module__ in ("builtins", "pyo3_runtime")
            )
        }
    return {"value": plain(found), "type": type(found).__name__}


def plain(value: Any) -> Any:
    """A value that compares with `==`."""
    if hasattr(value, "tolist"):
        return str(value.dtype), value.tolist()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return [plain(each) for each in value] if isinstance(value, list) else value


def special_options(chance: Random, contents: list[str]) -> dict[str, Any]:
    """Some of the arguments that say what special tokens become."""
    sets: list[Any] = ["all", set(), {*chance.sample(contents, chance.randrange(len(contents) + 1))}, {"<unlisted>"}]
    options: dict[str, Any] = {}
    if chance.random() < 0.6:
        options["allowed_special"] = chance.choice(sets)
    if chance.random() < 0.5:
        options["disallowed_special"] = chance.choice([*sets, ()])
    return options


def text_call(chance: Random, pair: Pair, text: Any, texts: list[str]) -> tuple[str, str, Callable[[Any], Any]]:
    """A call with texts: its feature, itself as a user writes it, and the function that makes it."""
    given = special_options(chance, pair.specials)
    some = chance.choice([texts, texts[:1], [], (*texts,)])
    calls: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("encode", f"encode({text!r}, **{given!r})", lambda e: e.encode(text, **given)),
        ("encode_ordinary", f"encode_ordinary({text!r})", lambda e: e.encode_ordinary(text)),
        ("encode_to_numpy", f"encode_to_numpy({text!r}, **{given!r})", lambda e: e.encode_to_numpy(text, **given)),
        ("encode_batch", f"encode_batch({some!r}, **{given!r})", lambda e: e.encode_batch(some, num_threads=2, **given)),
        ("encode_ordinary_batch", f"encode_ordinary_batch({some!r})", lambda e: e.encode_ordinary_batch(some, num_threads=2)),
        ("encode_with_unstable", f"encode_with_unstable({text!r}, **{given!r})", lambda e: stable(e.encode_with_unstable(text, **given))),
        ("encode_single_token", f"encode_single_token({text!r})", lambda e: e.encode_single_token(text)),
        ("_encode_single_piece", f"_encode_single_piece({text!r})", lambda e: e._encode_single_piece(text)),
        ("_encode_bytes", f"_encode_bytes({text!r}.encode())", lambda e: e._encode_bytes(text.encode())),
        ("_encode_only_native_bpe", f"_encode_only_native_bpe({text!r})", lambda e: e._encode_only_native_bpe(text)),
    ]  # fmt: skip
    return chance.choices(calls, [6, 3, 2, 2, 2, 3, 2, 2, 1, 1])[0]


def stable(found: tuple[list[int], list[list[int]]]) -> tuple[list[int], list[list[int]]]:
    """What `encode_with_unstable` returns. tiktoken gives the completions in the order of a hash."""
    return found[0], sorted(found[1])


def id_call(chance: Random, pair: Pair, ids: Any) -> tuple[str, str, Callable[[Any], Any]]:
    """A call with ids."""
    errors = chance.choice(["replace", "strict", "ignore", "backslashreplace"])
    one = ids[0] if isinstance(ids, list) and ids else ids
    batch = [ids, ids]
    calls: list[tuple[str, str, Callable[[Any], Any]]] = [
        ("decode", f"decode({ids!r}, {errors!r})", lambda e: e.decode(ids, errors)),
        ("decode_bytes", f"decode_bytes({ids!r})", lambda e: e.decode_bytes(ids)),
        ("decode_single_token_bytes", f"decode_single_token_bytes({one!r})", lambda e: e.decode_single_token_bytes(one)),
        ("decode_tokens_bytes", f"decode_tokens_bytes({ids!r})", lambda e: e.decode_tokens_bytes(ids)),
        ("decode_with_offsets", f"decode_with_offsets({ids!r})", lambda e: e.decode_with_offsets(ids)),
        ("decode_batch", f"decode_batch({batch!r})", lambda e: e.decode_batch(batch, num_threads=2)),
        ("decode_bytes_batch", f"decode_bytes_batch({batch!r})", lambda e: e.decode_bytes_batch(batch, num_threads=2)),
        ("is_special_token", f"is_special_token({one!r})", lambda e: e.is_special_token(one)),
        ("encode_single_token", f"encode_single_token(decode_single_token_bytes({one!r}))", lambda e: e.encode_single_token(e.decode_single_token_bytes(one))),
    ]  # fmt: skip
    return chance.choice(calls)


FACTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("name", lambda e: e.name),
    ("repr", repr),
    ("eot_token", lambda e: e.eot_token),
    ("n_vocab", lambda e: e.n_vocab),
    ("max_token_value", lambda e: e.max_token_value),
    ("special_tokens_set", lambda e: e.special_tokens_set),
    ("token_byte_values", lambda e: e.token_byte_values()),
    ("_pat_str", lambda e: e._pat_str),
    ("_special_tokens", lambda e: e._special_tokens),
    ("_mergeable_ranks", lambda e: e._mergeable_ranks),
    ("pickle", lambda e: pickle.loads(pickle.dumps(e)).encode_ordinary("low é")),
]


def drawn_ids(chance: Random, pair: Pair, text: str) -> Any:
    """Ids of a text, some ids, or ids that are not there."""
    most = pair.peer.max_token_value
    kind = chance.randrange(8)
    if kind == 0:
        return chance.choice(
            [[-1], [most + 1], [1 << 32], [1 << 70], [1.5], ["a"], None, 3, [], [None], b"a", (1, 2), range(3)]
        )
    ids = [chance.randint(0, most) for _ in range(chance.randrange(1, 9))]
    return ids if kind < 4 else pair.peer.encode(text.encode("utf-8", "replace").decode(), allowed_special="all") or ids


def cases(chance: Random, count: int, folder: Path | None) -> Iterator[Case]:
    """So many cases. Published encodings take part where their folder is given."""
    draw = Drawing(chance.randrange(1 << 30))
    pair = drawn_pair(chance)
    for number, text in enumerate(draw.texts(count)):
        if number % 40 == 0:
            pair = chance.choice(published(folder)) if folder and chance.random() < 0.5 else drawn_pair(chance)
            for name, fact in FACTS if pair.name == "drawn" else ():
                yield Case(name, name, result(fact, pair.peer), result(fact, pair.ours), {"pair": pair, "input": None})
        text = text[:200]
        for content in pair.specials:
            if chance.random() < 0.15:
                place = chance.randrange(len(text) + 1)
                text = text[:place] + content + text[place:]
        given: Any = chance.choice(ODD) if chance.random() < 0.03 else text
        if chance.random() < 0.7:
            feature, call, make = text_call(chance, pair, given, [text[:40], text[40:90], ""])
        else:
            given = drawn_ids(chance, pair, text)
            feature, call, make = id_call(chance, pair, given)
        about = {"pair": pair, "input": given, "specials": pair.specials}
        yield Case(feature, f"{pair.name}: {call}", result(make, pair.peer), result(make, pair.ours), about)
