"""Cases of `toksmith.compat.tiktoken`: random encodings, and every method of `Encoding` on both libraries.

An encoding has published ranks or a few drawn ones, a pattern, and special tokens that can share characters. Calls have
texts that are hard to split, sets of allowed and disallowed special tokens, and ids that can be unknown.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from drawn_pieces import HARD
from hard_texts import FRAGMENTS, HARD_TEXTS

from dropins import Case
from toksmith.compat import tiktoken as ours

CALLS_OF_AN_ENCODING = 200
GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
PATTERNS: Mapping[str, str] = {
    "gpt2": GPT2,
    "cl100k": CL100K,
    "words": r"\w+|\W+",
    "lines": r"[^\n]*\n|[^\n]+",
    "single characters": r"(?s).",
    "everything": r"(?s).+",
    "letters alone": r"[a-z]+",
}
SPECIALS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "one": ("<|endoftext|>",),
    "several": ("<|endoftext|>", "<|fim_prefix|>", "<|x|>"),
    "sharing characters": ("<|x|>", "|>y", "ab", "bc", "\n\n"),
    "one begins another": ("<|x|>", "<|x|>y", "the", "then"),
    "like ordinary text": ("é", "hello", " ", "日本"),
}
PUBLISHED = ("r50k_base", "cl100k_base", "o200k_base")
TEXTS = [*HARD_TEXTS.values()]
PARTS = [
    *FRAGMENTS,
    *HARD,
    "<|x|>",
    "<|x|>y",
    "|>y",
    "<|endoftext|>",
    "<|fim_prefix|>",
    "abc",
    "then",
    "\n\n",
    "hello ",
]
ERRORS = ("replace", "strict", "ignore", "backslashreplace")


def cases(random: Random, count: int, vocab: Path, peer: Any) -> Iterator[Case]:
    """Draw `count` cases; `vocab` is the folder of the published ranks, and `peer` is the real library."""
    published = {name: load_ranks(vocab / f"{name}.tiktoken", peer) for name in PUBLISHED}
    made = 0
    while made < count:
        feature, about, options = drawn_encoding(random, published)
        theirs, own = (outcome(partial(module.Encoding, "drawn", **options)) for module in (peer, ours))
        if "value" not in theirs or "value" not in own:
            made += 1
            yield Case(feature, f"Encoding('drawn', **{about})", refused(theirs), refused(own), about)
            continue
        for _ in range(min(CALLS_OF_AN_ENCODING, count - made)):
            call, run, more = random.choice(CALLS)(random, theirs["value"])
            made += 1
            theirs_gives, ours_gives = (fields(partial(run, found["value"])) for found in (theirs, own))
            yield Case(feature, call, theirs_gives, ours_gives, about | more)


def load_ranks(path: Path, peer: Any) -> dict[bytes, int]:
    """The ranks of a published file."""
    found: dict[bytes, int] = peer.load.load_tiktoken_bpe(str(path))
    return found


def drawn_encoding(
    random: Random, published: Mapping[str, dict[bytes, int]]
) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A feature, the drawn values, and the arguments of an encoding with it."""
    name = random.choice(PUBLISHED) if random.random() < 0.03 else "drawn"
    ranks = published[name] if name != "drawn" else drawn_ranks(random)
    pattern, special = random.choice([*PATTERNS]), random.choice([*SPECIALS])
    if random.random() < 0.6:  # one feature at a time
        pattern, special = random.choice([("gpt2", special), (pattern, "one")])
    first = max(ranks.values()) + random.choice([1, 1, 5])
    specials = {content: first + place for place, content in enumerate(SPECIALS[special])}
    if random.random() < 0.05 and specials:
        specials[[*specials][-1]] = first  # two contents of one id
    options: dict[str, Any] = {"pat_str": PATTERNS[pattern], "mergeable_ranks": ranks, "special_tokens": specials}
    if random.random() < 0.05:
        options["explicit_n_vocab"] = len(ranks) + len(specials) + random.choice([0, 0, 1])
    about = {"ranks": name, "pattern": pattern, "special_tokens": specials}
    return f"ranks={name}, pattern={pattern}, special tokens={special}", about, options


