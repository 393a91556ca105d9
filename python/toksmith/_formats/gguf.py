"""GGUF: the tokenizer at the start of llama.cpp's files, before the weights. Saving writes no weights.

Three kinds are supported: `gpt2`, byte-level merges; `llama`, SentencePiece's merges of characters; `t5`, its unigram
models. A name, `pre`, selects the split pattern. `PRES` has a row for each name whose exact regex is known; all other names
require the argument `pattern`. Ids without a token are entries of the type UNUSED with the content `[PADn]`.

A loaded model gives the ids that llama.cpp gives for the file, and llama.cpp gives the model's ids for a saved file; all
other models are refused by name. docs/clients.md lists the texts that are exceptions; `make test-llama` compares both.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from .._base import lazy_numpy as np
from .._model.model import ID_LIMIT, AddedToken, Model, Step, TokenTable, make_step
from .._model.patterns import UNSET, PatternArgument, patterns, splitters
from .._model.steps import template_of
from ..errors import CannotRepresent, FormatError, InvalidOption
from . import refuse_arguments
from .arguments import refuse_losses
from .gguf_pieces import character_entries, read_characters
from .gguf_values import MAGIC, read_values
from .json import dump_json, parse_json
from .recovered_merges import pair_merges
from .texts import decode_text, encode_text, from_gpt2_alphabet, to_gpt2_alphabet

NAME = "gguf"
MOST_BYTES = 1 << 26
SUFFIXES = (".gguf",)
DOC = "the tokenizer of a GGUF file (byte-level encodings and SentencePiece's models); saved without weights"
START_BYTES = MOST_BYTES
# The most entries per token (plus ID_LIMIT // 256 tokens): a real vocabulary has fewer holes.
HOLES = 4

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
KEYS = "tokenizer.ggml."
OWN = "toksmith.metadata"
HOLDS = ("added_tokens", "metadata", "post")
# Keys whose values are fields of a model, for every kind of file.
KNOWN_KEYS = (
    *("model", "pre", "tokens", "token_type", "scores", "merges", "add_bos_token", "add_eos_token"),
    *("add_space_prefix", "remove_extra_whitespaces", "precompiled_charsmap"),
)
DIGITS = (r"\p{N}", "gpt2_original")
CONTRACTION = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
# The contents of special tokens that begin a text, end it, or pad a batch. For a role that a file does not name, llama.cpp
# uses a fixed id (1 and 2, or 11), whatever that token is. A loaded model keeps the ids of its file as metadata or in its
# template. For any other model, a role belongs to the special token with a content in this table, if exactly one exists;
# SentencePiece itself finds `<s>` and `</s>` in this way.
BY_CONTENT: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>", "<|bos|>"),
    "eos": ("</s>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", "<|eos|>", "<|im_end|>", "<|eot_id|>"),
    "padding": ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>"),
}


def cased_pattern(contraction: str, digits: str) -> str:
    """The regex that llama.cpp runs for the patterns of o200k and Mistral: without marks, with case only in ASCII."""
    upper, lower = r"(?:(?![a-z])\p{L})", r"(?:(?![A-Z])\p{L})"
    return (
        rf"[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{contraction}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{contraction}|{digits}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
)


class Pre(NamedTuple):
    """Split patterns (regexes or names) in order; whether a piece that equals a token is it; the default of `add_bos_token`."""

    pattern: tuple[str, ...]
    whole_piece: bool = False
    add_bos: bool = False


# If several rows split identically, saving writes the first one.
PRES: Mapping[str, Pre] = {
    "gpt-2": Pre(("gpt2_original",)),
    **dict.fromkeys(("phi-2", "mpt", "olmo", "jais", "jina-v1-en", "gigachat"), Pre(("gpt2_original",))),
    "llama-bpe": Pre(("llama3",), whole_piece=True, add_bos=True),
    **dict.fromkeys(("llama3", "llama-v3", "falcon3"), Pre(("llama3",), whole_piece=True, add_bos=True)),
    "dbrx": Pre(("llama3",)),
    **dict.fromkeys(("smaug-bpe", "chatglm-bpe"), Pre(("llama3",))),
    "qwen2": Pre(("qwen2",)),
    **dict.fromkeys(("deepseek-r1-qwen", "stablelm2", "megrez"), Pre(("qwen2",))),
    **dict.fromkeys(("gpt-4o", "llama4"), Pre((cased_pattern(CONTRACTION, r"\p{N}{1,3}"),))),
    "tekken": Pre((cased_pattern("", r"\p{N}"),), whole_piece=True, add_bos=True),
    "deepseek-v3": Pre(DEEPSEEK),
    "starcoder": Pre(DIGITS),
    **dict.fromkeys(("refact", "command-r", "smollm", "codeshell", "exaone"), Pre(DIGITS)),
}
# Names under which llama.cpp runs a different regex for these patterns; saving writes such a name if the caller allows it.
NEAREST: Mapping[str, tuple[str, ...]] = {"gpt-4o": ("o200k",), "tekken": (TEKKEN,)}
# By kind, the ids that llama.cpp uses for the tokens before and after a text if the file names none.
USUAL_ENDS: Mapping[str, tuple[int | None, int]] = {"gpt2": (11, 11), "llama": (1, 2), "t5": (None, 1)}
# Pattern names with the same matches as a pattern in PRES: the core has one scanner for both.
SAME = {"gpt2": "gpt2_original", "cl100k_minbpe": "llama3"}


def sniff(data: bytes, path: str) -> bool:
    """Whether the data start with GGUF's magic bytes."""
    return data[:4] == MAGIC


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    if special_tokens is not None:
        refuse_arguments("a GGUF file", UNSET, special_tokens)
    source = Source(read_values(data, path), path)
    kind = source.text("model", None)
    if kind == "gpt2":
        return read_byte_level(source, pattern)
    if kind in ("llama", "t5"):
        refuse_arguments("a GGUF file of SentencePiece's kind", pattern, None)
        around = read_ends(source, kind, add_bos=kind == "llama", add_eos=kind == "t5")
        return read_characters(source, kind == "t5", around, read_metadata(source, "unknown_token_id"))
    raise FormatError(path, f"{KEYS}model", f"{kind!r} is not supported; 'gpt2', 'llama' and 't5' are")


