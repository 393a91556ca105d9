"""minbpe's `.model`: a pattern, special tokens and merges, whose results have the ids from 256 on; and its `.vocab`.

The `.vocab` is for people and is never read. minbpe compiles its pattern with Python's `regex`, so a pattern whose classes
have another meaning in the Rust dialect raises an error. `BasicTokenizer`, which does not split, writes an empty pattern.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence

from .._base import lazy_numpy as np
from .._base.wording import number_of
from .._model.model import ID_LIMIT, AddedToken, Model, TokenTable, regex_split
from .._model.patterns import PatternArgument
from ..errors import CannotRepresent, FormatError
from . import refuse_arguments
from .arguments import refuse_losses
from .recovered_merges import pair_merges
from .texts import MINBPE, FileContent, join_lines, split_lines

NAME = "minbpe"
SUFFIXES = (".model",)
FILES = MINBPE
READS = 1
DOC = "minbpe's .model, with a .vocab for people"

VERSION = "minbpe v1"
BYTES_LIMIT = 1 << 26
# In Python's `regex`, a bracket in a class is a literal, and classes have no operators; the Rust dialect nests and has them.
OTHER_CLASSES = re.compile(r"\[(?:[^\]\\]|\\.)*?(?:\[|&&|~~|--)")


def sniff(data: bytes, path: str) -> bool:
    """Whether the first line is minbpe's."""
    return data[: len(VERSION) + 2].splitlines()[:1] == [VERSION.encode()]


def load(
    data: Sequence[FileContent], path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None
) -> Model:
    refuse_arguments("a minbpe model", pattern, special_tokens)
    lines = split_lines(data[0])
    if lines[-1] == "":
        lines.pop()
    if lines[:1] != [VERSION]:
        raise FormatError(path, 1, f"expected {VERSION!r}")
    regex = (lines[1] if len(lines) > 1 else "").strip()
    if problem := find_other_meaning(regex):
        raise FormatError(path, 2, problem)
    count = parse_number(lines[2] if len(lines) > 2 else "", path, 3)
    if count > len(lines) - 3:
        raise FormatError(
            path,
            3,
            f"the file announces {number_of(count, 'special token')}, but has only {number_of(len(lines) - 3, 'line')} after it",
        )
    added = [parse_special(line, path, place) for place, line in enumerate(lines[3 : 3 + count], 4)]
    pairs = [parse_pair(line, path, place) for place, line in enumerate(lines[3 + count :], 4 + count)]
    first = dict(zip(reversed(pairs), range(3 + count + len(pairs), 3 + count, -1), strict=True))
    tokens = [bytes([byte]) for byte in range(256)]
    size = 0
    for place, (left, right) in enumerate(pairs, 4 + count):
        if max(left, right) >= len(tokens):
            raise FormatError(path, place, f"expected two ids below {len(tokens)}, the id of this merge")
        if first[left, right] != place:
            raise FormatError(path, place, f"the merge {left} {right} is a repetition of line {first[left, right]}")
        size += len(tokens[left]) + len(tokens[right])
        if size > BYTES_LIMIT:
            raise FormatError(path, place, f"the tokens together have more than {BYTES_LIMIT} bytes")
        tokens.append(tokens[left] + tokens[right])
    return Model(
        TokenTable.of(tokens),
        np.arange(len(tokens), dtype=np.uint32),
        merges=np.array([(left, right, id) for id, (left, right) in enumerate(pairs, 256)], np.uint32),
        splitters=(regex_split(regex),) if regex else (),
        added_tokens=tuple(added),
    )


def parse_number(text: str, path: str, line: int) -> int:
    """The number in a text of the file, of at most nine digits."""
    digits = text.strip()
    if not re.fullmatch("[0-9]{1,9}", digits, re.ASCII):
        raise FormatError(path, line, f"expected a number, not {text[:40]!r}")
    return int(digits)  # not `int(text)`: `int` strips fewer white space characters than `strip`


