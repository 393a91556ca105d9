"""The parts of a `tokenizer.json` that are steps: normalizers, pre-tokenizers and decoders, one row for each type.

A row maps a type to a kind of step, and its fields to options, without loss in either direction. `Sequence` has no row:
its steps are listed one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from .._model.model import Step, make_step
from ..errors import CannotRepresent
from .json import JsonObject
from .oniguruma import NotTranslatable, to_onig

__all__ = ["BEHAVIORS", "BYTE_LEVEL_REGEX", "TABLES", "dump_steps", "hf_name", "make_step", "read_steps"]

BEHAVIORS = {
    "Removed": "removed",
    "Isolated": "isolated",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}
SCHEMES = {"always": "always", "first": "first", "never": "never"}
# The split pattern of `ByteLevel`.
BYTE_LEVEL_REGEX = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

Load = Callable[[JsonObject], list[Step]]
Dump = Callable[[Mapping[str, Any]], dict[str, Any]]


class StepType(NamedTuple):
    """One type of a part: its conversion to steps, and from a step's options to a part without its type."""

    kinds: tuple[str, ...]  # of the steps that saving writes as this type
    load: Load
    dump: Dump


def plain_type(kind: str) -> StepType:
    return StepType((kind,), lambda part: [make_step(kind)], lambda options: {})


def renaming_type(kind: str, fields: Mapping[str, tuple[Any, ...]]) -> StepType:
    """A type whose fields are options: field to (option, method of JsonObject that reads it, its default if any)."""

    def load(part: JsonObject) -> list[Step]:
        options = {to: getattr(part, how)(name, *default) for name, (to, how, *default) in fields.items()}
        return [make_step(kind, **options)]

    return StepType((kind,), load, lambda options: {name: options[to] for name, (to, *_) in fields.items()})


def read_pattern(part: JsonObject) -> tuple[str, str]:
    """The pattern and its dialect: Oniguruma's, unless the regex is known to mean the same in the Rust dialect."""
    inner = part.part("pattern")
    if "String" in inner.left:
        result = inner.text("String"), "literal"
    else:
        regex = inner.text("Regex")
        result = regex, "rust" if same_in_rust(regex) else "onig"
    inner.finish()
    return result


def same_in_rust(regex: str) -> bool:
    """Whether a regex of Oniguruma has the same matches in the Rust dialect."""
    try:
        return to_onig(regex) == regex
    except NotTranslatable:
        return False


def dump_pattern(pattern: str, dialect: str) -> dict[str, str]:
    if dialect == "literal":
        return {"String": pattern}
    return {"Regex": to_onig(pattern) if dialect == "rust" else pattern}


def load_replace(part: JsonObject) -> list[Step]:
    """`Replace`, a normalizer or decoder: its regexes are always in Oniguruma's dialect, where empty matches count."""
    pattern, dialect = read_pattern(part)
    dialect = "literal" if dialect == "literal" else "onig"
    return [make_step("replace", pattern=pattern, dialect=dialect, content=part.text("content"))]


def dump_replace(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"pattern": dump_pattern(options["pattern"], options["dialect"]), "content": options["content"]}


def load_split(part: JsonObject) -> list[Step]:
    pattern, dialect = read_pattern(part)
    options = {"pattern": pattern, "behavior": part.choice("behavior", BEHAVIORS), "invert": part.flag("invert")}
    return [make_step("literal", **options) if dialect == "literal" else make_step("regex", dialect=dialect, **options)]


def dump_split(options: Mapping[str, Any]) -> dict[str, Any]:
    pattern = dump_pattern(options["pattern"], options.get("dialect", "literal"))
    return {"pattern": pattern, "behavior": hf_name(BEHAVIORS, options["behavior"]), "invert": options["invert"]}


def hf_name(table: Mapping[str, str], own: str) -> str:
    """HF's name of an option value of toksmith."""
    return next(name for name, value in table.items() if value == own)


def load_byte_level(part: JsonObject) -> list[Step]:
    """`ByteLevel` as a pre-tokenizer: up to three steps. HF's pre-tokenizer ignores `trim_offsets`."""
    steps = [make_step("prefix_space")] if part.flag("add_prefix_space") else []
    part.flag("trim_offsets")
    if part.flag("use_regex", True):
        steps.append(make_step("regex", pattern=BYTE_LEVEL_REGEX, dialect="rust", behavior="isolated", invert=False))
    return [*steps, make_step("byte_characters")]