def drawn_ranks(random: Random) -> dict[bytes, int]:
    """All bytes and some of their joins, ranked in any order that starts with the bytes."""
    tokens = [bytes([byte]) for byte in range(256)]
    random.shuffle(tokens)
    parts = [part.encode("utf-8", "replace") for part in PARTS]
    seen = {*tokens}
    for _ in range(random.choice([0, 20, 200])):
        data = random.choice(parts) + random.choice(parts)
        start = random.randrange(max(1, len(data)))
        token = (
            data[start : start + random.randrange(2, 7)]
            if random.random() < 0.5
            else random.choice(tokens[-20:]) + data[:2]
        )
        if token not in seen and 1 < len(token) < 12:
            seen.add(token)
            tokens.append(token)
    step = random.choice([1, 1, 3])
    return {token: rank * step for rank, token in enumerate(tokens)}


def drawn_text(random: Random) -> str:
    """A text, sometimes with surrogates."""
    if random.random() < 0.1:
        return random.choice(TEXTS)
    return "".join(random.choice(PARTS) for _ in range(random.choice([0, 1, 2, 4, 8, 20])))


Call = tuple[str, Callable[[Any], Any], dict[str, Any]]


def sets(random: Random, model: Any) -> dict[str, Any]:
    """Allowed and disallowed special tokens."""
    names = sorted(model.special_tokens_set)
    some = {name for name in names if random.random() < 0.5}
    options: dict[str, Any] = {}
    if random.random() < 0.6:
        options["allowed_special"] = random.choice(["all", some, frozenset(some), {"no token"}, set()])
    if random.random() < 0.6:
        options["disallowed_special"] = random.choice([(), "all", [*some], frozenset(some), ("the", "a"), {"x"}])
    return options


def of_text(method: str, options: Callable[[Random, Any], dict[str, Any]]) -> Callable[[Random, Any], Call]:
    """Calls of a method with a text."""

    def draw(random: Random, model: Any) -> Call:
        given: Any = drawn_text(random) if random.random() < 0.99 else random.choice([b"ab", None, 7, ["a"]])
        more = options(random, model)

        def run(encoding: Any) -> Any:
            found = getattr(encoding, method)(given, **more)
            # The completions have no order.
            return (found[0], sorted(found[1])) if method == "encode_with_unstable" else found

        return f"{method}({given!r}, **{more})", run, {"text": given, "method": method, **more}

    return draw


def batches(random: Random, model: Any) -> Call:
    """The methods on many texts."""
    method = random.choice(["encode_batch", "encode_ordinary_batch"])
    given = [drawn_text(random) for _ in range(random.randrange(4))]
    more = sets(random, model) if method == "encode_batch" else {}
    more |= {"num_threads": random.choice([1, 8])} if random.random() < 0.3 else {}
    return (
        f"{method}({given!r}, **{more})",
        lambda encoding: getattr(encoding, method)(given, **more),
        {"text": "".join(given), "method": method, **more},
    )


def drawn_ids(random: Random, model: Any) -> list[int]:
    """Ids of a text, or arbitrary ids, which can be unknown."""
    found = model.encode_ordinary(drawn_text(random)) if random.random() < 0.6 else []
    specials = [*model._special_tokens.values()]
    if specials and random.random() < 0.2:
        found.append(random.choice(specials))
    wrong = [model.n_vocab + 9, -1, 1 << 32, 1 << 70] if random.random() < 0.05 else [0]
    return [
        *found,
        *(random.randrange(model.n_vocab) for _ in range(random.choice([0, 0, 2, 6]))),
        *random.choices(wrong, k=1),
    ]


