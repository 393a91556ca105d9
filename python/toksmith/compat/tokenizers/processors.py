"""`tokenizers.processors`: what is put around the ids of texts, and how offsets are trimmed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

from ._encoding import Encoding, Fixed, Run
from ._parts import Field, Part, PartSequence, field

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
    ROWS: ClassVar[dict[str, type[Part]]] = {}

    def process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """The encoding of a text, or of two, with what is put around."""
        texts = [encoding.typed(0, 0)] + ([] if pair is None else [pair.typed(1, 1)])
        return Encoding.merge(self.processed(texts, add_special_tokens), growing_offsets=False)

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        raise NotImplementedError

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids that are put around a text, or around two."""
        texts = [Encoding(), Encoding()] if is_pair else [Encoding()]
        return sum(map(len, self.processed(texts, True)))


def around(token: list[Any], type_id: int = 0) -> Run:
    """One token that is put there."""
    return Run(Fixed.put([token[1]], [token[0]]), 0, 1, type_id)


def frame_part(part: Encoding, place: int, before: list[Run], after: list[Run]) -> Encoding:
    """A part between tokens, and so what overflows of it: all that is inside counts as its text."""
    inner, start = [count_as_text(run) for run in part._runs], len(Encoding(before))
    over = [frame_part(each, place, before, after) for each in part.overflowing]
    return Encoding([*before, *inner, *after], over, {min(place, 1): (start, start + len(part))})


def count_as_text(run: Run) -> Run:
    """A run that counts as text, with attention."""
    if not run.source.special and run.source.attention:
        return run
    (plain,) = Encoding([run]).plain()
    return plain._replace(source=cast("Fixed", plain.source)._replace(special=0, attention=1))


def token_field(name: str, default: Any = None) -> Field:
    """The field of a token with its id."""

    def write(value: Any) -> list[Any]:
        content, id = value
        if not isinstance(content, str) or not isinstance(id, int):
            raise TypeError(f"{name}: expected a token and its id, not {value!r}")
        return [content, id]

    return field(name, *([] if default is None else [default]))._replace(write=write, read=tuple)


class BertProcessing(PostProcessor):
    """`[CLS] A [SEP] B [SEP]`."""

    TYPE = "BertProcessing"
    FIELDS = (token_field("sep"), token_field("cls"))

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        if not put:
            return texts
        cls, sep = self.data["cls"], self.data["sep"]
        return [
            frame_part(each, place, [] if place else [around(cls)], [around(sep, min(place, 1))])
            for place, each in enumerate(texts)
        ]


class RobertaProcessing(PostProcessor):
    """`<s> A </s> </s> B </s>`, all of one type."""

    TYPE = "RobertaProcessing"
    FIELDS = (
        token_field("sep", ("</s>", 2)),
        token_field("cls", ("<s>", 0)),
        field("trim_offsets", True),
        field("add_prefix_space", True),
    )

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        if self.data["trim_offsets"]:
            texts = [trimmed(each, self.data["add_prefix_space"]) for each in texts]
        texts = [of_type(each, 0) for each in texts]
        if not put:
            return texts
        cls, sep = around(self.data["cls"]), around(self.data["sep"])
        for each in texts:
            each._overflowing = [of_type(over, 0) for over in each.overflowing]
        return [frame_part(each, place, [sep if place else cls], [sep]) for place, each in enumerate(texts)]


class ByteLevel(PostProcessor):
    """Offsets without the white space of a token."""

    TYPE = "ByteLevel"
    FIELDS = (field("add_prefix_space", True), field("trim_offsets", True), field("use_regex", True))

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        if not self.data["trim_offsets"]:
            return texts
        return [trimmed(each, self.data["add_prefix_space"]) for each in texts]