def load_metaspace(part: JsonObject) -> list[Step]:
    """`Metaspace` as a pre-tokenizer, in its old or its new spelling."""
    scheme = metaspace_scheme(part)
    return [
        make_step("metaspace", replacement=part.char("replacement"), prepend=scheme, split=part.flag("split", True))
    ]


def metaspace_scheme(part: JsonObject) -> str:
    """The pieces that get the mark: "always", "first" or "never"."""
    part.text("str_rep", None)
    old = part.flag("add_prefix_space", None)
    new = str(part.choice("prepend_scheme", SCHEMES, "never" if old is False else "always"))
    if old is False and new != "never":
        part.fail(f"contradicts the prepend_scheme {new!r}", "add_prefix_space")
    return new


def load_metaspace_decoder(part: JsonObject) -> list[Step]:
    """`Metaspace` as a decoder, which ignores `split`."""
    scheme = metaspace_scheme(part)
    part.flag("split", None)
    return [make_step("metaspace", replacement=part.char("replacement"), drop_first=scheme != "never")]


def dump_metaspace_decoder(options: Mapping[str, Any]) -> dict[str, Any]:
    scheme = "always" if options["drop_first"] else "never"
    return {"replacement": options["replacement"], "prepend_scheme": scheme, "split": True}


def load_byte_level_decoder(part: JsonObject) -> list[Step]:
    """`ByteLevel` as a decoder, which ignores its fields."""
    for name in ("add_prefix_space", "trim_offsets", "use_regex"):
        part.flag(name, None)
    return [make_step("byte_characters")]


BYTE_LEVEL = {"add_prefix_space": False, "trim_offsets": False, "use_regex": False}
REPLACE = StepType(("replace",), load_replace, dump_replace)

NORMALIZERS: Mapping[str, StepType] = {
    "BertNormalizer": renaming_type(
        "bert",
        {
            **{name: (name, "flag") for name in ("clean_text", "handle_chinese_chars", "lowercase")},
            "strip_accents": ("strip_accents", "flag", None),
        },
    ),
    "ByteLevel": plain_type("byte_characters"),
    "Lowercase": plain_type("lowercase"),
    "NFC": plain_type("nfc"),
    "NFD": plain_type("nfd"),
    "NFKC": plain_type("nfkc"),
    "NFKD": plain_type("nfkd"),
    "Nmt": plain_type("nmt"),
    "Precompiled": renaming_type("precompiled", {"precompiled_charsmap": ("charsmap", "text")}),
    "Prepend": renaming_type("prepend", {"prepend": ("prepend", "text")}),
    "Replace": REPLACE,
    "Strip": renaming_type("strip", {"strip_left": ("left", "flag"), "strip_right": ("right", "flag")}),
    "StripAccents": plain_type("strip_accents"),
}
PRE_TOKENIZERS: Mapping[str, StepType] = {
    "BertPreTokenizer": plain_type("bert"),
    "ByteLevel": StepType(("byte_characters",), load_byte_level, lambda options: dict(BYTE_LEVEL)),
    "CharDelimiterSplit": renaming_type("delimiter", {"delimiter": ("delimiter", "char")}),
    "Digits": renaming_type("digits", {"individual_digits": ("individual", "flag")}),
    "FixedLength": renaming_type("fixed_length", {"length": ("length", "number", 5)}),
    "Metaspace": StepType(
        ("metaspace",),
        load_metaspace,
        lambda options: {
            "replacement": options["replacement"],
            "prepend_scheme": options["prepend"],
            "split": options["split"],
        },
    ),
    "Punctuation": StepType(
        ("punctuation",),
        lambda part: [make_step("punctuation", behavior=part.choice("behavior", BEHAVIORS, "Isolated"))],
        lambda options: {"behavior": hf_name(BEHAVIORS, options["behavior"])},
    ),
    "Split": StepType(("regex", "literal"), load_split, dump_split),
    "UnicodeScripts": plain_type("unicode_scripts"),
    "Whitespace": plain_type("whitespace"),
    "WhitespaceSplit": plain_type("whitespace_split"),
}
DECODERS: Mapping[str, StepType] = {
    "BPEDecoder": renaming_type("word_end", {"suffix": ("suffix", "text")}),
    "ByteFallback": plain_type("byte_fallback"),
    "ByteLevel": StepType(("byte_characters",), load_byte_level_decoder, lambda options: dict(BYTE_LEVEL)),
    "CTC": renaming_type(
        "ctc",
        {
            "pad_token": ("pad", "text"),
            "word_delimiter_token": ("delimiter", "text"),
            "cleanup": ("cleanup", "flag"),
        },
    ),
    "Fuse": plain_type("fuse"),
    "Metaspace": StepType(("metaspace",), load_metaspace_decoder, dump_metaspace_decoder),
    "Replace": REPLACE,
    "Strip": renaming_type(
        "strip", {"content": ("content", "char"), "start": ("start", "number"), "stop": ("stop", "number")}
    ),
    "WordPiece": renaming_type("wordpiece", {"prefix": ("prefix", "text"), "cleanup": ("cleanup", "flag")}),
}


