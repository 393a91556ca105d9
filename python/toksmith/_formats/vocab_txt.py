"""BERT's `vocab.txt`: the tokens of a WordPiece model, one on a line; the line's index, from 0, is the id.

`load` reads lines as HF tokenizers does (`WordPiece.from_file`): it drops white space at the end of a line, an empty line
takes an id, and the last of equal lines counts. So ids can have holes.

The file does not describe the normalization, so BERT's applies: lowercase, unless some token has a capital letter, which
no lowercase text could reach. BERT's tokens in square brackets are special.
"""

from __future__ import annotations

import io
import operator
from collections.abc import Collection, Mapping

from .._base import lazy_numpy as np
from .._model.model import AddedToken, Model, Step, TokenTable, make_step
from .._model.patterns import UNSET, PatternArgument
from ..errors import CannotRepresent, FormatError
from . import refuse_arguments
from .arguments import refuse_losses

NAME = "vocab_txt"
MOST_BYTES = 1 << 25
SUFFIXES = ("vocab.txt",)
DOC = "BERT's vocab.txt; WordPiece"

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"
LONGEST = 100
LINE_LIMIT = 1 << 22
# Unicode's white space; `str.rstrip` without arguments removes a different set.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def sniff(data: bytes, path: str) -> bool:
    """Whether one of the first lines is a special token of BERT."""
    lines = data[:4096].splitlines()
    return any(line.decode("utf-8", "replace") in SPECIAL for line in lines)


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    refuse_arguments("a vocab.txt", pattern, special_tokens)
    ids = parse_tokens(data, path)
    if not any(token in ids for token in SPECIAL):
        raise FormatError(
            path, None, f"is not a vocabulary of BERT, which has at least one of the lines {', '.join(SPECIAL)}"
        )
    has_capitals = any(char.isupper() for token in ids if not token.startswith("[") for char in token)
    return Model(
        TokenTable.of([token.encode() for token in ids]),
        np.array(list(ids.values()), np.uint32),
        kind="wordpiece",
        unit="char",
        unknown_id=ids.get(UNKNOWN),  # None makes an unknown word an error, as in HF
        continuing_subword_prefix=PREFIX,
        max_piece_chars=LONGEST,
        added_tokens=tuple(AddedToken(token, id) for token, id in ids.items() if token in SPECIAL),
        normalizers=(
            make_step(
                "bert", clean_text=True, handle_chinese_chars=True, lowercase=not has_capitals, strip_accents=None
            ),
        ),
        splitters=(Step("bert"),),
        decoders=(make_step("wordpiece", cleanup=True, prefix=PREFIX),),
    )


def parse_tokens(data: bytes, path: str) -> dict[str, int]:
    """The ids by token, in id order."""
    ids: dict[str, int] = {}
    for id, line in enumerate(io.BytesIO(data)):
        if id >= LINE_LIMIT:
            raise FormatError(path, id + 1, f"is beyond the limit of {LINE_LIMIT} lines")
        try:
            token = line.decode().rstrip(WHITE_SPACE)
        except UnicodeDecodeError as error:
            raise FormatError(path, id + 1, "is not UTF-8") from error
        ids[token] = id
    ids.pop("", None)
    return dict(sorted(ids.items(), key=operator.itemgetter(1)))


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The tokens, one on a line; raises CannotRepresent unless loading the lines returns the same model."""
    steps_held = ("normalizers", "splitters", "decoders", "added_tokens")
    holds = ("kind", "unknown_id", "continuing_subword_prefix", "max_piece_chars", *steps_held)
    refuse_losses(model, NAME, allow_loss, holds=holds)
    if model.kind != "wordpiece":
        raise CannotRepresent(NAME, "kind", "the format supports only WordPiece")
    if (lines := int(model.ids.max(initial=0)) + 1) > LINE_LIMIT:
        raise CannotRepresent(
            NAME, "ids", f"the format allows {LINE_LIMIT} lines, and the largest id would be line {lines}"
        )
    tokens = dict(zip(model.ids.tolist(), model.tokens, strict=True))
    data = b"".join(tokens.get(id, b"") + b"\n" for id in range(lines))
    try:
        copy = load(data, NAME, pattern=UNSET, special_tokens=None)
    except FormatError as error:
        raise CannotRepresent(NAME, "tokens", str(error)) from error
    if dict(zip(copy.ids.tolist(), copy.tokens, strict=True)) != tokens:
        raise CannotRepresent(NAME, "tokens", "a token must be a single line that does not end in white space")
    for field in ("unit", "unknown_id", "continuing_subword_prefix", "max_piece_chars", *steps_held):
        if field not in allow_loss and getattr(model, field) != getattr(copy, field):
            raise CannotRepresent(NAME, field, f"loading the file would give {getattr(copy, field)!r}, as BERT does")
    return data
