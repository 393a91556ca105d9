"""GGUF: the tokenizer at the start of llama.cpp's files, before the weights. Saving writes no weights.

Three kinds are supported: `gpt2`, byte-level pairs; `llama`, SentencePiece's pairs of characters; `t5`, its unigram
models. A name, `pre`, selects the split pattern. `PRES` has a row for each name whose exact regex is known; all other names
require the argument `pattern`. Ids without a token are entries of the type UNUSED with the content `[PADn]`.

A loaded file has the ids that llama.cpp gives it, and a saved one gives llama.cpp the ids of the model; anything else is
refused by name. docs/clients.md lists the texts for which that is not so, and `make test-llama` compares both.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.errors import CannotRepresent, FormatError, InvalidOption
from .._model.model import ID_LIMIT, AddedToken, Model, Step, TokenTable
from .._model.patterns import UNSET, PatternArgument, patterns, splitters
from .._model.steps import template_of
from . import refuse_arguments
from .arguments import refuse_losses
from .gguf_pieces import character_entries, characters
from .gguf_values import MAGIC, values
from .json import dump_json, parse_json
from .recovered_merges import pair_merges
from .texts import spelt, text_of, unspelt, utf8_of

__all__ = ["DOC", "NAME", "START_BYTES", "SUFFIXES", "load", "save", "sniff"]

NAME = "gguf"
MOST_BYTES = 1 << 26
SUFFIXES = (".gguf",)
DOC = "the tokenizer of a GGUF file (byte-level encodings and SentencePiece's models); saved without weights"
START_BYTES = MOST_BYTES
# The limit of places per token (plus some thousands): a real vocabulary has fewer holes.
HOLES = 4

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
KEYS = "tokenizer.ggml."
OWN = "toksmith.metadata"
HOLDS = ("added_tokens", "metadata", "post")
# Keys that the fields of a model replace, of either kind of model.
SAID = (
    *("model", "pre", "tokens", "token_type", "scores", "merges", "add_bos_token", "add_eos_token"),
    *("add_space_prefix", "remove_extra_whitespaces", "precompiled_charsmap"),
)
DIGITS = (r"\p{N}", "gpt2_original")
CONTRACTION = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
# Which special token begins a text, ends it, and fills a batch. llama.cpp takes fixed ids for a role that a file does not name
# (1 and 2, or 11), whatever these tokens are. A model keeps the ids of the file that it comes from as metadata, or has them in
# the tokens around its texts. For any other model the contents of its special tokens say it, where exactly one of them is
# known for the role: SentencePiece itself finds `<s>` and `</s>` so.
BY_CONTENT: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "[BOS]", "<|begin_of_text|>", "<|startoftext|>", "<|bos|>"),
    "eos": ("</s>", "<eos>", "[EOS]", "<|endoftext|>", "<|end_of_text|>", "<|eos|>", "<|im_end|>", "<|eot_id|>"),
    "padding": ("<pad>", "[PAD]", "<|pad|>", "<|finetune_right_pad_id|>"),
}


def cased(contraction: str, digits: str) -> str:
    """The regex that llama.cpp runs for o200k's and Mistral's: no marks, and no case but that of ASCII."""
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
    """How texts are split: regexes or names of patterns, in order; whether a piece that is a token is that token; and
    whether a text begins with the token of its beginning where the file does not say it."""

    pattern: tuple[str, ...]
    whole_piece: bool = False
    add_bos: bool = False


# Of several rows that split alike, saving takes the first.
PRES: Mapping[str, Pre] = {
    "gpt-2": Pre(("gpt2_original",)),
    **dict.fromkeys(("phi-2", "mpt", "olmo", "jais", "jina-v1-en", "gigachat"), Pre(("gpt2_original",))),
    "llama-bpe": Pre(("llama3",), whole_piece=True, add_bos=True),
    **dict.fromkeys(("llama3", "llama-v3", "falcon3"), Pre(("llama3",), whole_piece=True, add_bos=True)),
    "dbrx": Pre(("llama3",)),
    **dict.fromkeys(("smaug-bpe", "chatglm-bpe"), Pre(("llama3",))),
    "qwen2": Pre(("qwen2",)),
    **dict.fromkeys(("deepseek-r1-qwen", "stablelm2", "megrez"), Pre(("qwen2",))),
    **dict.fromkeys(("gpt-4o", "llama4"), Pre((cased(CONTRACTION, r"\p{N}{1,3}"),))),
    "tekken": Pre((cased("", r"\p{N}"),), whole_piece=True, add_bos=True),
    "deepseek-v3": Pre(DEEPSEEK),
    "starcoder": Pre(DIGITS),
    **dict.fromkeys(("refact", "command-r", "smollm", "codeshell", "exaone"), Pre(DIGITS)),
}
# Patterns that llama.cpp runs as another regex, and the name of that one: saving writes it if the caller allows it.
NEAREST: Mapping[str, tuple[str, ...]] = {"gpt-4o": ("o200k",), "tekken": (TEKKEN,)}
# The ids that llama.cpp takes for the tokens before and after a text where a file of a kind does not name them.
USUAL_ENDS: Mapping[str, tuple[int | None, int]] = {"gpt2": (11, 11), "llama": (1, 2), "t5": (None, 1)}
# Pairs of patterns with the same matches, of which only one has a name: the core has one scanner for both.
SAME = {"gpt2": "gpt2_original", "cl100k_minbpe": "llama3"}


def sniff(data: bytes, path: str) -> bool:
    """Whether it starts as every such file does."""
    return data[:4] == MAGIC


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    """The model that the start of the file holds."""
    if special_tokens is not None:
        refuse_arguments("a GGUF file", UNSET, special_tokens)
    source = Source(values(data, path), path)
    kind = source.text("model", None)
    if kind == "gpt2":
        return byte_level(source, pattern)
    if kind in ("llama", "t5"):
        refuse_arguments("a GGUF file of SentencePiece's kind", pattern, None)
        around = post(source, kind, add_bos=kind == "llama", add_eos=kind == "t5")
        return characters(source, kind == "t5", around, metadata(source, "unknown_token_id"))
    raise FormatError(path, f"{KEYS}model", f"{kind!r} is not supported; 'gpt2', 'llama' and 't5' are")


class Source:
    """The values of a file, each looked at for its type when it is asked for."""

    def __init__(self, found: Mapping[str, Any], path: str) -> None:
        self.found, self.path = found, path
        self.around: set[str] = set()  # which of "bos" and "eos" are put around texts

    def fail(self, name: str, problem: str) -> Any:
        """Raises the error of a value."""
        raise FormatError(self.path, KEYS + name, problem)

    def get(self, name: str, kinds: type | tuple[type, ...], default: Any, what: str) -> Any:
        """A value of some types."""
        value = self.found.get(KEYS + name, default)
        if value is not default and not isinstance(value, kinds):
            self.fail(name, f"expected {what}, not {str(value)[:40]!r}")
        return value

    def text(self, name: str, default: str | None) -> str | None:
        """A text."""
        value = self.get(name, bytes, default, "a text")
        return text_of(value, self.path, KEYS + name) if isinstance(value, bytes) else value

    def flag(self, name: str, default: bool) -> bool:
        """A truth value."""
        return bool(self.get(name, bool, default, "a truth value"))

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        value = self.get(name, list, None, "a list of texts")
        if value is None:
            self.fail(name, "is missing")
        return [text_of(item, self.path, f"{KEYS}{name}[{at}]") for at, item in enumerate(value)]

    def numbers(self, name: str, kind: str, count: int) -> np.ndarray[Any, Any] | None:
        """An array of whole numbers (`kind` "iu") or others ("f"), as many as there are tokens; None if it is missing."""
        value = self.get(name, np.ndarray, None, "an array of numbers")
        if value is not None and (value.dtype.kind not in kind or len(value) != count):
            self.fail(name, f"expected {count} numbers, one for each token, not {len(value)} of the type {value.dtype}")
        return value  # type: ignore[no-any-return]

    def id(self, name: str, count: int) -> int | None:
        """The id of a token, below `count`."""
        value = self.get(name, int, None, "an id")
        if value is not None and (isinstance(value, bool) or not 0 <= value < count):
            self.fail(name, f"expected an id below {count}, not {value}")
        return None if value is None else int(value)

    def tokens(self) -> list[str]:
        """The contents of all entries."""
        tokens = self.texts("tokens")
        if not 0 < len(tokens) <= ID_LIMIT:
            self.fail("tokens", f"expected 1 to {ID_LIMIT} tokens, not {len(tokens)}")
        return tokens


def byte_level(source: Source, pattern: PatternArgument) -> Model:
    """A model of the kind `gpt2`."""
    contents = source.tokens()
    types = source.numbers("token_type", "iu", len(contents))
    kinds = [NORMAL] * len(contents) if types is None else types.tolist()
    tokens: dict[str, tuple[bytes, int]] = {}
    added = []
    for id, (content, kind) in enumerate(zip(contents, kinds, strict=True)):
        if kind in (UNKNOWN, CONTROL, USER_DEFINED):
            added.append(AddedToken(content, id, special=kind != USER_DEFINED))
        elif kind != UNUSED or content != hole(id):
            token = unspelt(content)
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
        known = f"the names that are known are {', '.join(PRES)}"
        raise InvalidOption("pattern", UNSET, f"the split pattern: the file has pre = {pre!r}; {known}")
    listed = list(tokens.values())
    return Model(
        TokenTable.of([token for token, _ in listed]),
        np.array([id for _, id in listed], np.uint32),
        merges=np.array(list(merges(source, tokens)), np.uint32),
        whole_piece=row is not None and row.whole_piece,
        splitters=splitters(pattern) if row is None else splitters(row.pattern),  # type: ignore[arg-type]
        added_tokens=tuple(added),
        post=post(source, "gpt2", add_bos=row is not None and row.add_bos),
        metadata=metadata(source),
    )


def merges(source: Source, tokens: Mapping[str, tuple[bytes, int]]) -> Iterator[tuple[int, int, int]]:
    """The ids of each merge."""
    for at, line in enumerate(source.texts("merges")):
        left, _, right = line.partition(" ")
        for text in (left, right, left + right):
            if text not in tokens:
                source.fail(f"merges[{at}]", f"{text[:40]!r} of {line[:80]!r} is not among the tokens")
        yield tokens[left][1], tokens[right][1], tokens[left + right][1]


def hole(id: int) -> str:
    """The content of an entry without a token."""
    return f"[PAD{id}]"


def post(source: Source, kind: str, add_bos: bool, add_eos: bool = False) -> tuple[Step, ...]:
    """The tokens around a text; the usual ids where the file does not name them."""
    contents = source.tokens()
    ends: list[tuple[int, str] | None] = []
    for name, default, usual in zip(("bos", "eos"), (add_bos, add_eos), USUAL_ENDS[kind], strict=True):
        given = source.id(f"{name}_token_id", len(contents))
        id = usual if given is None else given
        if not source.flag(f"add_{name}_token", default):
            ends.append(None)
        elif id is None or id >= len(contents):
            source.fail(f"add_{name}_token", f"there is no {name}_token_id")
        else:
            ends.append((id, contents[id]))
            source.around.add(name)
    return template(*ends) if any(ends) else ()


def template(bos: tuple[int, str] | None, eos: tuple[int, str] | None) -> tuple[Step, ...]:
    """The step that puts these tokens around each text."""

    def around(text: str, type_id: int) -> list[list[Any]]:
        before = [[bos[1], True, type_id]] if bos else []
        behind = [[eos[1], True, type_id]] if eos else []
        return [*before, [text, False, type_id], *behind]

    tokens = {content: [[id], [content]] for id, content in filter(None, (bos, eos))}
    options = {"single": around("A", 0), "pair": [*around("A", 0), *around("B", 1)], "special_tokens": tokens}
    return (Step("template", tuple(sorted(options.items()))),)


def metadata(source: Source, *more_said: str) -> dict[str, str]:
    """Other content of the file: ids with a meaning, and the chat template."""
    own = source.found.get(OWN, b"{}")
    try:
        kept = parse_json(own) if isinstance(own, bytes) else None
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or not all(isinstance(value, str) for value in kept.values()):
        raise FormatError(source.path, OWN, f"expected a JSON object of texts, not {str(own)[:40]!r}")
    said = {KEYS + name for name in (*SAID, *more_said)}
    said |= {f"{KEYS}{side}_token_id" for side in ("bos", "eos") if side in source.around}
    contents = source.tokens()
    types = source.numbers("token_type", "iu", len(contents))
    control = [] if types is None else np.flatnonzero(types == CONTROL).tolist()
    roles = roles_by_content({contents[id]: id for id in control})
    more: dict[str, Any] = {}
    for name, value in source.found.items():
        if name in roles and isinstance(value, int) and value == roles[name]:
            continue
        if name.startswith("tokenizer.") and name not in said and isinstance(value, (bool, int, bytes)):
            more[name] = text_of(value, source.path, name) if isinstance(value, bytes) else value
    return {**kept, **({"gguf": dump_json(more)} if more else {})}


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """A file with the tokenizer and no weights."""
    gguf = package()
    is_characters = model.unit == "char"
    more_held = ("byte_fallback", "decoders", "kind", "normalizers", "scores", "unknown_id") if is_characters else ()
    holds = (*HOLDS, *more_held)
    refuse_losses(model, NAME, allow_loss, holds=holds)
    given = character_entries(model, allow_loss) if is_characters else byte_entries(model, allow_loss)
    given.update(ends_of(model))
    more, own = metadata_of(model, allow_loss)
    given.update({name: value for name, value in more.items() if given.get(name, value) == value})
    roles = roles_by_content({token.content: token.id for token in model.added_tokens if token.special})
    given = {**roles, **given}
    import tempfile  # slow to import

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.gguf"
        writer = gguf.GGUFWriter(path, given[f"{KEYS}model"])
        for name, value in {**given, **({OWN: own} if own else {})}.items():
            add(gguf, writer, name, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path.read_bytes()


def package() -> Any:
    """The package that writes such files."""
    try:
        import gguf
    except ImportError:
        raise ImportError("saving GGUF files requires the package gguf; run pip install 'toksmith[gguf]'") from None
    return gguf


def add(gguf: Any, writer: Any, name: str, value: Any) -> None:
    """Adds a value under its name."""
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
    """The values of a model of bytes."""
    whole_piece, pre = pre_of(model, allow_loss)
    rows = model.vocab.recover_merges() if whole_piece else pair_merges(model, NAME)
    if not len(rows):
        raise CannotRepresent(NAME, "merges", "llama.cpp does not load a file without merges")
    by_id = dict(zip(model.ids.tolist(), map(spelt, model.tokens), strict=True))
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
        utf8_of(token.content, NAME)
        entries[token.id] = (token.content, CONTROL if token.special else USER_DEFINED)
        contents.add(token.content)
    if model.vocab_size > HOLES * (len(entries) + ID_LIMIT // 256):
        problem = f"the file needs an entry for each id up to the largest: {model.vocab_size} entries for {len(entries)} tokens"
        raise CannotRepresent(NAME, "ids", problem)
    rows_by_id = [entries.get(id, (hole(id), UNUSED)) for id in range(model.vocab_size)]
    if any(entry[1] == UNUSED and entry[0] in contents for entry in rows_by_id):
        raise CannotRepresent(NAME, "ids", "a token has the same spelling as the placeholder for an unused id")
    return {
        f"{KEYS}model": "gpt2",
        f"{KEYS}pre": pre,
        f"{KEYS}tokens": [content for content, _ in rows_by_id],
        f"{KEYS}token_type": [kind for _, kind in rows_by_id],
        f"{KEYS}merges": [f"{by_id[left]} {by_id[right]}" for left, right, _ in rows.tolist()],
    }


def pre_of(model: Model, allow_loss: Collection[str]) -> tuple[bool, str]:
    """Whether whole pieces are looked up, and the name for how the model splits.

    A model that looks them up can do without where merging makes all its tokens, which is looked at later.
    """
    same = {patterns()[name].regexes: patterns()[other].regexes for name, other in SAME.items()}
    own = tuple(step["pattern"] for step in model.splitters)
    own = same.get(own, own)
    found = [(row.whole_piece, name) for name, row in PRES.items() if regexes(row.pattern) == own]
    near = [(PRES[name].whole_piece, name) for name, pattern in NEAREST.items() if regexes(pattern) == own]
    if near and "splitters" in allow_loss:
        found = near
    fitting = [each for each in found if each[0] == model.whole_piece] or [each for each in found if not each[0]]
    if not fitting:
        shown = ", ".join(map(repr, own)) or "an unsplit text"
        why = f"llama.cpp knows {shown[:200]} {'only with the lookup of whole pieces' if found else 'not'} by name"
        if near:
            why = f"for {near[0][1]!r} llama.cpp runs a regex without marks, and without case beyond ASCII"
            why += "; allow_loss=['splitters'] writes this name"
        raise CannotRepresent(NAME, "splitters", f"the format stores the name of a pattern, and {why}")
    return fitting[0]


def regexes(pattern: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a row."""
    return tuple(step["pattern"] for step in splitters(pattern))


