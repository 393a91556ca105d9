"""The kinds `llama` and `t5` of GGUF files: SentencePiece's pieces with scores and types, as in `sentencepiece.py`.

llama.cpp runs only a part of SentencePiece's features. `unlike_llama` lists the others; loading and saving refuse them.
llama.cpp cuts user-defined tokens out of the text before it normalizes the text.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

from .._base import lazy_numpy as np
from .._model.model import AddedToken, Model, Step, TokenTable, make_step
from ..errors import CannotRepresent
from .sentencepiece import (
    BYTE,
    NORMAL,
    UNKNOWN,
    UNKNOWN_SURFACE,
    UNUSED,
    USER_DEFINED,
    charsmap_problem,
    check_kind,
    piece_problem,
    piece_rows,
    single_step,
    strip_option,
)

KEYS = "tokenizer.ggml."


def read_characters(source: Any, unigram: bool, post: tuple[Step, ...], metadata: dict[str, str]) -> Model:
    """The model of a file of the kind `llama` or `t5`."""
    contents = source.tokens()
    types, scores = source.numbers("token_type", "iu", len(contents)), source.numbers("scores", "f", len(contents))
    for name, column in (("token_type", types), ("scores", scores)):
        if column is None:
            source.fail(name, "is missing")
    fallback = BYTE in types
    rows: list[tuple[bytes, int, float]] = []
    added: list[AddedToken] = []
    id_of: dict[str, int] = {}
    unknown: list[int] = []
    for id, (content, kind, score) in enumerate(zip(contents, types.tolist(), scores.tolist(), strict=True)):
        problem = piece_problem(content, kind, fallback) if content else "is empty"
        if kind == UNUSED:
            problem = "is marked unused; GGUF files with unused pieces are not supported"
        elif not np.isfinite(score):
            problem = f"has the score {score}, which is not finite"
        if not problem and id_of.setdefault(content, id) != id:
            problem = f"occurs twice; token {id_of[content]} is the same"
        if problem:
            source.fail(f"tokens[{id}]", f"{content[:40]!r} {problem}")
        if kind in (NORMAL, BYTE):
            rows.append((content.encode(), id, score))
        else:
            added.append(AddedToken(content, id, special=kind != USER_DEFINED))
            unknown += [id] if kind == UNKNOWN else []
    if len(unknown) != 1 or (fallback and int(np.count_nonzero(types == BYTE)) != 256):
        source.fail("token_type", "expected one unknown token, and tokens for all 256 bytes or for none")
    unknown_id = source.id("unknown_token_id", len(contents))
    if unigram and unknown[0] != (2 if unknown_id is None else unknown_id):
        source.fail("unknown_token_id", f"is {unknown_id}, but the unknown token has the id {unknown[0]}")
    normalizer, decoder = read_text_steps(source, unigram)
    model = Model(
        TokenTable.of([token for token, _, _ in rows]),
        np.array([id for _, id, _ in rows], np.uint32),
        kind="unigram" if unigram else "bpe",
        unit="char",
        merge_rule="pair" if unigram else "bytes",
        scores=np.array([score for _, _, score in rows], np.float32),
        unknown_id=unknown[0],
        byte_fallback=fallback,
        normalizers=(normalizer,),
        decoders=(decoder,),
        post=post,
        added_tokens=tuple(added),
        metadata=metadata,
    )
    for _, key, problem in unlike_llama(model):
        source.fail(key, problem)
    return model


def unlike_llama(model: Model) -> Iterator[tuple[str, str, str]]:
    """Each field for which llama.cpp would give other ids: its name, the file's key, and the reason."""
    normalizer = model.normalizers[0]
    user_defined = [token for token in model.added_tokens if not token.special]
    if model.kind == "unigram":
        if model.byte_fallback:
            yield "byte_fallback", "token_type", "llama.cpp gives unknown characters the unknown token, and no bytes"
        if user_defined:
            yield "added_tokens", "token_type", "with user-defined tokens llama.cpp does not normalize every text"
        if normalizer["remove_extra"] and normalizer["dummy"] == "nowhere":
            problem = "where llama.cpp removes extra spaces it always puts one before a text"
            yield "normalizers", "remove_extra_whitespaces", problem
        return
    if not model.byte_fallback:
        yield (
            "byte_fallback",
            "token_type",
            "llama.cpp ends at an unknown character, which only tokens for bytes prevent",
        )
    if normalizer["charsmap"]:
        yield "normalizers", "precompiled_charsmap", "llama.cpp does not rewrite characters for byte pairs"
    if normalizer["remove_extra"]:
        yield "normalizers", "remove_extra_whitespaces", "llama.cpp does not remove spaces for byte pairs"
    for token in user_defined:
        if token.normalized and (normalizer["dummy"] == "before" or not {" ", "▁"}.isdisjoint(token.content)):
            problem = f"llama.cpp cuts {token.content!r} out before it normalizes, and puts a space before what follows"
            yield "added_tokens", "token_type", problem