def parse_special(line: str, path: str, place: int) -> AddedToken:
    parts = line.strip().split()
    if len(parts) != 2:
        raise FormatError(path, place, f"expected a special token and its id, not {line[:40]!r}")
    id = parse_number(parts[1], path, place)
    if id >= ID_LIMIT:
        raise FormatError(path, place, f"the id {id} must be below {ID_LIMIT}")
    return AddedToken(parts[0], id)


def parse_pair(line: str, path: str, place: int) -> tuple[int, int]:
    parts = line.split()
    if len(parts) != 2:
        raise FormatError(path, place, f"expected two ids, not {line[:40]!r}")
    return parse_number(parts[0], path, place), parse_number(parts[1], path, place)


def find_other_meaning(regex: str) -> str:
    """The part of a pattern that Python's `regex` would read differently; "" if there is none."""
    match = OTHER_CLASSES.search(regex)
    return f"the class at character {match.start()} has another meaning in Python's regex" if match else ""


def save(model: Model, *, allow_loss: Collection[str] = ()) -> tuple[bytes, ...]:
    """The bytes of the `.model` and of the `.vocab` for people."""
    refuse_losses(model, NAME, allow_loss)
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "its tokens consist of bytes, not of characters")
    regex = pattern_line(model)
    merges = pair_merges(model, NAME).tolist()
    by_id = dict(zip(model.ids.tolist(), model.tokens, strict=True))
    if [by_id.get(id) for id in range(256)] != [bytes([byte]) for byte in range(256)]:
        raise CannotRepresent(NAME, "ids", "each byte must have its own value as its id")
    if [id for _, _, id in merges] != list(range(256, len(by_id))):
        raise CannotRepresent(NAME, "ids", "the results of merges must have consecutive ids from 256")
    for token in model.added_tokens:
        if not token.content.isprintable() or token.content.split() != [token.content]:
            raise CannotRepresent(NAME, "added_tokens", f"{token.content!r} must be one word without line breaks")
    lines = [VERSION, regex, str(len(model.added_tokens))]
    lines += [f"{token.content} {token.id}" for token in model.added_tokens]
    lines += [f"{left} {right}" for left, right, _ in merges]
    by_id |= {token.id: token.content.encode() for token in model.added_tokens}
    return join_lines(lines, NAME), vocab_text(merges, by_id).encode()


def pattern_line(model: Model) -> str:
    """The line with the pattern; empty for a model that does not split."""
    if not model.splitters:
        return ""
    regexes = [str(step["pattern"]) for step in model.splitters]
    if len(regexes) > 1:
        raise CannotRepresent(NAME, "splitters", "the format supports only one regex")
    if regexes[0].strip() != regexes[0] or len(regexes[0].splitlines()) != 1:
        raise CannotRepresent(NAME, "splitters", "the regex must be a single line without leading or trailing spaces")
    if problem := find_other_meaning(regexes[0]):
        raise CannotRepresent(NAME, "splitters", problem)
    return regexes[0]


def vocab_text(merges: Iterable[Sequence[int]], by_id: Mapping[int, bytes]) -> str:
    """The lines for people: `[left][right] -> [token] id`, or `[token] id` for a token that no merge makes."""
    parts = {id: (by_id[left], by_id[right]) for left, right, id in merges}
    rows = []
    for id, token in by_id.items():
        start = "".join(f"[{render_token(part)}]" for part in parts[id]) + " -> " if id in parts else ""
        rows.append(f"{start}[{render_token(token)}] {id}\n")
    return "".join(rows)


def render_token(t: bytes) -> str:
    """A token as readable text."""
    return replace_control_characters(t.decode("utf-8", errors="replace"))


def replace_control_characters(s: str) -> str:
    """The text with characters of Unicode's categories C escaped."""
    return "".join(char if unicodedata.category(char)[0] != "C" else f"\\u{ord(char):04x}" for char in s)
