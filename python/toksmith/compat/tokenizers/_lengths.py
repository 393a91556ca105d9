"""Truncation and padding of encodings, with the library's options and messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._encoding import Encoding

STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
SIDES = {"left": "Left", "right": "Right"}
Options = dict[str, Any]


def json_choice(name: str, value: Any, known: dict[str, str]) -> str:
    if value not in known:
        raise ValueError(f"Unknown `{name}`: `{value}`. Use one of {', '.join(f'`{each}`' for each in known)}")
    return known[value]


def truncation_json(max_length: int, stride: int, strategy: str, direction: str) -> Options:
    """Truncation options in JSON form."""
    for name, value in (("max_length", max_length), ("stride", stride)):
        if not isinstance(value, int):
            raise TypeError(f"{name}: expected an int, not {type(value).__name__}")
        if value < 0:
            raise OverflowError(f"{name} is {value}; expected at least 0")
    sides = {"direction": json_choice("direction", direction, SIDES), "max_length": max_length}
    return {**sides, "strategy": json_choice("strategy", strategy, STRATEGIES), "stride": stride}


def truncation_of(json: Options | None) -> Options | None:
    """Truncation options in call form."""
    if json is None:
        return None
    strategy = next(name for name, value in STRATEGIES.items() if value == json["strategy"])
    sides = {"strategy": strategy, "direction": json.get("direction", "Right").lower()}
    return {"max_length": json["max_length"], "stride": json.get("stride", 0), **sides}


def padding_of(json: Options | None) -> Options | None:
    """Padding options in call form."""
    if json is None:
        return None
    strategy = json["strategy"]
    length = strategy["Fixed"] if isinstance(strategy, dict) else None
    names = ("pad_to_multiple_of", "pad_id", "pad_token", "pad_type_id")
    return {"length": length, **{name: json.get(name) for name in names}, "direction": json["direction"].lower()}


def truncate_together(texts: Sequence[Encoding], most: int, options: Options) -> None:
    """Truncate one text or two to `most` ids together."""
    stride, direction = options["stride"], options["direction"]
    total = sum(map(len, texts))
    if most == 0:
        for each in texts:
            each.truncate(0, stride, direction)
        return
    if total <= most:
        return
    if options["strategy"] == "longest_first":
        sizes = [most] if len(texts) == 1 else kept_lengths(len(texts[0]), len(texts[1]), most)
        for each, size in zip(texts, sizes, strict=True):
            each.truncate(size, stride, direction)
        return
    if options["strategy"] == "only_second" and len(texts) == 1:
        raise ValueError("Truncation error: Second sequence not provided")
    target = texts[options["strategy"] == "only_second"]
    if len(target) <= total - most:
        raise ValueError("Truncation error: Sequence to truncate too short to respect the provided max_length")
    target.truncate(len(target) - (total - most), stride, direction)


def kept_lengths(first: int, second: int, most: int) -> list[int]:
    """The numbers of ids that stay of two texts: the shorter one keeps all if it can."""
    short, long = sorted((first, second))
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short = most // 2
        long = short + most % 2
    return [long, short] if first > second else [short, long]


def pad_together(encodings: Sequence[Encoding], options: Options) -> None:
    length = options["length"]
    if length is None:
        length = max(map(len, encodings), default=0)
    if (multiple := options["pad_to_multiple_of"]) and length % multiple:
        length += multiple - length % multiple
    names = ("direction", "pad_id", "pad_type_id", "pad_token")
    for each in encodings:
        each.pad(length, **{name: options[name] for name in names})
