"""Valid but malicious model files: their effect on a text, on an id and on memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from ..attack import Attack, Call, require
from ..subjects import OURS, SENTENCEPIECE, TOKENIZERS, Subject, small, written

BOTH = (OURS, TOKENIZERS)
MORE_ID = 999
PREPEND = {"type": "Prepend", "prepend": "▁"}
SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
DOUBLE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


def added(content: str, id: int = MORE_ID, **flags: Any) -> dict[str, Any]:
    """A row of `added_tokens`."""
    no = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    return {"id": id, "content": content, "special": True, **no, **flags}


def changed(folder: Path, **parts: Any) -> Path:
    """The small tokenizer.json with other parts."""
    whole = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return written(folder / "made" / f"{crc32(json.dumps(parts).encode()):x}.json", whole | parts)


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    """A normalizer of several."""
    return {"type": "Sequence", "normalizers": list(steps)}


def place(subject: Subject, text: str, due: set[int]) -> None:
    """Whether a library finds a special token where it is, in characters of the caller's text."""
    if subject.library == TOKENIZERS:
        found = subject.tok.encode(text, add_special_tokens=False)
        starts = {start for id, (start, _) in zip(found.ids, found.offsets, strict=True) if id == MORE_ID}
        require(len(starts) == 1 and starts <= due, f"offset {sorted(starts)}, not {min(due)}")
        return
    try:
        subject.tok.encode(text)
    except ValueError as error:
        offset = getattr(error, "offset", None)
        require(offset in due, f"offset {offset}, not {min(due)}")
        raise
    require(False, "the special token is not found")


def rewritten_specials(library: str, folder: Path) -> Iterator[Call]:
    """A special token that is searched in rewritten text, after letters whose length the rewriting changes.

    If each space becomes `▁`, the token includes the one before it, so its place is there or behind it.
    """
    spaces = sequence(PREPEND, SPACES)
    cases = [({"type": "NFD"}, "éééé<s>", {4}), ({"type": "NFKC"}, "ﬃ ﷺ<s>", {3})]
    cases += [(spaces, "a b <s> long", {3, 4}), (spaces, "é é <s>é", {3, 4})]
    for normalizer, text, due in cases:
        path = changed(folder, normalizer=normalizer, added_tokens=[added("<s>", normalized=True)])
        yield lambda: place(Subject(library, path), text, due)  # noqa: B023 - called before the next


def doubled(part: str, tokens: list[dict[str, Any]], library: str, folder: Path) -> Iterator[Call]:
    """60 steps that each double a letter, in a part of the file."""
    steps = [DOUBLE] * 60
    parts: dict[str, Any] = {"normalizer": sequence(*steps)}
    if part == "decoder":
        parts = {"decoder": {"type": "Sequence", "decoders": [LEVEL, *steps]}}
    path = changed(folder, added_tokens=tokens, **parts)

    def call() -> object:
        subject = Subject(library, path)
        return subject.decode(subject.encode("a"))

    yield call


def far_id(library: str, folder: Path) -> Iterator[Call]:
    """300 bytes with an id of 2^24 - 1."""
    model = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": (1 << 24) - 1}, "unk_token": "[UNK]"}
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    whole: dict[str, Any] = {"version": "1.0", "added_tokens": [], **dict.fromkeys(names), "model": model}
    path = written(folder / "made" / "far.json", whole)
    yield lambda: Subject(library, path).encode("a")


def slipped(library: str, folder: Path) -> Iterator[Call]:
    """The text of a special token, written by a user, with the options that everybody meets first."""
    subject = small(library, folder)
    control = "</s>" if library == SENTENCEPIECE else "<|end|>"
    ids = {799} if library == SENTENCEPIECE else {999}
    for text in (control, f"a {control} b", f"x{control}{control}"):
        yield lambda: require(not ids & set(subject.usual(text)), "the text becomes the special token")  # noqa: B023


MODELS = (
    Attack("offset of a special token in text that NFD, NFKC or `▁` rewrites", BOTH, rewritten_specials),
    Attack(
        "tokenizer.json, 60 normalizers `a` → `aa`, the text `a`", BOTH, partial(doubled, "normalizer", []), gigabytes=2
    ),
    Attack(
        "the same with an added token `a`, which loading rewrites",
        BOTH,
        partial(doubled, "normalizer", [added("a", normalized=True)]),
        gigabytes=2,
    ),
    Attack(
        "tokenizer.json, 60 decoders `a` → `aa`, the ids of `a`", BOTH, partial(doubled, "decoder", []), gigabytes=2
    ),
    Attack("300 bytes of tokenizer.json with an id of 16,777,215", BOTH, far_id, most_mb=300),
    Attack("a special token spelled in a user's text", (OURS, "tiktoken", TOKENIZERS, SENTENCEPIECE), slipped),
)