class Source:
    """The values of a file; each getter checks the type of its value."""

    def __init__(self, keys: Mapping[str, Any], path: str) -> None:
        self.keys, self.path = keys, path
        self.around: set[str] = set()  # the sides, "bos" and "eos", whose tokens the template adds to texts

    def fail(self, name: str, problem: str) -> Any:
        raise FormatError(self.path, KEYS + name, problem)

    def get(self, name: str, kinds: type | tuple[type, ...], default: Any, what: str) -> Any:
        """The value of a name, or `default`; raises unless it has one of the types."""
        value = self.keys.get(KEYS + name, default)
        if value is not default and not isinstance(value, kinds):
            self.fail(name, f"expected {what}, not {str(value)[:40]!r}")
        return value

    def text(self, name: str, default: str | None) -> str | None:
        value = self.get(name, bytes, default, "a text")
        return decode_text(value, self.path, KEYS + name) if isinstance(value, bytes) else value

    def flag(self, name: str, default: bool) -> bool:
        return bool(self.get(name, bool, default, "a truth value"))

    def texts(self, name: str) -> list[str]:
        """The list of texts of a name; raises if it is missing."""
        value = self.get(name, list, None, "a list of texts")
        if value is None:
            self.fail(name, "is missing")
        return [decode_text(item, self.path, f"{KEYS}{name}[{at}]") for at, item in enumerate(value)]

    def numbers(self, name: str, kind: str, count: int) -> np.ndarray[Any, Any] | None:
        """An array of `count` integers (`kind` "iu") or floats ("f"); None if it is missing."""
        value = self.get(name, np.ndarray, None, "an array of numbers")
        if value is not None and (value.dtype.kind not in kind or len(value) != count):
            self.fail(name, f"expected {count} numbers, one for each token, not {len(value)} of the type {value.dtype}")
        return value  # type: ignore[no-any-return]

    def id(self, name: str, count: int) -> int | None:
        """The id of a token, below `count`; None if it is missing."""
        value = self.get(name, int, None, "an id")
        if value is not None and (isinstance(value, bool) or not 0 <= value < count):
            self.fail(name, f"expected an id below {count}, not {value}")
        return None if value is None else int(value)

    def tokens(self) -> list[str]:
        tokens = self.texts("tokens")
        if not 0 < len(tokens) <= ID_LIMIT:
            self.fail("tokens", f"expected 1 to {ID_LIMIT} tokens, not {len(tokens)}")
        return tokens


