"""The kinds `llama` and `t5` of GGUF files: SentencePiece's pieces with scores and types, as in `_sentencepiece.py`."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from .._errors import CannotRepresent
from .._model import AddedToken, Model, Step, TokenTable
from ._sentencepiece import BYTE, NORMAL, UNKNOWN, UNKNOWN_SURFACE, UNUSED, USER_DEFINED, problem_of
from ._sentencepiece_save import check_kind, only, pieces

__all__ = ["character_entries", "characters"]

KEYS = "tokenizer.ggml."


def characters(source: Any, unigram: bool, post: tuple[Step, ...], metadata: dict[str, str]) -> Model:
    """The model of such a file."""
    contents = source.tokens()
    types, scores = source.numbers("token_type", "iu", len(contents)), source.numbers("scores", "f", len(contents))
    for name, found in (("token_type", types), ("scores", scores)):
        if found is None:
            source.fail(name, "is missing")
    fallback = BYTE in types
    rows: list[tuple[bytes, int, float]] = []
    added: list[AddedToken] = []
    seen: dict[str, int] = {}
    unknown: list[int] = []
    for id, (content, kind, score) in enumerate(zip(contents, types.tolist(), scores.tolist(), strict=True)):
        problem = problem_of(content, kind, fallback) if content else "is empty"
        if kind == UNUSED:
            problem = "is marked unused; GGUF files with unused pieces are not supported"
        elif not np.isfinite(score):
            problem = f"has the score {score}, which is not finite"
        if not problem and seen.setdefault(content, id) != id:
            problem = f"occurs twice; token {seen[content]} is the same"
        if problem:
            source.fail(f"tokens[{id}]", f"{content[:40]!r} {problem}")
        if kind in (NORMAL, BYTE):
            rows.append((content.encode(), id, score))
        else:
            is_special = kind != USER_DEFINED
            added.append(AddedToken(content, id, special=is_special, normalized=not is_special))
            unknown += [id] if kind == UNKNOWN else []
    if len(unknown) != 1 or (fallback and int(np.count_nonzero(types == BYTE)) != 256):
        source.fail("token_type", "expected one unknown token, and tokens for all 256 bytes or for none")
    normalizer, decoder = steps(source)
    return Model(
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


def steps(source: Any) -> tuple[Step, Step]:
    """What is done to a text first, and how tokens show as text."""
    charsmap = source.get("precompiled_charsmap", np.ndarray, None, "an array of bytes")
    data = b"" if charsmap is None else charsmap.astype(np.uint8).tobytes()
    size = int.from_bytes(data[:4], "little")
    if data and (len(data) < 4 + size or size % 4 or size == 0):
        source.fail("precompiled_charsmap", f"is broken: it claims a trie of {size} bytes but has only {len(data)}")
    dummy = "before" if source.flag("add_space_prefix", True) else "nowhere"
    remove_extra = source.flag("remove_extra_whitespaces", False)
    options = {
        "charsmap": base64.b64encode(data).decode(),
        "dummy": dummy,
        "escape": True,
        "remove_extra": remove_extra,
    }
    strip = "each" if remove_extra else "once" if dummy == "before" else "nothing"
    shown = (("strip", strip), ("unknown", UNKNOWN_SURFACE))
    return Step("sentencepiece", tuple(sorted(options.items()))), Step("sentencepiece", shown)


def character_entries(model: Model) -> dict[str, Any]:
    """The values of such a model."""
    check_kind(model, "gguf")
    normalizer, decoder = only(model, "normalizers", "gguf"), only(model, "decoders", "gguf")
    if normalizer["dummy"] == "after" or not normalizer["escape"]:
        raise CannotRepresent(
            "gguf", "normalizers", "the format writes spaces as ▁ and adds one space or none before a text"
        )
    strip = "each" if normalizer["remove_extra"] else "once" if normalizer["dummy"] == "before" else "nothing"
    if dict(decoder.options) != {"strip": strip, "unknown": UNKNOWN_SURFACE}:
        raise CannotRepresent("gguf", "decoders", f"the normalizer decides how the format decodes: {strip!r}")
    rows = pieces(model, "gguf")
    if model.byte_fallback and sum(kind == BYTE for _, kind, _ in rows) != 256:
        raise CannotRepresent("gguf", "byte_fallback", "each of the 256 bytes needs a token")
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
