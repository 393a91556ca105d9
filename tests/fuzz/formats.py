"""Bytes as the files of each format: a wrong file is a FormatError, and a right one must keep the rules.

The first byte names the format, or requests its detection; the second selects the other arguments of `load`. Files of a
format of several are split at zeros.
"""

from __future__ import annotations

import hashlib

import toksmith
from toksmith import Model
from toksmith._formats import FORMATS, Format, detect_format
from toksmith._formats.texts import FileContent
from toksmith._model.patterns import UNSET
from toksmith.errors import CannotRepresent, FormatError, InvalidOption, ModelError

from .codes import Codes
from .rules import check, outcome, twins

__all__ = ["run"]

NAMES = tuple(FORMATS)
PATTERNS = (UNSET, None, "cl100k", r"\w+|\s+", "(", ["[0-9]", "gpt2"])
SPECIALS = (None, {}, {"<|end|>": 300}, {"<|end|>": -1}, {"": 5}, {"<s>": 2**32})
TEXTS = ("low lower é中😀<|end|><s> 12\n", b"a\xff\xe2\x98 low", "", "\ud83d ▁x")
LOADING = (FormatError, InvalidOption, ModelError, toksmith.errors.UnknownName)
SAVING = (CannotRepresent, FormatError, ModelError)


def run(data: bytes) -> None:
    """Loads; if that works encodes, and saves in every format."""
    codes = Codes(data)
    place, told = codes.below(len(NAMES) + 1), codes.below(36)
    content = codes.rest()
    row = (
        FORMATS[NAMES[place]] if place < len(NAMES) else outcome(lambda: detect_format(content, "drawn.json"), LOADING)
    )
    if not isinstance(row, Format):
        return
    pattern, special_tokens = (PATTERNS[told % 6], SPECIALS[told // 6]) if row.arguments else (UNSET, None)
    if row.name == "native":
        content = sealed(content)
    model = outcome(
        lambda: row.load(parts(row, content), "drawn", pattern=pattern, special_tokens=special_tokens), LOADING
    )
    if isinstance(model, Model):
        check_model(model)


def check_model(model: Model, allowed: tuple[type[Exception], ...] = ()) -> None:
    """Saves a model in every format, and encodes with it and its slow twin; encoding may raise the allowed errors."""
    check_saved(model)
    made = outcome(lambda: twins(model), LOADING)
    if isinstance(made[0], toksmith.Tokenizer):
        for text in TEXTS:
            outcome(lambda text=text: check(made[0], made[1], text), allowed)  # type: ignore[misc]


def parts(row: Format, content: bytes) -> bytes | list[FileContent]:
    """The files of a format, of which there may be several."""
    if not row.files:
        return content
    files = content.split(b"\0\0", row.reads - 1) if row.reads > 1 else [content]
    files += [b""] * (row.reads - len(files))
    return [FileContent(f"drawn{place}", file) for place, file in enumerate(files)]


def sealed(content: bytes) -> bytes:
    """A native file with a correct checksum, so that the reader must find every other fault."""
    body, mark, _ = content.rpartition(b"sha256 ")
    return body + mark + hashlib.sha256(body).hexdigest().encode() + b"\n" if mark else content


def check_saved(model: Model) -> None:
    """A model that a format can hold is saved, loaded and saved again with equal bytes, and loads as an equal model.

    The first model can differ from the loaded one: a format may use other fields (merges for ranks).
    """
    for row in FORMATS.values():
        saved = outcome(lambda row=row: row.save(model, allow_loss=frozenset()), SAVING)  # type: ignore[misc]
        if isinstance(saved, tuple) and saved and isinstance(saved[0], type):
            continue
        if row.arguments or row.name == "transformers":  # arguments, or settings, which a loaded model does not have
            continue
        again = loaded(row, saved)
        assert row.save(again, allow_loss=frozenset()) == saved, (
            f"{row.name}: what was loaded is written in another way"
        )
        assert loaded(row, saved) == again
        assert row.name != "native" or again == model, "the native format holds everything"


def loaded(row: Format, saved: bytes | tuple[bytes, ...]) -> Model:
    """The model of a saved file."""
    data = (
        saved if isinstance(saved, bytes) else [FileContent(f"saved{place}", file) for place, file in enumerate(saved)]
    )
    return row.load(data if isinstance(data, bytes) else data[: row.reads], "saved", pattern=UNSET, special_tokens=None)