def read_byte_level(source: Source, pattern: PatternArgument) -> Model:
    """The model of a file of the kind `gpt2`."""
    contents = source.tokens()
    types = source.numbers("token_type", "iu", len(contents))
    kinds = [NORMAL] * len(contents) if types is None else types.tolist()
    tokens: dict[str, tuple[bytes, int]] = {}
    added = []
    for id, (content, kind) in enumerate(zip(contents, kinds, strict=True)):
        if kind in (UNKNOWN, CONTROL, USER_DEFINED):
            added.append(AddedToken(content, id, special=kind != USER_DEFINED))
        elif kind != UNUSED or content != hole_content(id):
            token = from_gpt2_alphabet(content)
            if token is None or kind not in (0, NORMAL, UNUSED):
                problem = f"{content[:40]!r} of the type {kind} contains characters that represent no byte"
                source.fail(f"tokens[{id}]", problem)
            if tokens.setdefault(content, (token, id))[1] != id:  # type: ignore[arg-type]
                source.fail(f"tokens[{id}]", f"{content[:40]!r} occurs twice; token {tokens[content][1]} is the same")
    pre = source.text("pre", None)
    row = PRES.get(pre) if pre is not None else None
    if row is not None:
        refuse_arguments(f"the GGUF file's pre {pre!r}", pattern, None)
    elif pattern is UNSET:
        advice = f"the known names are {', '.join(PRES)}"
        raise InvalidOption("pattern", UNSET, f"the split pattern: the file has pre = {pre!r}; {advice}")
    entries = list(tokens.values())
    return Model(
        TokenTable.of([token for token, _ in entries]),
        np.array([id for _, id in entries], np.uint32),
        merges=np.array(list(read_merges(source, tokens)), np.uint32),
        whole_piece=row is not None and row.whole_piece,
        splitters=splitters(pattern) if row is None else splitters(row.pattern),  # type: ignore[arg-type]
        added_tokens=tuple(added),
        post=read_ends(source, "gpt2", add_bos=row is not None and row.add_bos),
        metadata=read_metadata(source),
    )


def read_merges(source: Source, tokens: Mapping[str, tuple[bytes, int]]) -> Iterator[tuple[int, int, int]]:
    for at, line in enumerate(source.texts("merges")):
        left, _, right = line.partition(" ")
        for text in (left, right, left + right):
            if text not in tokens:
                source.fail(f"merges[{at}]", f"{text[:40]!r} of {line[:80]!r} is not among the tokens")
        yield tokens[left][1], tokens[right][1], tokens[left + right][1]


def hole_content(id: int) -> str:
    """The content of an entry that fills an unused id."""
    return f"[PAD{id}]"


def read_ends(source: Source, kind: str, add_bos: bool, add_eos: bool = False) -> tuple[Step, ...]:
    """The template step that adds tokens around a text; ids that the file does not name are llama.cpp's defaults."""
    contents = source.tokens()
    ends: list[tuple[int, str] | None] = []
    for name, default, usual in zip(("bos", "eos"), (add_bos, add_eos), USUAL_ENDS[kind], strict=True):
        explicit = source.id(f"{name}_token_id", len(contents))
        id = usual if explicit is None else explicit
        if not source.flag(f"add_{name}_token", default):
            ends.append(None)
        elif id is None or id >= len(contents):
            source.fail(f"add_{name}_token", f"there is no {name}_token_id")
        else:
            ends.append((id, contents[id]))
            source.around.add(name)
    return make_template(*ends) if any(ends) else ()


def make_template(bos: tuple[int, str] | None, eos: tuple[int, str] | None) -> tuple[Step, ...]:
    """The step that adds these tokens around each text."""

    def around(text: str, type_id: int) -> list[list[Any]]:
        before = [[bos[1], True, type_id]] if bos else []
        after = [[eos[1], True, type_id]] if eos else []
        return [*before, [text, False, type_id], *after]

    tokens = {content: [[id], [content]] for id, content in filter(None, (bos, eos))}
    options = {"single": around("A", 0), "pair": [*around("A", 0), *around("B", 1)], "special_tokens": tokens}
    return (make_step("template", **options),)


