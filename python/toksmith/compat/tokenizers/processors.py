"""`tokenizers.processors`: parts that put tokens around the ids of texts, or trim offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ._encoding import Encoding, Fixed, Late, Places, Run
from ._parts import Field, Part, PartSequence
from ._runtime import count_blanks
from .pre_tokenizers import BYTE_LEVEL

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
]


class PostProcessor(Part):
    """Any post-processor."""

    ROLE = "post-processor"

    def process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """The encoding of one or two texts, with tokens around them."""
        texts = [encoding.typed(0, 0)] + ([] if pair is None else [pair.typed(1, 1)])
        return Encoding.merge(self._process_parts(texts, add_special_tokens), growing_offsets=False)

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        raise NotImplementedError

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids around one text, or around two."""
        texts = [Encoding(), Encoding()] if is_pair else [Encoding()]
        return sum(map(len, self._process_parts(texts, True)))


def special_run(token: list[Any], type_id: int = 0) -> Run:
    """A run of one token around texts."""
    return Run(Fixed.put([token[1]], [token[0]]), 0, 1, type_id)


def frame_part(part: Encoding, place: int, before: list[Run], after: list[Run]) -> Encoding:
    """A part between tokens, overflow included; everything inside is assigned to its text."""
    inner, start = [count_as_text(run) for run in part._runs], len(Encoding(before))
    over = [frame_part(each, place, before, after) for each in part.overflowing]
    return Encoding([*before, *inner, *after], over, {min(place, 1): (start, start + len(part))})


def count_as_text(run: Run) -> Run:
    """A run without special-token marks, and with attention."""
    if not run.source.special and run.source.attention:
        return run
    return run.with_columns(run.columns()._replace(special=0, attention=1))


def write_token(value: Any) -> list[Any]:
    """A token with its id, in JSON form."""
    content, id = value
    if not isinstance(content, str) or not isinstance(id, int):
        raise TypeError(f"expected a token and its id, not {value!r}")
    return [content, id]


SEP, CLS = (Field(name, write=write_token, read=tuple) for name in ("sep", "cls"))


class BertProcessing(PostProcessor):
    """`[CLS] A [SEP] B [SEP]`."""

    FIELDS = (SEP, CLS)

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        if not put:
            return texts
        cls, sep = self.data["cls"], self.data["sep"]
        return [
            frame_part(each, place, [] if place else [special_run(cls)], [special_run(sep, min(place, 1))])
            for place, each in enumerate(texts)
        ]


class RobertaProcessing(PostProcessor):
    """`<s> A </s> </s> B </s>`, all of one type."""

    FIELDS = (
        SEP._replace(default=("</s>", 2)),
        CLS._replace(default=("<s>", 0)),
        Field("trim_offsets", True),
        Field("add_prefix_space", True),
    )

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        if self.data["trim_offsets"]:
            texts = [trim_offsets(each, self.data["add_prefix_space"]) for each in texts]
        texts = [each.with_type(0) for each in texts]
        if not put:
            return texts
        cls, sep = special_run(self.data["cls"]), special_run(self.data["sep"])
        for each in texts:
            each._overflowing = [over.with_type(0) for over in each.overflowing]
        return [frame_part(each, place, [sep if place else cls], [sep]) for place, each in enumerate(texts)]


class ByteLevel(PostProcessor):
    """Offsets without the white space of a token."""

    FIELDS = BYTE_LEVEL

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        if not self.data["trim_offsets"]:
            return texts
        return [trim_offsets(each, self.data["add_prefix_space"]) for each in texts]


class TemplateProcessing(PostProcessor):
    """Texts and tokens in any order: `"[CLS] $A [SEP] $B:1 [SEP]:1"`."""

    def __init__(
        self,
        single: str | Iterable[str] | None = None,
        pair: str | Iterable[str] | None = None,
        special_tokens: Iterable[Any] | None = None,
    ) -> None:
        table = dict(map(parse_special_token, special_tokens or ()))
        parts = {
            "single": parse_template(["$A"] if single is None else single),
            "pair": parse_template(["$A:0", "$B:1"] if pair is None else pair),
        }
        names = [piece["SpecialToken"]["id"] for each in parts.values() for piece in each if "SpecialToken" in piece]
        if missing := sorted(set(names) - table.keys()):
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")
        object.__setattr__(self, "data", {"type": self.TYPE, **parts, "special_tokens": dict(sorted(table.items()))})

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        if len(texts) not in (1, 2):
            raise ValueError(f"{self.TYPE} takes one part or two; the processors before it return {len(texts)}")
        encodings = []
        for piece in self.data["single" if len(texts) == 1 else "pair"]:
            ((kind, each),) = piece.items()
            if kind == "Sequence":
                place = "AB".index(each["id"])
                if place == len(texts):
                    raise ValueError(f"{self.TYPE}: the template `single` names B, and there is no second text")
                encodings.append(texts[place].typed(each["type_id"], place))
            elif put:
                token = self.data["special_tokens"][each["id"]]
                run = Run(Fixed.put(token["ids"], token["tokens"]), 0, len(token["ids"]), each["type_id"])
                encodings.append(Encoding([run]))
        return encodings

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids in the template."""
        names = [
            piece["SpecialToken"]["id"]
            for piece in self.data["pair" if is_pair else "single"]
            if "SpecialToken" in piece
        ]
        return sum(len(self.data["special_tokens"][name]["ids"]) for name in names)


class Sequence(PartSequence, PostProcessor):
    """Post-processors in sequence."""

    KEY = "processors"

    def _process_parts(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        for each in self:
            texts = each._process_parts(texts, put)
        return texts

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The sum over all members, each counted alone."""
        return sum(each.num_special_tokens_to_add(is_pair) for each in self)


