"""Calls of a tokenizer's methods in any order, with arguments that are right, odd or wrong.

Each call on a tokenizer and on its slow twin gives the same result or the same error of ours. No call changes the ids of a
text.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

import toksmith
from toksmith import Tokenizer

from .codes import Codes
from .rules import twins

__all__ = ["run"]

TRAINING = "low lower lowest slow slower 12 é 中文 😀 it's <s> " * 20
PROBES = ("low lower é 中 😀 2026's", b"slow\xff\xe2\x98 <s>")
# Errors that a call may raise. The name of an error handler that Python does not know is its LookupError.
ALLOWED = (toksmith.ToksmithError, TypeError, UnicodeError, LookupError)
KINDS: tuple[dict[str, Any], ...] = (
    {"vocab_size": 300, "pattern": "cl100k", "special_tokens": ["<s>", "<|end|>", "é|"]},
    {"vocab_size": 300, "pattern": None, "special_tokens": ["<s>"]},
    {"vocab_size": 300, "pattern": "gpt2", "end_of_word_suffix": "</w>"},
    {"vocab_size": 320, "unit": "char", "pattern": None, "byte_fallback": True},
    {"vocab_size": 60, "kind": "unigram"},
    {"vocab_size": 60, "kind": "wordpiece"},
    {"vocab_size": 30, "kind": "words"},
    {"vocab_size": 40, "kind": "chars"},
)


@lru_cache(maxsize=len(KINDS))
def toks(kind: int) -> tuple[Tokenizer, Tokenizer, list[Any]]:
    """A trained tokenizer, its slow twin, and what the probes become."""
    tok, slow = twins(toksmith.train(TRAINING, progress=False, **KINDS[kind]).model)
    return tok, slow, probed(tok)


def probed(tok: Tokenizer) -> list[Any]:
    return [made(lambda probe=probe: tok.encode(probe, special="text")) for probe in PROBES]  # type: ignore[misc]


def ids(codes: Codes, size: int) -> Any:
    """Ids as a list, array or iterator: some unknown, some that are no ids."""
    some = [codes.below(256) + 256 * codes.below(2) for _ in range(codes.below(12))]
    some = [id % (size + 2) if codes.below(8) else id for id in some]
    kind = codes.below(9)
    if kind == 0:
        return np.array(some).astype(codes.one((np.uint32, np.int64, np.uint8, np.float64, np.int32)))
    if kind == 1:
        return tuple(some)
    if kind == 2:
        return [*some, codes.one((-1, 2**32, 2**64, "a", None, 1.0, True, b"a"))]
    return some


def special(codes: Codes) -> Any:
    return codes.one(("raise", "allow", "text", "text", "none", [], ["<s>"], {"<s>", "é|"}, ["unknown"], None, 5, [5]))


def number(codes: Codes) -> Any:
    return codes.one((1, 2, 3, 5, 0, -1, 2**70, None, "3", 2.0, True))


def texts(codes: Codes) -> list[Any]:
    found: list[Any] = [codes.text_or_bytes(8) for _ in range(codes.below(4))]
    return [*found, codes.one((None, 5, ["a"]))] if codes.below(12) == 11 else found


def errors(codes: Codes) -> Any:
    return codes.one(("replace", "replace", "strict", "ignore", "bogus", "", "a\0b", None))


def streamed(codes: Codes) -> Callable[[Tokenizer], Any]:
    """Texts that come piece by piece."""
    parts, allowed = texts(codes) + texts(codes), special(codes)

    def call(tok: Tokenizer) -> Any:
        encoder = tok.encoder(special=allowed)
        told = [made(lambda part=part: encoder.feed(part)) for part in parts]  # type: ignore[misc]
        return told, made(encoder.finish), encoder.finish()

    return call


def stream_decoded(codes: Codes) -> Callable[[Tokenizer], Any]:
    """Ids that come one by one."""
    size, handler = 300, errors(codes)
    parts = [ids(codes, size), codes.below(size), ids(codes, size)]

    def call(tok: Tokenizer) -> Any:
        decoder = tok.decoder(errors=handler)
        return [made(lambda part=part: decoder.feed(part)) for part in parts], made(decoder.finish)  # type: ignore[misc]

    return call


def calls(codes: Codes) -> Callable[[Tokenizer], Any]:
    """One call, its arguments drawn before it is made of either twin."""
    text: Any = codes.text_or_bytes(12)
    allowed, handler = special(codes), errors(codes)
    many, n, more = texts(codes), number(codes), number(codes)
    some = ids(codes, 320)
    unit, side = codes.one(("char", "byte", "word", None)), codes.one(("right", "left", "both", None))
    keep = codes.one((True, False))
    table: tuple[Callable[[Tokenizer], Any], ...] = (
        lambda tok: tok.encode(text, special=allowed, errors=handler, threads=n, add_special_tokens=keep),
        lambda tok: tok.encode_array(text, special=allowed, errors=handler, threads=n, add_special_tokens=keep),
        lambda tok: tok.encode_batch(many, special=allowed, errors=handler, threads=n, add_special_tokens=keep),
        lambda tok: tok.encode_ragged(iter(many), special=allowed, errors=handler, threads=n),
        lambda tok: tok.encode_with_offsets(text, unit=unit, special=allowed, errors=handler),
        lambda tok: tok.encode_ragged_with_offsets(many, unit=unit, special=allowed, errors=handler, threads=n),
        lambda tok: tok.encode_sampled(text, seed=n, dropout=0.5, alpha=0.2, special=allowed, errors=handler),
        lambda tok: tok.encode_best(text, n, errors=handler),
        lambda tok: tok.encode_segments([(part, keep) for part in many] + [(text, not keep)]),
        lambda tok: tok.count(text, special=allowed, errors=handler),
        lambda tok: tok.count_batch(many, special=allowed, errors=handler, threads=n),
        lambda tok: tok.truncate(text, n, side=side, special=allowed),
        lambda tok: tok.chunk(text, n, overlap=more, special=allowed),
        lambda tok: tok.heal(text, special=allowed),
        lambda tok: tok.decode(some, errors=handler),
        lambda tok: tok.decode_bytes(some),
        lambda tok: tok.decode_batch([some, [1]], threads=n, errors=handler),
        lambda tok: tok.is_canonical(some),
        lambda tok: tok.first_drift(some),
        lambda tok: tok.post_process(some, None),
        lambda tok: tok.token_bytes(n),
        lambda tok: tok.token_id(text),
        lambda tok: tok.release(),
        lambda tok: tok.memory().total > 0,
        lambda tok: (tok.fingerprint, tok.vocab_size, len(tok), tok.special_tokens, repr(tok)),
        lambda tok: tok.pattern_fits(),
        lambda tok: (
            copy.deepcopy(tok) == tok,
            pickle.loads(pickle.dumps(tok)) == tok,
            hash(tok) == hash(copy.copy(tok)),
        ),
    )
    chosen = codes.below(len(table) + 2)
    if chosen >= len(table):
        return (streamed, stream_decoded)[chosen - len(table)](codes)
    return table[chosen]


def made(call: Callable[[], Any]) -> Any:
    """The result of a call in plain values, or its allowed error."""
    try:
        return plain(call())
    except ALLOWED as error:
        if type(error) is toksmith.ToksmithError:  # an internal error
            raise
        return type(error), str(error)


def plain(value: Any) -> Any:
    """A value that can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Iterator):
        return plain(list(value))
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__ if name[0] != "_"}
    return value


def run(data: bytes) -> None:
    """Makes up to eight calls."""
    codes = Codes(data)
    tok, slow, probes = toks(codes.below(len(KINDS)))
    for _ in range(8):
        if not codes.more():
            break
        call = calls(codes)
        found, twin = made(lambda: call(tok)), made(lambda: call(slow))  # noqa: B023 - called at once
        assert found == twin, f"{found} but slowly {twin}"
    assert probed(tok) == probes, "a text has other ids after these calls"
