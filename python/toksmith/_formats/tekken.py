"""Mistral's `tekken.json`: ranks with their bytes, the pattern, and special tokens, which take the first ids.

Only the first `default_vocab_size - default_num_special_tokens` entries of the vocabulary are used. The ids of special
tokens come first; missing special tokens are named `<SPECIAL_n>`. Other content of the file (images, audio) is kept as
metadata. Mistral's own library never finds special tokens in a text; toksmith finds them if a call allows it. It also
asserts that the first 256 tokens are the bytes in order. `RENUMBER` gives any model ids that fit.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from .._base.errors import CannotRepresent, FormatError, InvalidOption
from .._model.model import ID_LIMIT, AddedToken, Model, TokenTable, regex_split
from .._model.patterns import PatternArgument
from . import refuse_arguments
from .arguments import refuse_losses
from .json import dump_json, parse_object
from .texts import utf8_of
from .tiktoken import ranks_of

__all__ = ["DOC", "NAME", "RENUMBER", "SUFFIXES", "load", "save", "sniff"]

NAME = "tekken"
MOST_BYTES = 1 << 27
SUFFIXES = ("tekken*.json",)
DOC = "Mistral's tekken.json, or tekken_240911.json"

HEAD = 1 << 16
# The special tokens of the versions up to v7, whose files do not list them.
OLD_SPECIAL_TOKENS = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
]
WAY = "toksmith.convert(…, renumber=True) gives tokens such ids, and a map from the old to the new"
CONFIG = ("pattern", "num_vocab_tokens", "default_vocab_size", "default_num_special_tokens", "version")
OWN = ("config", "vocab", "special_tokens")
# Other content of a file, for models that have none.
USUAL: Mapping[str, Any] = {"config": {"version": "v7"}}


def sniff(data: bytes, path: str) -> bool:
    """Whether it is a JSON object with the names that such files have."""
    if not data[:64].lstrip().startswith(b"{"):
        return False
    ends = data[:HEAD] + data[-HEAD:]
    return (b'"token_bytes"' in ends and b'"rank"' in ends) or b'"default_num_special_tokens"' in ends


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    """The model that the file holds."""
    refuse_arguments("a tekken.json", pattern, special_tokens)
    value = parse_object(data, path, MOST_BYTES)
    if not isinstance(config := value.get("config"), dict):
        raise FormatError(path, "config", f"expected an object, not {str(config)[:40]!r}")
    reserved = size_of(config, "default_num_special_tokens", path)
    used = size_of(config, "default_vocab_size", path) - reserved
    if not isinstance(config.get("pattern"), str) or not config["pattern"]:
        raise FormatError(path, "config.pattern", f"expected a regex, not {str(config.get('pattern'))[:40]!r}")
    tokens = list(checked_vocab(value.get("vocab"), used, path))
    added = checked_special(value.get("special_tokens"), reserved, path)
    more = {name: item for name, item in value.items() if name not in OWN}
    kept: dict[str, Any] = {"config": {n: v for n, v in config.items() if n not in CONFIG[:4]}, **more}
    metadata = {"tekken": dump_json(kept)} if kept != USUAL else {}
    return Model(
        TokenTable.of(tokens),
        np.arange(reserved, reserved + len(tokens), dtype=np.uint32),
        merge_rule="bytes",
        whole_piece=True,
        splitters=(regex_split(config["pattern"]),),
        added_tokens=tuple(added),
        metadata=metadata,
    )


def size_of(config: Mapping[str, Any], name: str, path: str) -> int:
    """A size of the configuration."""
    size = config.get(name)
    if type(size) is not int or not 0 <= size <= ID_LIMIT:
        raise FormatError(path, f"config.{name}", f"expected a number up to {ID_LIMIT}, not {str(size)[:40]}")
    return size


def checked_vocab(vocab: object, used: int, path: str) -> Iterator[bytes]:
    """The tokens in rank order."""
    if not isinstance(vocab, list) or not 0 <= used <= len(vocab):
        raise FormatError(path, "vocab", f"expected a list of at least {used} tokens")
    for rank, row in enumerate(vocab[:used]):
        place = f"vocab[{rank}]"
        if not isinstance(row, dict) or row.get("rank") != rank or type(row.get("rank")) is not int:
            raise FormatError(path, place, f"expected an object with the rank {rank}, not {str(row)[:60]}")
        try:
            token = base64.b64decode(row["token_bytes"], validate=True)
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise FormatError(path, place, f"token_bytes is not base64: {str(row.get('token_bytes'))[:40]}") from error
        if not token:
            raise FormatError(path, place, "is an empty token")
        yield token


def checked_special(rows: object, reserved: int, path: str) -> list[AddedToken]:
    """The special tokens, one for each reserved id."""
    if rows is None:
        rows = [{"rank": rank, "token_str": content} for rank, content in enumerate(OLD_SPECIAL_TOKENS)]
    if not isinstance(rows, list) or len(rows) > reserved:
        raise FormatError(path, "special_tokens", f"expected a list of at most {reserved}")
    contents: dict[int, str] = {}
    for number, row in enumerate(rows):
        place = f"special_tokens[{number}]"
        rank, content = (row.get("rank"), row.get("token_str")) if isinstance(row, dict) else (None, None)
        if type(rank) is not int or not 0 <= rank < reserved or rank in contents:
            raise FormatError(path, place, f"expected an unused rank below {reserved}, not {str(rank)[:40]}")
        if not isinstance(content, str) or not content:
            raise FormatError(path, place, f"expected a token_str, not {str(content)[:40]!r}")
        contents[rank] = content
    return [AddedToken(contents.get(rank, f"<SPECIAL_{rank}>"), rank) for rank in range(reserved)]


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The JSON that Mistral's library loads."""
    refuse_losses(model, NAME, allow_loss, holds=("metadata",))
    kept = metadata_of(model, allow_loss)
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "its tokens consist of bytes, not of characters")
    if len(model.splitters) != 1 or not model.splitters[0]["pattern"]:
        found = [step["pattern"] for step in model.splitters]
        raise CannotRepresent(NAME, "splitters", f"the format supports only one regex that is not empty, not {found}")
    ranked = ranks_of(model, NAME)
    reserved = len(model.added_tokens)
    if sorted(token.id for token in model.added_tokens) != list(range(reserved)):
        problem = f"the {reserved} special tokens must have the first ids, 0 to {reserved - 1}; {WAY}"
        raise CannotRepresent(NAME, "added_tokens", problem)
    if ranked.ids.tolist() != list(range(reserved, reserved + len(ranked.ids))):
        problem = "ids must follow those of the special tokens without holes, in rank order"
        raise CannotRepresent(NAME, "ids", f"{problem}; {WAY}")
    if list(ranked.tokens)[:256] != [bytes([byte]) for byte in range(256)]:
        problem = "Mistral's library requires the bytes as the first 256 tokens, in their order"
        raise CannotRepresent(NAME, "ids", f"{problem}; {WAY}")
    special = sorted(model.added_tokens, key=lambda token: token.id)
    config = {
        "pattern": model.splitters[0]["pattern"],
        "num_vocab_tokens": len(ranked.ids),
        "default_vocab_size": reserved + len(ranked.ids),
        "default_num_special_tokens": reserved,
        **(USUAL["config"] | kept.pop("config", {})),
    }
    value = {
        "config": config,
        "vocab": [row_of(rank, token) for rank, token in enumerate(ranked.tokens)],
        "special_tokens": [{"rank": t.id, "token_str": t.content, "is_control": True} for t in special],
        **kept,
    }
    return utf8_of(json.dumps(value, ensure_ascii=False), NAME)


