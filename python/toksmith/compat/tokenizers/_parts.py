"""A part of a pipeline (normalizer, pre-tokenizer, decoder, post-processor, model), held as its JSON object.

A class is a row of fields: name in Python, name in `tokenizer.json`, default, and the form of the value there. The
engine runs the parts, so a part that the engine does not support can be held and saved, but not run.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, ClassVar, NamedTuple

from ...errors import ToksmithError

REQUIRED: Any = Parameter.empty


class NotHere(ToksmithError, NotImplementedError, AttributeError):
    """A part of a library's interface that a drop-in lacks.

    It is an AttributeError too, so that `hasattr` is False.
    """

    def __init__(self, name: str, instead: str, library: str = "tokenizers") -> None:
        super().__init__(name, instead)
        self.name, self.instead, self.library = name, instead, library

    def __str__(self) -> str:
        return f"toksmith.compat.{self.library} does not have {self.name}; {self.instead}"


def identity(value: Any) -> Any:
    return value


class Field(NamedTuple):
    """One field of a part: its names in Python and in JSON, its default, and the conversions of its value."""

    name: str
    default: Any = REQUIRED
    key: str = ""  # its name in JSON, if different
    write: Callable[[Any], Any] = identity
    read: Callable[[Any], Any] = identity
    hidden: bool = False
    saved: bool = True  # whether files hold it

    @property
    def json_name(self) -> str:
        return self.key or self.name


def check_character(value: Any) -> Any:
    if not isinstance(value, str):
        raise TypeError(f"expected a string of length 1, not {type(value).__name__}")
    if len(value) != 1:
        raise ValueError(f"expected a string of length 1, found {value!r}")
    return value


class Regex:
    """An Oniguruma regex, for `Split` and `Replace`."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r})"


def pattern_to_json(pattern: Any) -> dict[str, str]:
    """A pattern as JSON: a text, or a regex of this drop-in or of the library."""
    if isinstance(pattern, str):
        return {"String": pattern}
    if isinstance(regex := getattr(pattern, "pattern", None), str):
        return {"Regex": regex}
    if type(pattern).__name__ == "Regex":
        raise NotHere("patterns that are the Regex of another library", "pass toksmith.compat.tokenizers.Regex")
    raise TypeError(f"pattern: expected a str or a Regex, not {type(pattern).__name__}")


PATTERN = Field("pattern", write=pattern_to_json, hidden=True)


