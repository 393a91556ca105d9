"""Which rows of the old tokenizer a token of the new one comes from: its own, or those of the pieces of its text.

A token keeps its row where the old tokenizer has a token of the same bytes that is special too, or is not special either;
or where a map of ids says so. The pieces of a new token are the ids of its text under the old tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from .._base.errors import InvalidOption, NotInVocabulary, quoted
from .._model.model import Model
from .._tokenizer.tokenizer import Tokenizer
from .._training.surgery import IdMap

__all__ = ["Origins", "TokenKey", "keys_of", "origins"]

BLOCK = "▁".encode()
BYTE = re.compile(rb"<0x([0-9A-F]{2})>")


class TokenKey(NamedTuple):
    """What a token is matched by."""

    token: bytes
    special: bool

    def __str__(self) -> str:
        return quoted(self.token.decode("utf-8", "backslashreplace"))


@dataclass(frozen=True)
class Origins:
    """Where the tokens of the new tokenizer come from."""

    old: Mapping[int, TokenKey]
    new: Mapping[int, TokenKey]
    kept: Mapping[int, int]  # the old id of each new id that keeps its row
    pieces: Mapping[int, tuple[int, ...]]  # the old ids that a new token consists of; empty where there are none
    moved: Mapping[int, int]  # the new id of each old id that stays

    @property
    def dropped(self) -> list[int]:
        """The old ids whose tokens the new tokenizer lacks."""
        return [id for id in self.old if id not in self.moved]


def keys_of(tok: Tokenizer) -> dict[int, TokenKey]:
    """The tokens by id, ascending. A token that is in the vocabulary and an added token is the added one."""
    model = tok.model
    found = {id: TokenKey(token, False) for id, token in zip(model.ids.tolist(), model.tokens, strict=True)}
    found |= {added.id: TokenKey(added.content.encode(), added.special) for added in model.added_tokens}
    return dict(sorted(found.items()))


def origins(old: Tokenizer, new: Tokenizer, id_map: IdMap | None = None) -> Origins:
    before, after = keys_of(old), keys_of(new)
    if id_map is not None:
        check_map(id_map, old, before, after)
        kept = {to: id for id, to in id_map.old_to_new.items()}
    else:
        place = {key: id for id, key in reversed(before.items())}  # of equal tokens the first
        kept = {id: place[key] for id, key in after.items() if key in place}
    made = [id for id in after if id not in kept]
    pieces = pieces_of(old, new, {id: after[id] for id in made})
    if id_map is not None:
        pieces |= {id: tuple(id_map.sources[id]) for id in made if id_map.sources.get(id)}
    moved = {id: to for to, id in reversed(kept.items())}
    return Origins(before, after, dict(sorted(kept.items())), pieces, moved)


def check_map(id_map: IdMap, old: Tokenizer, before: Mapping[int, TokenKey], after: Mapping[int, TokenKey]) -> None:
    if id_map.fingerprint is not None and id_map.fingerprint != old.fingerprint:
        expected = (
            f"a map made from the checkpoint's tokenizer, whose fingerprint is {old.fingerprint[:12]}; the map was made "
            f"from {id_map.fingerprint[:12]}. Name that tokenizer with old=, or make the map anew"
        )
        raise InvalidOption("id_map", id_map, expected)
    for was, now in id_map.old_to_new.items():
        if before.get(was) != after.get(now):
            said = [str(key) if key else "no token" for key in (before.get(was), after.get(now))]
            expected = f"a map of these tokenizers; it sends the id {was} ({said[0]}) to {now} ({said[1]})"
            raise InvalidOption("id_map", id_map, expected)
    for now, sources in id_map.sources.items():
        if unknown := [id for id in sources if id not in before]:
            raise InvalidOption(
                "id_map", id_map, f"sources that the old tokenizer has; {unknown[0]}, of {now}, it has not"
            )


def pieces_of(old: Tokenizer, new: Tokenizer, made: Mapping[int, TokenKey]) -> dict[int, tuple[int, ...]]:
    """The ids of the text of each token under the old tokenizer, without unknown ones."""
    added = {token.id for token in new.model.added_tokens}
    bare = without_steps(old)
    spelled = {id: respelled(key.token, new.model, old.model) for id, key in made.items() if id not in added}
    texts = {id: key.token for id, key in made.items() if id in added}
    found = {**encoded(bare, spelled), **encoded(old, texts)}
    unknown = old.model.unknown_id
    return {id: tuple(piece for piece in found[id] if piece != unknown) for id in made}


def encoded(tok: Tokenizer, texts: Mapping[int, bytes]) -> dict[int, list[int]]:
    """The ids of texts, by the same keys; none where the tokenizer cannot encode one."""
    try:
        return dict(zip(texts, tok.encode_batch([*texts.values()], special="text"), strict=True))
    except NotInVocabulary:
        return {id: encoded_alone(tok, text) for id, text in texts.items()}


def encoded_alone(tok: Tokenizer, text: bytes) -> list[int]:
    """The ids of one text; none if the tokenizer cannot encode it."""
    try:
        return tok.encode(text, special="text")
    except NotInVocabulary:
        return []


def without_steps(tok: Tokenizer) -> Tokenizer:
    """The tokenizer as it encodes the text of a token: one that marks spaces puts no mark before it."""
    bare: dict[str, Any] = dict.fromkeys(("added_tokens", "post", "decoders"), ())
    if marks_spaces(tok.model):
        bare |= dict.fromkeys(("normalizers", "splitters"), ())
    return Tokenizer(replace(tok.model, **bare, training=None))


def marks_spaces(model: Model) -> bool:
    """Whether a space is written as `▁` in the tokens."""
    return model.unit == "char" and any(token.startswith(BLOCK) for token in model.tokens)


def respelled(token: bytes, new: Model, old: Model) -> bytes:
    """A token of the new model as the old one spells texts."""
    if new.byte_fallback and (byte := BYTE.fullmatch(token)):
        return bytes.fromhex(byte[1].decode())
    text = token.removeprefix((new.continuing_subword_prefix or "").encode())
    suffix = (new.end_of_word_suffix or "").encode()
    text = text.removesuffix(suffix) if suffix else text
    if marks_spaces(new) and not marks_spaces(old):
        return text.replace(BLOCK, b" ")
    return text.replace(b" ", BLOCK) if marks_spaces(old) and not marks_spaces(new) else text