def ends_of(model: Model) -> dict[str, Any]:
    """The tokens around a text, as values."""
    given: dict[str, Any] = {f"{KEYS}add_bos_token": False, f"{KEYS}add_eos_token": False}
    if not model.post:
        return given
    problem = "the format supports only one token before a text and one after it"
    if len(model.post) != 1 or model.post[0].kind != "template":
        raise CannotRepresent(NAME, "post", problem)
    step, around = model.post[0], template_of(model).single
    if around is None:
        raise CannotRepresent(NAME, "post", problem)
    sides: dict[str, tuple[int, str]] = {}
    side = "bos"
    for (name, _, _), piece in zip(step["single"], around, strict=True):
        if piece.text:
            side = "eos"
        elif len(piece.ids) == 1 and piece.ids[0] < model.vocab_size:
            sides[side] = (piece.ids[0], name)
    if (step,) != template(sides.get("bos"), sides.get("eos")):
        raise CannotRepresent(NAME, "post", problem)
    for side, (id, _) in sides.items():
        given |= {f"{KEYS}add_{side}_token": True, f"{KEYS}{side}_token_id": id}
    return given


def metadata_of(model: Model, allow_loss: Collection[str]) -> tuple[dict[str, Any], str]:
    """The values that the metadata hold, and all other metadata as JSON."""
    if "metadata" in allow_loss:
        return {}, ""
    rest = dict(model.metadata)
    try:
        more = json.loads(rest.pop("gguf", "{}"))
    except (ValueError, RecursionError):
        more = None
    fine = isinstance(more, dict) and all(
        name.startswith("tokenizer.")
        and (isinstance(value, str) or (isinstance(value, int) and -1 << 63 <= value < 1 << 64))
        for name, value in more.items()
    )
    if not fine:
        raise InvalidOption("metadata", model.metadata["gguf"], "a JSON object, as load() creates it from such a file")
    return more, dump_json(rest) if rest else ""


def roles_by_content(ids: Mapping[str, int]) -> dict[str, int]:
    """The id of each role, from the ids of the special tokens; without a role that none or several of them may have."""
    found = {role: [ids[content] for content in known if content in ids] for role, known in BY_CONTENT.items()}
    return {f"tokenizer.ggml.{role}_token_id": each[0] for role, each in found.items() if len(each) == 1}