class TemplateProcessing(PostProcessor):
    """Texts and tokens in any order: `"[CLS] $A [SEP] $B:1 [SEP]:1"`."""

    TYPE = "TemplateProcessing"

    def __init__(
        self,
        single: str | Iterable[str] | None = None,
        pair: str | Iterable[str] | None = None,
        special_tokens: Iterable[Any] | None = None,
    ) -> None:
        known = dict(map(special_token, special_tokens or ()))
        parts = {
            "single": template(["$A"] if single is None else single),
            "pair": template(["$A:0", "$B:1"] if pair is None else pair),
        }
        used = [piece["SpecialToken"]["id"] for each in parts.values() for piece in each if "SpecialToken" in piece]
        if missing := sorted(set(used) - known.keys()):
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")
        object.__setattr__(self, "data", {"type": self.TYPE, **parts, "special_tokens": dict(sorted(known.items()))})

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        if len(texts) not in (1, 2):
            raise ValueError(f"{self.TYPE} takes one part or two; the processors before it return {len(texts)}")
        found = []
        for piece in self.data["single" if len(texts) == 1 else "pair"]:
            ((kind, each),) = piece.items()
            if kind == "Sequence":
                place = "AB".index(each["id"])
                if place == len(texts):
                    raise ValueError(f"{self.TYPE}: the template `single` names B, and there is no second text")
                found.append(texts[place].typed(each["type_id"], place))
            elif put:
                token = self.data["special_tokens"][each["id"]]
                run = Run(Fixed.put(token["ids"], token["tokens"]), 0, len(token["ids"]), each["type_id"])
                found.append(Encoding([run]))
        return found

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids that the template names."""
        names = [
            piece["SpecialToken"]["id"]
            for piece in self.data["pair" if is_pair else "single"]
            if "SpecialToken" in piece
        ]
        return sum(len(self.data["special_tokens"][name]["ids"]) for name in names)


class Sequence(PartSequence, PostProcessor):
    """Post-processors one after another."""

    TYPE = "Sequence"
    KEY = "processors"

    def processed(self, texts: list[Encoding], put: bool) -> list[Encoding]:
        """The parts of the whole encoding."""
        for each in self:
            texts = each.processed(texts, put)
        return texts

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The numbers of all members, each counted by itself."""
        return sum(each.num_special_tokens_to_add(is_pair) for each in self)


def special_token(token: Any) -> tuple[str, dict[str, Any]]:
    """A token of a template: its content and id in either order, or its name, ids and tokens."""
    if isinstance(token, Mapping):
        return token["id"], {"id": token["id"], "ids": list(token["ids"]), "tokens": list(token["tokens"])}
    content, id = token if isinstance(token[0], str) else reversed(token)
    if not isinstance(content, str) or not isinstance(id, int):
        raise TypeError(f"special_tokens: expected a token and its id, not {token!r}")
    return content, {"id": content, "ids": [id], "tokens": [content]}


PIECE = re.compile(r"\$(?P<text>[AaBb]?)(?P<type>[0-9]*)(?::(?P<other>[0-9]+))?")


def template(given: str | Iterable[str]) -> list[dict[str, Any]]:
    """The pieces of a template in JSON."""
    return [piece(each) for each in (given.split() if isinstance(given, str) else given)]


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


BLANK = "Ġ"
WHITE = "".join(
    chr(point) for point in range(0x3001) if chr(point).isspace() and not 0x1C <= point <= 0x1F
)  # Unicode's


class Trimmed:
    """A run as a source, whose offsets leave out the white space at the ends of tokens, as byte-level tokens write it."""

    def __init__(self, run: Run, is_first: bool, prefix: bool) -> None:
        self.run, self.is_first, self.prefix = run, is_first, prefix
        self.special, self.attention = run.source.special, run.source.attention
        self.ids = run.source.ids[run.start : run.stop]

    @functools.cached_property
    def tokens(self) -> Any:
        """Those of the run."""
        return self.run.source.tokens[self.run.start : self.run.stop]

    @functools.cached_property
    def words(self) -> Any:
        """Those of the run."""
        return self.run.source.words[self.run.start : self.run.stop]

    @functools.cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """Those of the run without white space."""
        rows = zip(self.tokens, self.run.source.offsets[self.run.start : self.run.stop], strict=True)
        return [self.tight(place, token, *offsets) for place, (token, offsets) in enumerate(rows)]

    def tight(self, place: int, token: str, start: int, end: int) -> tuple[int, int]:
        """The offsets of one token."""
        blanks = token.replace(BLANK, " ")
        leading, trailing = len(token) - len(blanks.lstrip(WHITE)), len(token) - len(blanks.rstrip(WHITE))
        if leading:
            if leading == 1 and self.prefix and ((self.is_first and place == 0) or start == 0):
                leading = 0  # what was added stays
            start = min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        return start, end


def of_type(encoding: Encoding, type_id: int) -> Encoding:
    """An encoding of one type; what overflows keeps its types."""
    runs = [run._replace(type_id=type_id) for run in encoding._runs]
    return Encoding(runs, encoding.overflowing, encoding._ranges)


def trimmed(encoding: Encoding, prefix: bool) -> Encoding:
    """An encoding with such offsets, and those that overflow."""
    runs = []
    for place, run in enumerate(encoding._runs):
        runs.append(run._replace(source=Trimmed(run, place == 0, prefix), start=0, stop=run.stop - run.start))
    return Encoding(runs, [trimmed(each, prefix) for each in encoding.overflowing], encoding._ranges)
