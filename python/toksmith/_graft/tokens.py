"""Finds the old rows of each new token: its own row, or the rows of the pieces of its text.

A token keeps its row if the old tokenizer has a token with the same bytes and the same `special` flag, or if a map of ids
contains it. The pieces of a new token are the ids of its text under the old tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._base.wording import quote_value
from .._model.model import Model
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap
from ..errors import InvalidOption, NotInVocabulary

BLOCK = "▁".encode()
BYTE = re.compile(rb"<0x([0-9A-F]{2})>")


class TokenKey(NamedTuple):
    token: bytes
    special: bool

    def __str__(self) -> str:
        return quote_value(self.token.decode("utf-8", "backslashreplace"))


@dataclass(frozen=True)
class Origins:
    old: Mapping[int, TokenKey]
    new: Mapping[int, TokenKey]
    kept: Mapping[int, int]  # the old id of each new id that keeps its row
    pieces: Mapping[int, tuple[int, ...]]  # the old ids of each new token's pieces; can be empty
    moved: Mapping[int, int]  # the new id of each old id whose token stays

    @property
    def dropped(self) -> list[int]:
        """The old ids whose tokens the new tokenizer lacks."""
        return [id for id in self.old if id not in self.moved]


def token_keys(tok: Tokenizer) -> dict[int, TokenKey]:
    """The tokens by id, ascending. An added token replaces the vocabulary's token with its id."""
    model = tok.model
    key_of = {id: TokenKey(token, False) for id, token in zip(model.ids.tolist(), model.tokens, strict=True)}
    key_of |= {added.id: TokenKey(added.content.encode(), added.special) for added in model.added_tokens}
    return dict(sorted(key_of.items()))


def find_origins(old: Tokenizer, new: Tokenizer, id_map: IdMap | None = None) -> Origins:
    before, after = token_keys(old), token_keys(new)
    if id_map is not None:
        check_map(id_map, old, before, after)
        kept = {to: id for id, to in id_map.old_to_new.items()}
    else:
        place = {key: id for id, key in reversed(before.items())}  # the first of equal tokens
        kept = {id: place[key] for id, key in after.items() if key in place}
    new_ids = [id for id in after if id not in kept]
    pieces = find_pieces(old, new, {id: after[id] for id in new_ids})
    if id_map is not None:
        pieces |= {id: tuple(id_map.sources[id]) for id in new_ids if id_map.sources.get(id)}
    moved = {id: to for to, id in reversed(kept.items())}
    return Origins(before, after, dict(sorted(kept.items())), pieces, moved)


def check_map(id_map: IdMap, old: Tokenizer, before: Mapping[int, TokenKey], after: Mapping[int, TokenKey]) -> None:
    if id_map.fingerprint is not None and id_map.fingerprint != old.fingerprint:
        expected = (
            f"a map made from the checkpoint's tokenizer, whose fingerprint is {old.fingerprint[:12]}; the map was made "
            f"from {id_map.fingerprint[:12]}. Name that tokenizer with old=, or make the map anew"
        )
        raise InvalidOption("id_map", id_map, expected)
    for old_id, new_id in id_map.old_to_new.items():
        if before.get(old_id) != after.get(new_id):
            names = [str(key) if key else "no token" for key in (before.get(old_id), after.get(new_id))]
            expected = f"a map of these tokenizers; it sends the id {old_id} ({names[0]}) to {new_id} ({names[1]})"
            raise InvalidOption("id_map", id_map, expected)
    for new_id, sources in id_map.sources.items():
        if unknown := [id for id in sources if id not in before]:
            raise InvalidOption(
                "id_map", id_map, f"sources that the old tokenizer has; it lacks {unknown[0]}, a source of {new_id}"
            )


def find_pieces(old: Tokenizer, new: Tokenizer, keys: Mapping[int, TokenKey]) -> dict[int, tuple[int, ...]]:
    """The ids of each token's text under the old tokenizer, without the unknown id."""
    added = {token.id for token in new.model.added_tokens}
    bare_old = without_steps(old)
    respellings = {id: respell(key.token, new.model, old.model) for id, key in keys.items() if id not in added}
    texts = {id: key.token for id, key in keys.items() if id in added}
    ids_of = {**encode_texts(bare_old, respellings), **encode_texts(old, texts)}
    unknown = old.model.unknown_id
    return {id: tuple(piece for piece in ids_of[id] if piece != unknown) for id in keys}


def encode_texts(tok: Tokenizer, texts: Mapping[int, bytes]) -> dict[int, list[int]]:
    """The ids of texts, by the same keys; an empty list for a text that the tokenizer cannot encode."""
    try:
        return dict(zip(texts, tok.encode_batch([*texts.values()], special="text"), strict=True))
    except NotInVocabulary:
        return {id: encode_alone(tok, text) for id, text in texts.items()}


def encode_alone(tok: Tokenizer, text: bytes) -> list[int]:
    """The ids of one text; an empty list if the tokenizer cannot encode it."""
    try:
        return tok.encode(text, special="text")
    except NotInVocabulary:
        return []


def without_steps(tok: Tokenizer) -> Tokenizer:
    """The tokenizer without steps that would change a token's text, such as a space mark before it."""
    bare: dict[str, Any] = dict.fromkeys(("added_tokens", "post", "decoders"), ())
    if marks_spaces(tok.model):
        bare |= dict.fromkeys(("normalizers", "splitters"), ())
    return Tokenizer(replace(tok.model, **bare, training=None))


def marks_spaces(model: Model) -> bool:
    """Whether the tokens contain `▁` for a space."""
    return model.unit == "char" and any(token.startswith(BLOCK) for token in model.tokens)


def respell(token: bytes, new: Model, old: Model) -> bytes:
    """The text of a new model's token, in the old model's spelling of spaces."""
    if new.byte_fallback and (byte := BYTE.fullmatch(token)):
        return bytes.fromhex(byte[1].decode())
    text = token.removeprefix((new.continuing_subword_prefix or "").encode())
    suffix = (new.end_of_word_suffix or "").encode()
    text = text.removesuffix(suffix) if suffix else text
    if marks_spaces(new) and not marks_spaces(old):
        return text.replace(BLOCK, b" ")
    return text.replace(b" ", BLOCK) if marks_spaces(old) and not marks_spaces(new) else text