class StepTypes(NamedTuple):
    """The types of one part of the file, by name."""

    rows: Mapping[str, StepType]
    field: str  # of `Model`, which holds the steps
    members: str  # the name of the list in a `Sequence`


TABLES: Mapping[str, StepTypes] = {
    "normalizer": StepTypes(NORMALIZERS, "normalizers", "normalizers"),
    "pre_tokenizer": StepTypes(PRE_TOKENIZERS, "splitters", "pretokenizers"),
    "decoder": StepTypes(DECODERS, "decoders", "decoders"),
}


def read_steps(part: JsonObject, table: StepTypes) -> Iterator[Step]:
    """The steps of a part; sequences inside it are flattened."""
    kind = part.text("type")
    if kind == "Sequence":
        for member in part.parts(table.members):
            yield from read_steps(member, table)
    elif kind in table.rows:
        yield from table.rows[kind].load(part)
    else:
        part.fail(f"{kind!r} is not supported; supported are Sequence, {', '.join(table.rows)}", "type")
    part.finish()


def dump_steps(steps: Sequence[Step], table: StepTypes, format: str) -> dict[str, Any] | None:
    """The steps as a part: none, one, or a sequence."""
    parts = []
    rest = list(steps)
    while rest:
        folded = fold_byte_level(rest) if table.field == "splitters" else None
        parts.append(folded or dump_step(rest.pop(0), table, format))
    if len(parts) > 1:
        return {"type": "Sequence", table.members: parts}
    return parts[0] if parts else None


def fold_byte_level(rest: list[Step]) -> dict[str, Any] | None:
    """Removes the first steps if together they are a `ByteLevel`, and returns that part; None otherwise."""
    regex = make_step("regex", pattern=BYTE_LEVEL_REGEX, dialect="rust", behavior="isolated", invert=False)
    prefix = rest[0] == make_step("prefix_space")
    splits = rest[prefix : prefix + 1] == [regex]
    if not (prefix or splits) or rest[prefix + splits : prefix + splits + 1] != [make_step("byte_characters")]:
        return None
    del rest[: prefix + splits + 1]
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": False, "use_regex": splits}


def dump_step(each: Step, table: StepTypes, format: str) -> dict[str, Any]:
    for name, row in table.rows.items():
        if each.kind in row.kinds:
            try:
                part = {"type": name, **row.dump(dict(each.options))}
                # Reading the part back must succeed and find every option.
                again = list(read_steps(JsonObject(deepcopy(part), format, table.field), table))
                if lost := dict(each.options).keys() - {name for reread in again for name, _ in reread.options}:
                    raise ValueError(f"unknown {sorted(lost)}")
                return part
            except NotTranslatable as error:
                raise CannotRepresent(format, table.field, str(error)) from error
            except (KeyError, StopIteration, ValueError) as error:
                raise CannotRepresent(format, table.field, f"{each} has invalid options: {error!r}") from error
    raise CannotRepresent(format, table.field, f"the format has no equivalent of {each}")
