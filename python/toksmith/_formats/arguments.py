"""Data outside the file: special tokens given to `load()`, and fields of the model that `save()` can lose."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .._base.wording import quote_value
from .._model.model import ID_LIMIT, AddedToken, Model, TokenTable, is_regex_split
from .._model.special import check_special_tokens
from ..errors import CannotRepresent, InvalidOption


def added_tokens(special_tokens: Mapping[str, int] | None, tokens: TokenTable, ids: Any) -> tuple[AddedToken, ...]:
    """The added tokens of the argument `special_tokens`; raises if an id belongs to another token of the table."""
    if not special_tokens:
        return ()
    check_special_tokens(list(special_tokens))
    contents: dict[int, str] = {}
    for content, id in special_tokens.items():
        if type(id) is not int:
            raise TypeError(f"special_tokens: the id of {quote_value(content)} must be an int, not {type(id).__name__}")
        if not 0 <= id < ID_LIMIT:
            raise InvalidOption("special_tokens", (content, id), f"ids from 0 to {ID_LIMIT - 1}")
        if id in contents:
            raise InvalidOption("special_tokens", (contents[id], content), f"only one token with the id {id}")
        contents[id] = content
    id_list = array("I", bytes(ids))
    for id in sorted(set(contents).intersection(id_list)):
        token = tokens[id_list.index(id)]
        if token != contents[id].encode():
            raise InvalidOption("special_tokens", (contents[id], id), f"a free id; {token!r} already has this one")
    return tuple(AddedToken(content, id) for content, id in special_tokens.items())


# The fields that the caller can allow to lose, each with the condition under which a file loses it.
LOSABLE: dict[str, Callable[[Model], bool]] = {
    "added_tokens": lambda model: any(token != AddedToken(token.content, token.id) for token in model.added_tokens),
    "decoders": lambda model: bool(model.decoders),
    "metadata": lambda model: bool(model.metadata),
    "normalizers": lambda model: bool(model.normalizers),
    "post": lambda model: bool(model.post),
    "splitters": lambda model: not all(map(is_regex_split, model.splitters)),
}
# The fields that decide ids and must never be lost.
NEEDED: dict[str, Callable[[Model], bool]] = {
    "kind": lambda model: model.kind != "bpe",
    "scores": lambda model: model.scores is not None,
    "unknown_id": lambda model: model.unknown_id is not None,
    "byte_fallback": lambda model: model.byte_fallback,
    "continuing_subword_prefix": lambda model: bool(model.continuing_subword_prefix),
    "end_of_word_suffix": lambda model: bool(model.end_of_word_suffix),
    "fuse_unknown": lambda model: model.fuse_unknown,
    "max_piece_chars": lambda model: model.max_piece_chars is not None,
    "unused_ids": lambda model: bool(model.unused_ids),
}
# The fields of NEEDED that a format can store inexactly (other ids for some texts) if the caller allows it.
IN_PART = ("scores",)
REASONS = {
    "added_tokens": "load(special_tokens=…) supplies only contents and ids of special tokens, no flags",
    "kind": "the format supports only byte-pair encodings",
    "splitters": "load(pattern=…) supplies only regexes in the Rust dialect whose matches are pieces",
}


def check_losses(allow_loss: Collection[str]) -> frozenset[str]:
    """The names of `allow_loss` as a set; raises InvalidOption for an unknown name."""
    names = frozenset([allow_loss] if isinstance(allow_loss, str) else allow_loss)
    losable = sorted((*LOSABLE, *IN_PART))
    for name in sorted(names.difference(losable)):
        raise InvalidOption("allow_loss", name, f"names of {', '.join(losable)}")
    return names


def refuse_losses(model: Model, format: str, allow_loss: Collection[str], holds: Collection[str] = ()) -> None:
    """Raises CannotRepresent for the first field, except tables, that a format for byte-pair encodings would lose.

    `holds` names the fields that the format can store. The training record and the arguments of `load()` do not count.
    """
    for name, would_lose in (NEEDED | LOSABLE).items():
        if (name not in allow_loss or name in NEEDED) and name not in holds and would_lose(model):
            reason = REASONS.get(name, "the format has no field for it")
            leave = f"; allow_loss=[{name!r}] leaves it out" if name in LOSABLE else ""
            raise CannotRepresent(format, name, reason + leave)
