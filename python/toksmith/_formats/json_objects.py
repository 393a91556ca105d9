"""Reads a JSON object field by field. Each field is taken once and has a type; unknown fields raise an error that names them."""

from __future__ import annotations

from typing import Any, NoReturn

from .._base.errors import FormatError

__all__ = ["JsonObject", "shown"]

NEEDED: Any = object()
FIELD_LIMIT = 1 << 12
NAMES = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "an object"}


class JsonObject:
    """An object of a JSON file, whose fields are taken one after another.

    Args of the constructor: `path` the file; `place` where the object is in it (`decoder.decoders[1]`).
    """

    def __init__(self, value: Any, path: str, place: str) -> None:
        self.path, self.place = path, place
        if not isinstance(value, dict):
            self.fail(f"must be an object, not {shown(value)}")
        if len(value) > FIELD_LIMIT:
            self.fail(f"has {len(value)} fields; fewer than {FIELD_LIMIT} are allowed")
        self.left: dict[str, Any] = dict(value)

    def fail(self, problem: str, field: str = "") -> NoReturn:
        """Raises the error of the object or of a field of it."""
        raise FormatError(self.path, ".".join(filter(None, [self.place, field])) or None, problem)

    def take(self, name: str, kind: type, default: Any = NEEDED) -> Any:
        """A field of a type; where it is missing, or null and the default is not a value itself, the default."""
        value = self.left.pop(name, NEEDED)
        if value is NEEDED or (value is None and default is not NEEDED):
            if default is NEEDED:
                self.fail("is missing", name)
            return default
        if type(value) is not kind:
            self.fail(f"must be {NAMES[kind]}, not {shown(value)}", name)
        return value

    def text(self, name: str, default: Any = NEEDED) -> Any:
        """A text."""
        return self.take(name, str, default)

    def flag(self, name: str, default: Any = NEEDED) -> Any:
        """A truth value."""
        return self.take(name, bool, default)

    def number(self, name: str, default: Any = NEEDED) -> Any:
        """A whole number that is not negative."""
        value = self.take(name, int, default)
        if value is not None and value < 0:
            self.fail(f"must not be negative, not {value}", name)
        return value

    def char(self, name: str) -> str:
        """A text of one character."""
        value = self.text(name)
        if len(value) != 1:
            self.fail(f"must be one character, not {shown(value)}", name)
        return str(value)

    def choice(self, name: str, choices: Any, default: Any = NEEDED) -> Any:
        """The value for one of several texts."""
        value = self.text(name, default)
        if value not in choices:
            self.fail(f"must be one of {', '.join(choices)}, not {shown(value)}", name)
        return choices[value]

    def part(self, name: str) -> JsonObject:
        """An object."""
        return JsonObject(self.take(name, dict), self.path, f"{self.place}.{name}" if self.place else name)

    def parts(self, name: str) -> list[JsonObject]:
        """A list of objects."""
        place = f"{self.place}.{name}" if self.place else name
        return [JsonObject(item, self.path, f"{place}[{at}]") for at, item in enumerate(self.take(name, list))]

    def finish(self) -> None:
        """Raises an error for the fields that nobody took."""
        for name in self.left:
            self.fail("is an unknown field, so its meaning is unknown", name)


def shown(value: object) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