def ids_that_fit(model: Model) -> dict[int, int]:
    """The new id for each old one: first special tokens, then the bytes in order, then other tokens by rank."""
    ids, tokens = model.ids.tolist(), [*model.tokens]
    ranks = {id: rank for rank, id in enumerate(ids)}
    if model.merge_rule == "pair":
        ranks = {id: rank for rank, id in reversed([*enumerate(model.merges[:, 2].tolist())])}
    rows = [(ranks.get(id, -1), id, token) for id, token in zip(ids, tokens, strict=True) if len(token) > 1]
    special = sorted({token.id for token in model.added_tokens})
    single = sorted((token, id) for id, token in zip(ids, tokens, strict=True) if len(token) == 1)
    old = [*special, *(id for _, id in single), *(id for _, id, _ in sorted(rows))]
    return {id: new for new, id in enumerate(dict.fromkeys(old))}


RENUMBER = ids_that_fit


def metadata_of(model: Model, allow_loss: Collection[str]) -> dict[str, Any]:
    """What the file that the model is from said beside the tokenizer."""
    if "metadata" not in allow_loss and model.metadata.keys() - {"tekken"}:
        problem = "the format has no field for it; allow_loss=['metadata'] leaves it out"
        raise CannotRepresent(NAME, "metadata", problem)
    try:
        kept = json.loads(model.metadata.get("tekken", "{}"))
    except (ValueError, RecursionError):
        kept = None
    if not isinstance(kept, dict) or not isinstance(kept.get("config", {}), dict):
        raise InvalidOption(
            "metadata", model.metadata["tekken"], "a JSON object, as load() creates it from such a file"
        )
    return kept


def row_of(rank: int, token: bytes) -> dict[str, Any]:
    """The entry of a token."""
    try:
        text: str | None = token.decode()
    except UnicodeDecodeError:
        text = None
    return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text}