def parse_special_token(token: Any) -> tuple[str, dict[str, Any]]:
    """A token of a template: its content and id in either order, or its name, ids and tokens."""
    if isinstance(token, Mapping):
        return token["id"], {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
    content, id = token if isinstance(token[0], str) else reversed(token)
    if not isinstance(content, str) or not isinstance(id, int):
        raise TypeError(f"special_tokens: expected a token and its id, not {token!r}")
    return content, {"id": content, "ids": [id], "tokens": [content]}


PIECE = re.compile(r"\$(?P<text>[AaBb]?)(?P<type>[0-9]*)(?::(?P<other>[0-9]+))?")


def parse_template(template: str | Iterable[str]) -> list[dict[str, Any]]:
    """The pieces of a template in JSON."""
    return [piece(each) for each in (template.split() if isinstance(template, str) else template)]


def piece(written: str) -> dict[str, Any]:
    """One piece: `$A`, `$B:1`, or a token with its type."""
    if written.startswith("$"):
        found = PIECE.fullmatch(written)
        if found is None or (found["text"] and found["type"]):
            raise ValueError(f"Cannot build Piece from string `{written}`")
        type_id = int(found["other"] or found["type"] or 0)
        return {"Sequence": {"id": (found["text"] or "A").upper(), "type_id": type_id}}
    name, colon, number = written.rpartition(":")
    if not colon or not name:
        return {"SpecialToken": {"id": written, "type_id": 0}}
    if not number.isdecimal():
        raise ValueError(f"Cannot build Piece from string `{written}`")
    return {"SpecialToken": {"id": name, "type_id": int(number)}}


def trim_offsets(encoding: Encoding, prefix: bool) -> Encoding:
    """An encoding, and its overflow, with offsets that leave out white space at the ends of byte-level tokens."""
    runs = []
    for number, run in enumerate(encoding._runs):
        part, options = slice(run.start, run.stop), (run, number == 0, prefix)
        source = Late(
            run.source.ids[part],
            partial(trim_run, *options),
            special=run.source.special,
            attention=run.source.attention,
            place=partial(trim_places, *options),
            write=run.tokens,
        )
        runs.append(run.with_columns(source))
    return Encoding(runs, [trim_offsets(each, prefix) for each in encoding.overflowing], encoding._ranges)


def trim_places(run: Run, is_first: bool, prefix: bool) -> Places | None:
    """The offsets of `trim_run`; None if they need the texts of the tokens."""
    places, part = run.source.places if isinstance(run.source, Late) else None, slice(run.start, run.stop)
    blanks = None if places is None else places.blanks(part)
    if places is None or blanks is None:
        return None
    (starts, ends), (leading, trailing) = (places.starts[part], places.ends[part]), blanks
    if prefix:
        is_at_start = starts == 0
        is_at_start[:1] |= is_first
        leading = np.where((leading == 1) & is_at_start, 0, leading)  # an added space stays
    starts = np.minimum(starts + leading, ends)
    ends = np.where((trailing > 0) & (ends >= trailing), np.maximum(ends - trailing, starts), ends)
    return Places(starts, ends, lambda _: None)


def trim_run(run: Run, is_first: bool, prefix: bool) -> Fixed:
    """The columns of a run with such offsets."""
    columns = run.columns()
    offsets = []
    for place, (token, (start, end)) in enumerate(zip(columns.tokens, columns.offsets, strict=True)):
        leading, trailing = count_blanks(token)
        if leading == 1 and prefix and ((is_first and place == 0) or start == 0):
            leading = 0  # an added space stays
        start = min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        offsets.append((start, end))
    return columns._replace(offsets=offsets)