class Part:
    """One part. Its attributes are the fields of its class."""

    ROLE: ClassVar[str] = "part"
    ROWS: ClassVar[dict[str, type[Part]]]  # the classes of a role, by type
    BASE: ClassVar[type[Part]]  # the class of the role
    TYPE: ClassVar[str] = ""
    FIELDS: ClassVar[tuple[Field, ...]] = ()  # in JSON order
    changes: ClassVar[int] = 0  # counts changes of all parts, so that a tokenizer knows when to check its engine
    __signature__: ClassVar[Signature]
    data: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "ROLE" in cls.__dict__:
            cls.ROWS, cls.BASE = {}, cls
        elif hasattr(cls, "ROWS") and not cls.TYPE:
            cls.TYPE = cls.__name__
            cls.ROWS[cls.TYPE] = cls
            if cls.FIELDS or cls.__init__ is Part.__init__:
                # A vocabulary is last in JSON and first in calls.
                fields = sorted(cls.FIELDS, key=lambda each: each.name not in ("vocab", "merges"))
                cls.__signature__ = Signature(
                    [Parameter(each.name, Parameter.POSITIONAL_OR_KEYWORD, default=each.default) for each in fields]
                )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.TYPE:
            raise TypeError(f"No constructor defined for {type(self).__name__}; make one of its kinds")
        if kwargs.get("type") == self.TYPE:
            del kwargs["type"]
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        object.__setattr__(self, "data", {"type": self.TYPE})
        for each in self.FIELDS:
            self._put(each, bound.arguments[each.name])

    def _put(self, field: Field, value: Any) -> None:
        fields = self.data if field.saved else self.__dict__
        fields[field.json_name] = field.write(value)

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> Any:
        """The part that a JSON object describes; it shares the object. None for null."""
        if data is None:
            return None
        kind = data.get("type")
        if kind not in cls.ROWS:
            raise NotHere(f"the {cls.ROLE} {kind!r}", f"it has {', '.join(sorted(cls.ROWS))}")
        part = object.__new__(cls.ROWS[str(kind)])
        object.__setattr__(part, "data", data)
        return part

    @classmethod
    def taken(cls, part: Any) -> Any:
        """A part of this drop-in unchanged, or a copy of a part of the library, whose pickle is JSON."""
        if part is None or isinstance(part, cls.BASE):
            return part
        try:
            state = part.__getstate__()
            if isinstance(state, bytes):
                return cls.of(json.loads(state))
        except (AttributeError, ValueError):
            pass
        raise TypeError(f"expected a {cls.ROLE} or None, not {type(part).__name__}")

    def __getattr__(self, name: str) -> Any:
        for each in self.FIELDS:
            if each.name == name and not each.hidden:
                present = each.json_name in self.data
                return each.read(self.data[each.json_name]) if present else each.default
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotHere(f"{type(self).__name__}.{name}", f"the part in JSON is {type(self).__name__}.data")

    def __setattr__(self, name: str, value: Any) -> None:
        for each in self.FIELDS:
            if each.name == name and not each.hidden:
                self._put(each, value)
                Part.changes += 1
                return
        raise AttributeError(f"{type(self).__name__} has no field {name!r} that can be set")

    def spell(self) -> dict[str, Any]:
        """The JSON with all fields of the class and no others, whatever an old file has. The file stays as it is."""
        data, fields = self.data, [each for each in self.FIELDS if each.saved]
        missing = {each.json_name: each.write(each.default) for each in fields if each.default is not REQUIRED}
        whole = {name: data.get(name, missing.get(name)) for name in (each.json_name for each in fields)}
        return {"type": self.TYPE, **whole} if fields else data

    def __getstate__(self) -> bytes:
        return json.dumps(self.spell(), ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        object.__setattr__(self, "data", json.loads(state))

    def __copy__(self) -> Any:
        return self.of(self.data)

    def __deepcopy__(self, memo: object) -> Any:
        return self.of(copy.deepcopy(self.data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self.data == other.data

    __hash__ = None  # type: ignore[assignment]  # parts can be changed

    def __repr__(self) -> str:
        return format_value(self.spell(), MANY)

    def __str__(self) -> str:
        return format_value(self.spell(), MOST)


class PartSequence(Part):
    """A sequence of parts; items share its data."""

    KEY: ClassVar[str] = ""

    def __init__(self, parts: Sequence[Any] = (), **kwargs: Any) -> None:
        members = [self.taken(each).data for each in kwargs.pop(self.KEY, parts)]
        object.__setattr__(self, "data", {"type": "Sequence", self.KEY: members})

    def spell(self) -> dict[str, Any]:
        """The JSON with all fields of each member."""
        return {"type": self.TYPE, self.KEY: [each.spell() for each in self]}

    def __getitem__(self, index: int) -> Any:
        return self.of(self.data[self.KEY][index])

    def __setitem__(self, index: int, part: Any) -> None:
        self.data[self.KEY][index] = self.taken(part).data
        Part.changes += 1

    def __len__(self) -> int:
        return len(self.data[self.KEY])

    def __iter__(self) -> Iterator[Any]:
        return iter([self.of(each) for each in self.data[self.KEY]])


MOST, MANY = 5, 100
BARE = {"prepend_scheme", "behavior", "direction", "strategy"}


def format_value(value: Any, most: int | None) -> str:
    """A JSON value in the form of the library's repr; `most` limits the members of lists and mappings."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict) and "type" in value:
        return f"{value['type']}({', '.join(format_fields(value, most))})"
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("String", "Regex"):
        ((kind, pattern),) = value.items()
        return f"{kind}({format_value(pattern, most)})"
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("SpecialToken", "Sequence"):
        ((kind, fields),) = value.items()
        name = fields["id"] if kind == "Sequence" else format_value(fields["id"], None)
        return f"{kind}(id={name}, type_id={fields['type_id']})"
    if isinstance(value, dict) and value.keys() == {"id", "ids", "tokens"}:
        return f"SpecialToken({', '.join(f'{name}={format_value(each, most)}' for name, each in value.items())})"
    if isinstance(value, dict):
        return "{" + join_limited([f'"{key}":{format_value(each, most)}' for key, each in value.items()], most) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(format_value(each, most) for each in value)})"
    if isinstance(value, list):
        return (
            "["
            + join_limited([format_value(each, most) for each in (value if most is None else value[: most + 1])], most)
            + "]"
        )
    return str(value)


def format_fields(value: Mapping[str, Any], most: int | None) -> Iterator[str]:
    for name, each in value.items():
        if name == "type":
            continue
        if name in BARE and isinstance(each, str):
            yield f"{name}={each}"
        elif name in ("sep", "cls"):
            yield f"{name}={format_value(tuple(each), most)}"
        elif (name == "vocab" and isinstance(each, list)) or name == "merges":
            yield f"{name}={format_value([tuple(pair) for pair in each], most)}"
        else:
            yield f"{name}={format_value(each, most)}"


def join_limited(members: list[str], most: int | None) -> str:
    """The members with commas; above the limit the first ones and three dots."""
    if most is None or len(members) <= most:
        return ", ".join(members)
    return ", ".join([*members[:most], "..."])
