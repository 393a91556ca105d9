"""Converts `post_processor`, `truncation` and `padding` of a `tokenizer.json` to steps of `Model.post`, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._model.model import Step
from ..errors import CannotRepresent
from .hf_steps import hf_name, make_step
from .json import JsonObject

SUPPORTED = ("BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing")
SIDES = {"Left": "left", "Right": "right"}
STRATEGIES = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}


def read_post(part: JsonObject) -> Iterator[Step]:
    kind = part.text("type")
    if kind == "Sequence":
        for member in part.parts("processors"):
            yield from read_post(member)
    elif kind == "TemplateProcessing":
        yield read_template(part)
    elif kind == "ByteLevel":
        prefix = part.flag("add_prefix_space")
        part.flag("use_regex", True)
        if part.flag("trim_offsets"):
            yield make_step("trim_offsets", add_prefix_space=prefix)
    elif kind in ("BertProcessing", "RobertaProcessing"):
        sep, cls = read_token(part, "sep"), read_token(part, "cls")
        if kind == "RobertaProcessing":
            prefix = part.flag("add_prefix_space")
            if part.flag("trim_offsets"):
                yield make_step("trim_offsets", add_prefix_space=prefix)
        yield make_step("bert" if kind == "BertProcessing" else "roberta", sep=sep, cls=cls)
    else:
        part.fail(f"{kind!r} is not supported; supported are {', '.join(SUPPORTED)}", "type")
    part.finish()


def read_token(part: JsonObject, name: str) -> list[Any]:
    """A token and its id, as a list."""
    value: list[Any] = part.take(name, list)
    if len(value) != 2 or type(value[0]) is not str or type(value[1]) is not int or value[1] < 0:
        part.fail("must be a token and its id", name)
    return value


def read_template(part: JsonObject) -> Step:
    """`TemplateProcessing`: for each piece `"A"`, `"B"` or ids, and its type."""
    tokens: dict[str, list[Any]] = {}
    special = part.part("special_tokens")
    for name in list(special.left):
        entry = special.part(name)
        ids, contents = entry.take("ids", list), entry.take("tokens", list)
        if len(ids) != len(contents) or not all(type(id) is int and id >= 0 for id in ids):
            entry.fail("must have one id for each token", "ids")
        if not all(type(content) is str for content in contents) or entry.text("id") != name:
            entry.fail("must have texts as tokens and its own name as id")
        entry.finish()
        tokens[name] = [ids, contents]
    pieces = {name: [read_piece(piece, tokens) for piece in part.parts(name)] for name in ("single", "pair")}
    return make_step("template", special_tokens=tokens, **pieces)


def read_piece(part: JsonObject, tokens: Mapping[str, object]) -> list[Any]:
    """A piece of a template: its content, whether it is a special token, and its type."""
    special = "SpecialToken" in part.left
    inner = part.part("SpecialToken" if special else "Sequence")
    name, type_id = inner.text("id"), inner.number("type_id")
    if name not in (tokens if special else ("A", "B")):
        inner.fail(f"{name!r} is not among the special tokens" if special else f"{name!r} is neither A nor B", "id")
    inner.finish()
    part.finish()
    return [name, special, type_id]


def read_truncation(part: JsonObject) -> Step:
    options = {"max_length": part.number("max_length"), "stride": part.number("stride", 0)}
    options |= {"side": part.choice("direction", SIDES, "Right"), "strategy": part.choice("strategy", STRATEGIES)}
    part.finish()
    return make_step("truncate", **options)


def read_padding(part: JsonObject) -> Step:
    """`padding` as a step; `length` is None for the longest text of a batch."""
    strategy = part.left.pop("strategy", None)
    fixed = strategy.get("Fixed") if isinstance(strategy, dict) and len(strategy) == 1 else None
    if strategy != "BatchLongest" and (type(fixed) is not int or fixed < 0):
        part.fail('must be "BatchLongest" or {"Fixed": a number}', "strategy")
    options = {
        "length": fixed,
        "side": part.choice("direction", SIDES),
        "multiple_of": part.number("pad_to_multiple_of", None),
        "id": part.number("pad_id"),
        "type_id": part.number("pad_type_id"),
        "token": part.text("pad_token"),
    }
    part.finish()
    return make_step("pad", **options)


def dump_post(steps: Sequence[Step], format: str) -> dict[str, Any]:
    """The steps as the file's three parts: `truncation`, `padding` and `post_processor`."""
    parts: dict[str, Any] = {"truncation": None, "padding": None, "post_processor": None}
    processors = []
    for each in steps:
        options = dict(each.options)
        try:
            if each.kind in ("truncate", "pad"):
                name, dump = ("truncation", dump_truncation) if each.kind == "truncate" else ("padding", dump_padding)
                if parts[name] is not None:
                    raise CannotRepresent(format, "post", f"the format allows only one {name}")
                parts[name] = dump(options)
            else:
                processors.append(dump_processor(each.kind, options))
        except (KeyError, StopIteration, TypeError, ValueError) as error:
            raise CannotRepresent(format, "post", f"the format has no equivalent of {each}") from error
    if processors:
        several = {"type": "Sequence", "processors": processors}
        parts["post_processor"] = several if len(processors) > 1 else processors[0]
    return parts


def dump_processor(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "trim_offsets":
        return {
            "type": "ByteLevel",
            "add_prefix_space": options["add_prefix_space"],
            "trim_offsets": True,
            "use_regex": True,
        }
    if kind in ("bert", "roberta"):
        tokens = {"sep": options["sep"], "cls": options["cls"]}
        if kind == "bert":
            return {"type": "BertProcessing", **tokens}
        return {"type": "RobertaProcessing", **tokens, "trim_offsets": False, "add_prefix_space": False}
    if kind != "template":
        raise ValueError(kind)
    for name, special, _ in (*options["single"], *options["pair"]):
        if name not in (options["special_tokens"] if special else ("A", "B")):
            raise ValueError(name)
    if any(len(ids) != len(each) for ids, each in options["special_tokens"].values()):
        raise ValueError("special_tokens")
    parts = {name: [dump_piece(*each) for each in options[name]] for name in ("single", "pair")}
    tokens = {name: {"id": name, "ids": ids, "tokens": each} for name, (ids, each) in options["special_tokens"].items()}
    return {"type": "TemplateProcessing", **parts, "special_tokens": tokens}


def dump_piece(name: str, special: bool, type_id: int) -> dict[str, Any]:
    return {"SpecialToken" if special else "Sequence": {"id": name, "type_id": type_id}}


def dump_truncation(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "direction": hf_name(SIDES, options["side"]),
        "max_length": options["max_length"],
        "strategy": hf_name(STRATEGIES, options["strategy"]),
        "stride": options["stride"],
    }


def dump_padding(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "strategy": "BatchLongest" if options["length"] is None else {"Fixed": options["length"]},
        "direction": hf_name(SIDES, options["side"]),
        "pad_to_multiple_of": options["multiple_of"],
        "pad_id": options["id"],
        "pad_type_id": options["type_id"],
        "pad_token": options["token"],
    }