def read_metadata(source: Source, *more_said: str) -> dict[str, str]:
    """The metadata of the model: toksmith's own texts, and under `gguf` the other tokenizer keys, such as chat templates."""
    json_bytes = source.keys.get(OWN, b"{}")
    try:
        own_texts = parse_json(json_bytes) if isinstance(json_bytes, bytes) else None
    except ValueError:
        own_texts = None
    if not isinstance(own_texts, dict) or not all(isinstance(value, str) for value in own_texts.values()):
        raise FormatError(source.path, OWN, f"expected a JSON object of texts, not {str(json_bytes)[:40]!r}")
    known_keys = {KEYS + name for name in (*KNOWN_KEYS, *more_said)}
    known_keys |= {f"{KEYS}{side}_token_id" for side in ("bos", "eos") if side in source.around}
    contents = source.tokens()
    types = source.numbers("token_type", "iu", len(contents))
    control = [] if types is None else np.flatnonzero(types == CONTROL).tolist()
    roles = roles_by_content({contents[id]: id for id in control})
    other_values: dict[str, Any] = {}
    for name, value in source.keys.items():
        if name in roles and isinstance(value, int) and value == roles[name]:
            continue
        if name.startswith("tokenizer.") and name not in known_keys and isinstance(value, (bool, int, bytes)):
            other_values[name] = decode_text(value, source.path, name) if isinstance(value, bytes) else value
    return {**own_texts, **({"gguf": dump_json(other_values)} if other_values else {})}


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    gguf = import_gguf()
    is_characters = model.unit == "char"
    char_fields = ("byte_fallback", "decoders", "kind", "normalizers", "scores", "unknown_id") if is_characters else ()
    holds = (*HOLDS, *char_fields)
    refuse_losses(model, NAME, allow_loss, holds=holds)
    entries = character_entries(model, allow_loss) if is_characters else byte_entries(model, allow_loss)
    entries.update(dump_ends(model))
    gguf_values, other_metadata = dump_metadata(model, allow_loss)
    entries.update({name: value for name, value in gguf_values.items() if entries.get(name, value) == value})
    roles = roles_by_content({token.content: token.id for token in model.added_tokens if token.special})
    entries = {**roles, **entries}
    import tempfile  # slow to import, as the next
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.gguf"
        writer = gguf.GGUFWriter(path, entries[f"{KEYS}model"])
        for name, value in {**entries, **({OWN: other_metadata} if other_metadata else {})}.items():
            add_value(gguf, writer, name, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path.read_bytes()


def import_gguf() -> Any:
    try:
        import gguf
    except ImportError:
        raise ImportError("saving GGUF files requires the package gguf; run pip install 'toksmith[gguf]'") from None
    return gguf


def add_value(gguf: Any, writer: Any, name: str, value: Any) -> None:
    """Adds a value under its name, with the narrowest GGUF type for an integer."""
    kinds = gguf.GGUFValueType
    if isinstance(value, bool):
        writer.add_bool(name, value)
    elif isinstance(value, int):
        write = writer.add_int64 if value < 0 else writer.add_uint32 if value < 1 << 32 else writer.add_uint64
        write(name, value)
    elif isinstance(value, str):
        writer.add_string(name, value)
    elif value:
        inner = kinds.UINT8 if isinstance(value, bytes) else kinds.get_type(value[0])
        writer.add_key_value(name, value, kinds.ARRAY, sub_type=inner)


def byte_entries(model: Model, allow_loss: Collection[str]) -> dict[str, Any]:
    whole_piece, pre = choose_pre(model, allow_loss)
    rows = model.vocab.recover_merges() if whole_piece else pair_merges(model, NAME)
    if not len(rows):
        raise CannotRepresent(NAME, "merges", "llama.cpp does not load a file without merges")
    by_id = dict(zip(model.ids.tolist(), map(to_gpt2_alphabet, model.tokens), strict=True))
    contents = set(by_id.values())
    entries: dict[int, tuple[str, int]] = {id: (text, NORMAL) for id, text in by_id.items()}
    for token in model.added_tokens:
        if token != AddedToken(token.content, token.id, special=token.special):
            raise CannotRepresent(
                NAME, "added_tokens", f"{token.content!r} has flags, which the format has no field for"
            )
        if token.id in entries or token.content in contents:
            problem = f"{token.content!r} (id {token.id}) has the same spelling as another token"
            raise CannotRepresent(NAME, "added_tokens", problem)
        encode_text(token.content, NAME)
        entries[token.id] = (token.content, CONTROL if token.special else USER_DEFINED)
        contents.add(token.content)
    if model.vocab_size > HOLES * (len(entries) + ID_LIMIT // 256):
        problem = f"the file needs an entry for each id up to the largest: {model.vocab_size} entries for {len(entries)} tokens"
        raise CannotRepresent(NAME, "ids", problem)
    rows_by_id = [entries.get(id, (hole_content(id), UNUSED)) for id in range(model.vocab_size)]
    if any(entry[1] == UNUSED and entry[0] in contents for entry in rows_by_id):
        raise CannotRepresent(NAME, "ids", "a token has the same spelling as the placeholder for an unused id")
    return {
        f"{KEYS}model": "gpt2",
        f"{KEYS}pre": pre,
        f"{KEYS}tokens": [content for content, _ in rows_by_id],
        f"{KEYS}token_type": [kind for _, kind in rows_by_id],
        f"{KEYS}merges": [f"{by_id[left]} {by_id[right]}" for left, right, _ in rows.tolist()],
    }


def choose_pre(model: Model, allow_loss: Collection[str]) -> tuple[bool, str]:
    """Whether readers look up whole pieces, and the name of the model's split pattern.

    A model with the lookup can use a name without it if merging makes all its tokens; the caller checks this.
    """
    aliases = {patterns()[name].regexes: patterns()[other].regexes for name, other in SAME.items()}
    model_regexes = tuple(step["pattern"] for step in model.splitters)
    model_regexes = aliases.get(model_regexes, model_regexes)
    names = [(row.whole_piece, name) for name, row in PRES.items() if pattern_regexes(row.pattern) == model_regexes]
    nearest = [
        (PRES[name].whole_piece, name) for name, pattern in NEAREST.items() if pattern_regexes(pattern) == model_regexes
    ]
    if nearest and "splitters" in allow_loss:
        names = nearest
    usable = [pair for pair in names if pair[0] == model.whole_piece] or [pair for pair in names if not pair[0]]
    if not usable:
        spelling = ", ".join(map(repr, model_regexes)) or "an unsplit text"
        why = f"llama.cpp knows {spelling[:200]} {'only with the lookup of whole pieces' if names else 'not'} by name"
        if nearest:
            why = f"for {nearest[0][1]!r} llama.cpp runs a regex without marks, and without case beyond ASCII"
            why += "; allow_loss=['splitters'] writes this name"
        raise CannotRepresent(NAME, "splitters", f"the format stores the name of a pattern, and {why}")
    return usable[0]


def pattern_regexes(pattern: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(step["pattern"] for step in splitters(pattern))


def dump_ends(model: Model) -> dict[str, Any]:
    """The file's values for the tokens around a text."""
    entries: dict[str, Any] = {f"{KEYS}add_bos_token": False, f"{KEYS}add_eos_token": False}
    if not model.post:
        return entries
    problem = "the format supports only one token before a text and one after it"
    step, is_single = model.post[0], len(model.post) == 1
    around = template_of(model).single if is_single and step.kind == "template" else None
    if around is None:
        raise CannotRepresent(NAME, "post", problem)
    sides: dict[str, tuple[int, str]] = {}
    side = "bos"
    for (name, _, _), piece in zip(step["single"], around, strict=True):
        if piece.text:
            side = "eos"
        elif len(piece.ids) == 1 and piece.ids[0] < model.vocab_size:
            sides[side] = (piece.ids[0], name)
    if (step,) != make_template(sides.get("bos"), sides.get("eos")):
        raise CannotRepresent(NAME, "post", problem)
    for side, (id, _) in sides.items():
        entries |= {f"{KEYS}add_{side}_token": True, f"{KEYS}{side}_token_id": id}
    return entries


def dump_metadata(model: Model, allow_loss: Collection[str]) -> tuple[dict[str, Any], str]:
    """The GGUF values in the metadata, and all other metadata as JSON."""
    if "metadata" in allow_loss:
        return {}, ""
    rest = dict(model.metadata)
    try:
        values_of_gguf = json.loads(rest.pop("gguf", "{}"))
    except (ValueError, RecursionError):
        values_of_gguf = None
    fine = isinstance(values_of_gguf, dict) and all(
        name.startswith("tokenizer.")
        and (isinstance(value, str) or (isinstance(value, int) and -1 << 63 <= value < 1 << 64))
        for name, value in values_of_gguf.items()
    )
    if not fine:
        raise InvalidOption("metadata", model.metadata["gguf"], "a JSON object, as load() creates it from such a file")
    return values_of_gguf, dump_json(rest) if rest else ""


def roles_by_content(ids: Mapping[str, int]) -> dict[str, int]:
    """The id of each role for which exactly one special token is known."""
    ids_by_role = {role: [ids[text] for text in contents if text in ids] for role, contents in BY_CONTENT.items()}
    return {f"tokenizer.ggml.{role}_token_id": each[0] for role, each in ids_by_role.items() if len(each) == 1}
