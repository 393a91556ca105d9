"""Valid but malicious model files: their effect on a text, on an id and on memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from ..attack import Attack, Call, require
from ..subjects import OURS, SENTENCEPIECE, TOKENIZERS, Subject, small_subject, write_file

BOTH = (OURS, TOKENIZERS)
MORE_ID = 999
PREPEND = {"type": "Prepend", "prepend": "▁"}
SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
DOUBLE = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}


def added_token(content: str, id: int = MORE_ID, **flags: Any) -> dict[str, Any]:
    """A row of `added_tokens`."""
    no = dict.fromkeys(("lstrip", "rstrip", "single_word", "normalized"), False)
    return {"id": id, "content": content, "special": True, **no, **flags}


def changed_json(folder: Path, **parts: Any) -> Path:
    """The small tokenizer.json with some parts replaced."""
    whole = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return write_file(folder / "made" / f"{crc32(json.dumps(parts).encode()):x}.json", whole | parts)


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    """A normalizer that is a sequence of steps."""
    return {"type": "Sequence", "normalizers": list(steps)}


def check_place(subject: Subject, text: str, due: set[int]) -> None:
    """Check that a library finds a special token at its place, in characters of the caller's text."""
    if subject.library == TOKENIZERS:
        encoding = subject.tok.encode(text, add_special_tokens=False)
        starts = {start for id, (start, _) in zip(encoding.ids, encoding.offsets, strict=True) if id == MORE_ID}
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
    """A special token that is matched in rewritten text, after letters whose length the rewriting changes.

    If each space becomes `▁`, the token includes the space before it, so its place is there or one later.
    """
    spaces = sequence(PREPEND, SPACES)
    cases = [({"type": "NFD"}, "éééé<s>", {4}), ({"type": "NFKC"}, "ﬃ ﷺ<s>", {3})]
    cases += [(spaces, "a b <s> long", {3, 4}), (spaces, "é é <s>é", {3, 4})]
    for normalizer, text, due in cases:
        path = changed_json(folder, normalizer=normalizer, added_tokens=[added_token("<s>", normalized=True)])
        yield lambda: check_place(Subject(library, path), text, due)  # noqa: B023 - called before the next


def doubling_steps(part: str, tokens: list[dict[str, Any]], library: str, folder: Path) -> Iterator[Call]:
    """60 steps that each double a letter, in a part of the file."""
    steps = [DOUBLE] * 60
    parts: dict[str, Any] = {"normalizer": sequence(*steps)}
    if part == "decoder":
        parts = {"decoder": {"type": "Sequence", "decoders": [LEVEL, *steps]}}
    path = changed_json(folder, added_tokens=tokens, **parts)

    def call() -> object:
        subject = Subject(library, path)
        return subject.decode(subject.encode("a"))

    yield call


def far_id(library: str, folder: Path) -> Iterator[Call]:
    """300 bytes with an id of 2^24 - 1."""
    model = {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": (1 << 24) - 1}, "unk_token": "[UNK]"}
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    whole: dict[str, Any] = {"version": "1.0", "added_tokens": [], **dict.fromkeys(names), "model": model}
    path = write_file(folder / "made" / "far.json", whole)
    yield lambda: Subject(library, path).encode("a")


def user_special_text(library: str, folder: Path) -> Iterator[Call]:
    """The text of a special token in a user's text, with a library's most common call."""
    subject = small_subject(library, folder)
    control = "</s>" if library == SENTENCEPIECE else "<|end|>"
    ids = {799} if library == SENTENCEPIECE else {999}
    for text in (control, f"a {control} b", f"x{control}{control}"):
        yield lambda: require(not ids & set(subject.usual(text)), "the text becomes the special token")  # noqa: B023


MODELS = (
    Attack("offset of a special token in text that NFD, NFKC or `▁` rewrites", BOTH, rewritten_specials),
    Attack(
        "tokenizer.json, 60 normalizers `a` → `aa`, the text `a`",
        BOTH,
        partial(doubling_steps, "normalizer", []),
        gigabytes=2,
    ),
    Attack(
        "the same with an added token `a`, which loading rewrites",
        BOTH,
        partial(doubling_steps, "normalizer", [added_token("a", normalized=True)]),
        gigabytes=2,
    ),
    Attack(
        "tokenizer.json, 60 decoders `a` → `aa`, the ids of `a`",
        BOTH,
        partial(doubling_steps, "decoder", []),
        gigabytes=2,
    ),
    Attack("300 bytes of tokenizer.json with an id of 16,777,215", BOTH, far_id, most_mb=300),
    Attack(
        "a special token spelled in a user's text", (OURS, "tiktoken", TOKENIZERS, SENTENCEPIECE), user_special_text
    ),
)
