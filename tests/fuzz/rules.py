"""The rules for every tokenizer and text: all ways to encode agree, ranges cover the text, streams give what calls give.

A tokenizer and its slow twin (`TOKSMITH_SLOW=1`), which has neither scanners nor a cache, give equal results, errors included.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import NotInVocabulary, PatternError, SpecialTokenInText

__all__ = ["check", "check_encodings", "outcome", "twins"]

MOST = 16  # ids of a chunk
JOINS = ("byte_characters", "byte_fallback", "fuse")
EXPECTED = (SpecialTokenInText, NotInVocabulary, PatternError)


def twins(model: Model) -> tuple[Tokenizer, Tokenizer]:
    """A tokenizer and its slow twin."""
    before = os.environ.pop("TOKSMITH_SLOW", None)
    try:
        fast = Tokenizer(model)
        os.environ["TOKSMITH_SLOW"] = "1"
        return fast, Tokenizer(model)
    finally:
        os.environ.pop("TOKSMITH_SLOW", None)
        if before is not None:
            os.environ["TOKSMITH_SLOW"] = before


def outcome(call: Callable[[], Any], expected: tuple[type[BaseException], ...] = EXPECTED) -> Any:
    """The result of a call, or its class and message if the error is expected."""
    try:
        return call()
    except expected as error:
        return type(error), str(error)


def check(tok: Tokenizer, slow: Tokenizer, text: str | bytes) -> None:
    """Holds both to the rules, whatever becomes of special tokens."""
    for special in ("text", "allow", "raise"):
        found = outcome(lambda special=special: tok.encode(text, special=special))  # type: ignore[misc]
        twin = outcome(lambda special=special: slow.encode(text, special=special))  # type: ignore[misc]
        assert found == twin, f"{special}: {found} but slowly {twin}"
        if isinstance(found, list):
            check_encodings(tok, text, special, found)
        else:
            check_error(tok, text, special)
    check_streams(tok, text)


def check_error(tok: Tokenizer, text: str | bytes, special: str) -> None:
    """An error says where in the caller's text: a special token in its unit, what has no token in bytes of UTF-8."""
    try:
        tok.encode(text, special=special)
    except (SpecialTokenInText, NotInVocabulary) as error:
        whole = len(text if isinstance(error, SpecialTokenInText) else utf8(text))
        if error.offset is not None:
            assert 0 <= error.offset <= whole, f"{error.offset} is no place of the text"
    except PatternError:
        pass


def check_encodings(tok: Tokenizer, text: str | bytes, special: str, ids: list[int]) -> None:
    """All ways to encode give these ids, and offsets say where they come from."""
    assert tok.encode_array(text, special=special).tolist() == ids
    assert tok.encode_batch([text, "", text], special=special, threads=2)[::2] == [ids, ids]
    assert tok.encode_ragged([text], special=special)[0].tolist() == ids
    assert tok.count(text, special=special) == len(ids)
    assert tok.count_batch([text], special=special).tolist() == [len(ids)]
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    for unit, whole in (("byte", len(utf8(text))), ("char", len(shown))):
        found = tok.encode_with_offsets(text, unit=unit, special=special)
        starts, ends = found.starts.tolist(), found.ends.tolist()
        assert found.ids.tolist() == ids, f"{found.ids.tolist()} with offsets, {ids} without"
        assert len(starts) == len(ends) == len(ids), "a range for each id"
        assert starts == sorted(starts) and ends == sorted(ends), f"{unit}: {found.spans}"
        assert all(0 <= start <= end <= whole for start, end in found.spans), f"{unit} of {whole}: {found.spans}"
        if ids and unit == "byte":
            assert [*starts, whole] == [0, *ends], f"the ranges do not partition {whole} bytes: {found.spans}"
    assert isinstance(tok.decode(ids), str)
    assert tok.decode_batch([ids, []], threads=2)[0] == tok.decode(ids)
    assert tok.decode_bytes(ids).decode("utf-8", "replace") == tok.decode(ids)
    if rewrites_joined(tok.model):
        return
    decoder = tok.decoder()
    told = "".join(decoder.feed(id) for id in ids) + decoder.finish()
    assert told == tok.decode(ids), f"{told!r} one by one, {tok.decode(ids)!r} at once"


def utf8(text: str | bytes) -> bytes:
    """The text in UTF-8, with half characters replaced."""
    if isinstance(text, bytes):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def rewrites_joined(model: Model) -> bool:
    """Whether a decoder rewrites what another made of several tokens: then a later token may change any earlier text."""
    kinds = [step.kind for step in model.decoders]
    joins = next((place for place, kind in enumerate(kinds) if kind in JOINS), len(kinds))
    return bool({"ctc", "replace", "strip", "wordpiece", "word_end"} & {*kinds[joins:]})


def check_streams(tok: Tokenizer, text: Any) -> None:
    """A text in parts gives the ids of the whole, and parts of a text are the text."""
    whole = outcome(lambda: tok.encode(text, special="text"))
    if not isinstance(whole, list):
        return
    encoder = tok.encoder()
    third = len(text) // 3
    parts = [text[:third], text[third : 2 * third], text[2 * third :]]
    streamed = [id for part in parts for id in encoder.feed(part)] + encoder.finish()
    assert streamed == whole, f"{streamed} in parts, {whole} as a whole"
    chunks = outcome(lambda: tok.chunk(text, MOST), (toksmith.errors.InvalidOption, *EXPECTED))
    if isinstance(chunks, list):
        assert all(len(chunk.ids) <= MOST for chunk in chunks)
        assert text[:0].join(chunk.text for chunk in chunks) == text
    short = outcome(lambda: tok.truncate(text, 3))
    assert not isinstance(short, (str, bytes)) or text.startswith(short)  # type: ignore[arg-type]