def decoding(random: Random, model: Any) -> Call:
    """The ways from ids to texts and bytes."""
    method = random.choice(
        ["decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets", "decode_batch", "decode_bytes_batch"]
    )
    given: Any = drawn_ids(random, model)
    given = [given, drawn_ids(random, model)] if method.endswith("batch") else given
    if random.random() < 0.05 and all(isinstance(id, int) and 0 <= id < 1 << 31 for id in given):
        given = random.choice([tuple(given), np.array(given, np.int64), np.array(given, np.uint32)])
    if random.random() < 0.02:
        given = random.choice([[1.5], ["a"], None, 3, [None], b"a", range(3)])
    more = {"errors": random.choice(ERRORS)} if method in ("decode", "decode_batch") and random.random() < 0.5 else {}
    return (
        f"{method}({given!r}, **{more})",
        lambda encoding: getattr(encoding, method)(given, **more),
        {"given": given, "method": method},
    )


def single(random: Random, model: Any) -> Call:
    """The properties of one token."""
    if random.random() < 0.5:
        method = random.choice(["decode_single_token_bytes", "is_special_token"])
        given: Any = random.choice([random.randrange(model.n_vocab), random.choice(drawn_ids(random, model))])
    else:
        method = random.choice(["encode_single_token", "_encode_single_piece", "_encode_bytes"])
        given = random.choice(
            ["", *PARTS, *model.special_tokens_set, model.decode_bytes(model.encode_ordinary("héllo")[:1])]
        )
        given = given if isinstance(given, bytes) or random.random() < 0.5 else given.encode("utf-8", "replace")
        if method == "_encode_bytes":
            data = drawn_text(random).encode("utf-8", "replace")
            given = bytes(byte for byte in data if random.random() < 0.95)
    return f"{method}({given!r})", lambda encoding: getattr(encoding, method)(given), {"given": given, "method": method}


def whole(random: Random, model: Any) -> Call:
    """The properties of all tokens, and copies."""
    text = drawn_text(random)
    make = random.choice([lambda encoding: encoding, lambda encoding: pickle.loads(pickle.dumps(encoding)), copy.copy])

    def run(encoding: Any) -> Any:
        own = make(encoding)
        values = own.token_byte_values() if len(own._mergeable_ranks) < 2000 else []
        eot = outcome(lambda: own.eot_token).get("value")
        return [
            values,
            sorted(own.special_tokens_set),
            own.n_vocab,
            own.max_token_value,
            eot,
            own.encode_ordinary(text),
        ]

    return f"fields, and encode_ordinary({text!r})", run, {"text": text, "method": "encode_ordinary"}


def no_options(random: Random, model: Any) -> dict[str, Any]:
    """No options."""
    return {}


CALLS = (
    *[of_text("encode", sets)] * 5,
    *[of_text("encode_to_numpy", sets)] * 2,
    *[of_text("encode_with_unstable", sets)] * 2,
    *[of_text("encode_ordinary", no_options)] * 2,
    of_text("_encode_only_native_bpe", no_options),
    batches,
    *[decoding] * 4,
    *[single] * 2,
    whole,
)


def outcome(run: Callable[[], Any]) -> dict[str, Any]:
    """The value of a call, or its error."""
    try:
        return {"value": run()}
    except BaseException as error:  # every error of a library is compared; a panic is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return {"error": error}


def refused(found: dict[str, Any]) -> dict[str, Any]:
    """Whether an encoding was made."""
    return {"made": "value" in found}


def fields(run: Callable[[], Any]) -> dict[str, Any]:
    """Every field of a call's result; for an error, its built-in class and the token that it names."""
    found = outcome(run)
    if (error := found.get("error")) is not None:
        kind = next(each for each in type(error).__mro__ if each.__module__ in ("builtins", "pyo3_runtime"))
        named = (
            next((name for name in names_in_errors() if repr(name) in str(error)), None) if kind is ValueError else None
        )
        return {"raises": kind.__name__, "names": named}
    value = found["value"]
    if isinstance(value, np.ndarray):
        return {"ids": value.tolist(), "dtype": str(value.dtype), "writeable": value.flags.writeable}
    if isinstance(value, tuple):
        return {f"part {place}": each for place, each in enumerate(value)} | {"type": "tuple"}
    return {"value": value, "type": type(value).__name__}


def names_in_errors() -> list[str]:
    """The texts that an error can name, longer ones first."""
    return sorted({*(name for names in SPECIALS.values() for name in names), "a", "x"}, key=len, reverse=True)
