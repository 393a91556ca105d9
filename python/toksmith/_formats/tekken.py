"""Mistral's `tekken.json`: ranks with their bytes, the pattern, and special tokens, which have the first ids.

Only the first `default_vocab_size - default_num_special_tokens` entries of the vocabulary are used. The ids of special
tokens come first; missing special tokens get the names `<SPECIAL_n>`. The model keeps other content of the file (images,
audio) as metadata. Mistral's library never finds special tokens in a text; toksmith finds them if a call allows it.
Mistral's library asserts that the first 256 tokens are the bytes in order. `RENUMBER` gives any model ids that fit.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._base import lazy_numpy as np
from .._model.model import ID_LIMIT, AddedToken, Model, TokenTable, regex_split
from .._model.patterns import PatternArgument
from ..errors import CannotRepresent, FormatError, InvalidOption
from . import refuse_arguments
from .arguments import refuse_losses
from .json import dump_json, parse_object
from .texts import encode_text
from .tiktoken import to_ranks

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
ADVICE = "toksmith.convert(…, renumber=True) gives tokens such ids, and a map from the old to the new"
CONFIG = ("pattern", "num_vocab_tokens", "default_vocab_size", "default_num_special_tokens", "version")
OWN = ("config", "vocab", "special_tokens")
# The other content that `save` writes for models without such metadata; `load` does not keep it.
USUAL: Mapping[str, Any] = {"config": {"version": "v7"}}


def sniff(data: bytes, path: str) -> bool:
    """Whether the data are a JSON object with the names of such files."""
    if not data[:64].lstrip().startswith(b"{"):
        return False
    ends = data[:HEAD] + data[-HEAD:]
    return (b'"token_bytes"' in ends and b'"rank"' in ends) or b'"default_num_special_tokens"' in ends


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    refuse_arguments("a tekken.json", pattern, special_tokens)
    value = parse_object(data, path, MOST_BYTES)
    if not isinstance(config := value.get("config"), dict):
        raise FormatError(path, "config", f"expected an object, not {str(config)[:40]!r}")
    special_count = read_size(config, "default_num_special_tokens", path)
    token_count = read_size(config, "default_vocab_size", path) - special_count
    if not isinstance(config.get("pattern"), str) or not config["pattern"]:
        raise FormatError(path, "config.pattern", f"expected a regex, not {str(config.get('pattern'))[:40]!r}")
    tokens = list(parse_vocab(value.get("vocab"), token_count, path))
    added = parse_special(value.get("special_tokens"), special_count, path)
    other_parts = {name: item for name, item in value.items() if name not in OWN}
    other_content: dict[str, Any] = {"config": {n: v for n, v in config.items() if n not in CONFIG[:4]}, **other_parts}
    metadata = {"tekken": dump_json(other_content)} if other_content != USUAL else {}
    return Model(
        TokenTable.of(tokens),
        np.arange(special_count, special_count + len(tokens), dtype=np.uint32),
        merge_rule="bytes",
        whole_piece=True,
        splitters=(regex_split(config["pattern"]),),
        added_tokens=tuple(added),
        metadata=metadata,
    )


def read_size(config: Mapping[str, Any], name: str, path: str) -> int:
    size = config.get(name)
    if type(size) is not int or not 0 <= size <= ID_LIMIT:
        raise FormatError(path, f"config.{name}", f"expected a number up to {ID_LIMIT}, not {str(size)[:40]}")
    return size


def parse_vocab(vocab: object, used: int, path: str) -> Iterator[bytes]:
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


def parse_special(rows: object, reserved: int, path: str) -> list[AddedToken]:
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
    refuse_losses(model, NAME, allow_loss, holds=("metadata",))
    other_content = parse_metadata(model, allow_loss)
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "its tokens consist of bytes, not of characters")
    if len(model.splitters) != 1 or not model.splitters[0]["pattern"]:
        regexes = [step["pattern"] for step in model.splitters]
        raise CannotRepresent(NAME, "splitters", f"the format supports only one regex that is not empty, not {regexes}")
    ranked = to_ranks(model, NAME)
    special_count = len(model.added_tokens)
    if sorted(token.id for token in model.added_tokens) != list(range(special_count)):
        problem = f"the {special_count} special tokens must have the first ids, 0 to {special_count - 1}; {ADVICE}"
        raise CannotRepresent(NAME, "added_tokens", problem)
    if ranked.ids.tolist() != list(range(special_count, special_count + len(ranked.ids))):
        problem = "ids must follow the ids of the special tokens without holes, in rank order"
        raise CannotRepresent(NAME, "ids", f"{problem}; {ADVICE}")
    if list(ranked.tokens)[:256] != [bytes([byte]) for byte in range(256)]:
        problem = "Mistral's library requires the bytes as the first 256 tokens, in their order"
        raise CannotRepresent(NAME, "ids", f"{problem}; {ADVICE}")
    special = sorted(model.added_tokens, key=lambda token: token.id)
    config = {
        "pattern": model.splitters[0]["pattern"],
        "num_vocab_tokens": len(ranked.ids),
        "default_vocab_size": special_count + len(ranked.ids),
        "default_num_special_tokens": special_count,
        **(USUAL["config"] | other_content.pop("config", {})),
    }
    value = {
        "config": config,
        "vocab": [token_entry(rank, token) for rank, token in enumerate(ranked.tokens)],
        "special_tokens": [{"rank": t.id, "token_str": t.content, "is_control": True} for t in special],
        **other_content,
    }
    return encode_text(json.dumps(value, ensure_ascii=False), NAME)


def fitting_ids(model: Model) -> dict[int, int]:
    """The new id for each old id: first special tokens, then the bytes in order, then other tokens by rank."""
    ids, tokens = model.ids.tolist(), [*model.tokens]
    ranks = {id: rank for rank, id in enumerate(ids)}
    if model.merge_rule == "pair":
        ranks = {id: rank for rank, id in reversed([*enumerate(model.merges[:, 2].tolist())])}
    rows = [(ranks.get(id, -1), id, token) for id, token in zip(ids, tokens, strict=True) if len(token) > 1]
    special = sorted({token.id for token in model.added_tokens})
    single = sorted((token, id) for id, token in zip(ids, tokens, strict=True) if len(token) == 1)
    old = [*special, *(id for _, id in single), *(id for _, id, _ in sorted(rows))]
    return {id: new for new, id in enumerate(dict.fromkeys(old))}


RENUMBER = fitting_ids


def parse_metadata(model: Model, allow_loss: Collection[str]) -> dict[str, Any]:
    """The other content (images, audio) of the file that the model was loaded from."""
    if "metadata" not in allow_loss and model.metadata.keys() - {"tekken"}:
        problem = "the format has no field for it; allow_loss=['metadata'] leaves it out"
        raise CannotRepresent(NAME, "metadata", problem)
    try:
        content = json.loads(model.metadata.get("tekken", "{}"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("config", {}), dict):
        raise InvalidOption(
            "metadata", model.metadata["tekken"], "a JSON object, as load() creates it from such a file"
        )
    return content


def token_entry(rank: int, token: bytes) -> dict[str, Any]:
    try:
        text: str | None = token.decode()
    except UnicodeDecodeError:
        text = None
    return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text}