def read_text_steps(source: Any, unigram: bool) -> tuple[Step, Step]:
    charsmap = source.get("precompiled_charsmap", np.ndarray, None, "an array of bytes")
    data = b"" if charsmap is None else charsmap.astype(np.uint8).tobytes()
    if problem := charsmap_problem(data):
        source.fail("precompiled_charsmap", problem)
    dummy = "before" if source.flag("add_space_prefix", not unigram) else "nowhere"
    remove_extra = source.flag("remove_extra_whitespaces", False)
    options = {"charsmap": base64.b64encode(data).decode(), "dummy": dummy, "escape": True}
    strip = strip_option(remove_extra, dummy == "before")
    decoder = make_step("sentencepiece", strip=strip, unknown=UNKNOWN_SURFACE)
    return make_step("sentencepiece", **options, remove_extra=remove_extra), decoder


def character_entries(model: Model, allow_loss: Collection[str]) -> dict[str, Any]:
    """The file's values for a model with SentencePiece's steps."""
    check_kind(model, "gguf")
    normalizer, decoder = single_step(model, "normalizers", "gguf"), single_step(model, "decoders", "gguf")
    if normalizer["dummy"] == "after" or not normalizer["escape"]:
        raise CannotRepresent(
            "gguf", "normalizers", "the format writes spaces as ▁ and adds one space or none before a text"
        )
    strip = strip_option(normalizer["remove_extra"], normalizer["dummy"] == "before")
    if dict(decoder.options) != {"strip": strip, "unknown": UNKNOWN_SURFACE}:
        raise CannotRepresent("gguf", "decoders", f"the normalizer decides how the format decodes: {strip!r}")
    for field, _, problem in unlike_llama(model):
        if field not in allow_loss:
            advice = "" if field == "byte_fallback" else f"; allow_loss=[{field!r}] writes the file anyway"
            raise CannotRepresent("gguf", field, problem + advice)
    rows = piece_rows(dataclasses.replace(model, added_tokens=to_sentencepiece_tokens(model)), "gguf")
    return {
        f"{KEYS}model": "t5" if model.kind == "unigram" else "llama",
        f"{KEYS}tokens": [content for content, _, _ in rows],
        f"{KEYS}scores": [float(score) for _, _, score in rows],
        f"{KEYS}token_type": [int(kind) for _, kind, _ in rows],
        f"{KEYS}unknown_token_id": model.unknown_id,
        f"{KEYS}add_space_prefix": normalizer["dummy"] == "before",
        f"{KEYS}remove_extra_whitespaces": normalizer["remove_extra"],
        f"{KEYS}precompiled_charsmap": base64.b64decode(normalizer["charsmap"]),
    }


def to_sentencepiece_tokens(model: Model) -> tuple[AddedToken, ...]:
    """The added tokens; user-defined tokens that match before normalization become SentencePiece's (`normalized=True`)."""
    return tuple(
        dataclasses.replace(token, normalized=True)
        if token == AddedToken(token.content, token.id, special=False)
        else token
        for token in model.added_tokens
    )
