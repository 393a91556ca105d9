"""The layer below `tiktoken.Encoding`: ids of texts and pieces, and the possible continuations of a text.

Texts are split by the pattern and merged by the engine. Invalid UTF-8 is one piece here; the engine would cut it where
it becomes invalid, so it is merged in Python.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from ... import _core
from ..._base.threads import cached_property
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import UnknownId

SPACE = frozenset(b" \n\t")


class CoreBPE:
    """The methods of tiktoken's compiled class with this name."""

    def __init__(self, tok: Tokenizer) -> None:
        self._tok = tok
        self._vocab = tok.model.vocab
        self._specials = tok.special_tokens
        self._regexes = [step["pattern"] for step in tok.model.splitters]
        self._engines: dict[frozenset[str], _core.Engine] = {}

    def engine(self, allowed: AbstractSet[str]) -> _core.Engine:
        """The engine that recognizes these special tokens, and takes all others for ordinary text."""
        names = frozenset(name for name in allowed if name in self._specials)
        if names not in self._engines:
            added = [(content, id, True) for content, id in self._specials.items() if content in names]
            if len(self._engines) > 16:
                self._engines.clear()
            self._engines[names] = _core.Engine(self._vocab, self._regexes, added)
        return self._engines[names]

    def encode_ordinary(self, text: str) -> list[int]:
        return self.engine(frozenset()).encode(text, "text", "strict", None)

    def encode(self, text: str, allowed_special: AbstractSet[str]) -> list[int]:
        return self.engine(allowed_special).encode(text, "allow", "strict", None)

    def encode_single_token(self, piece: bytes) -> int:
        """The id of one token, special tokens included."""
        token_id = self._vocab.id(bytes(piece))
        if token_id is None:
            token_id = next((id for content, id in self._specials.items() if content.encode() == piece), None)
        if token_id is None:
            raise KeyError(piece)
        return token_id

    def encode_single_piece(self, piece: bytes) -> list[int]:
        """The ids of bytes without splitting: a token, or the result of merging."""
        token_id = self._vocab.id(bytes(piece))
        return [token_id] if token_id is not None else self.merged(bytes(piece))

    def merged(self, piece: bytes) -> list[int]:
        """The ids of a piece by merging: among neighbours that join to a token, the lowest rank first."""
        parts = [piece[at : at + 1] for at in range(len(piece))]
        ranks = [self.rank(one + two) for one, two in itertools.pairwise(parts)]
        while ranks and min(ranks) < float("inf"):
            at = ranks.index(min(ranks))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del ranks[at]
            for place in (at - 1, at):
                if 0 <= place < len(ranks):
                    ranks[place] = self.rank(parts[place] + parts[place + 1])
        return [self.encode_single_token(part) for part in parts]

    def rank(self, token: bytes) -> float:
        """The rank of a token; infinite for an unknown token."""
        token_id = self._vocab.id(token)
        return float("inf") if token_id is None else token_id

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of bytes: the valid text is split, and its last piece continues to the end."""
        try:
            return self.encode_ordinary(data.decode())
        except UnicodeDecodeError as error:
            ids, last = self.encode_with_unsettled(data[: error.start].decode(), frozenset())
            rest = data[error.start :]
        if last:
            rest = self._tok.decode_bytes(ids[-last:]) + rest
            del ids[-last:]
        return ids + self.encode_single_piece(rest)

    def encode_with_unsettled(self, text: str, allowed: AbstractSet[str]) -> tuple[list[int], int]:
        """The ids of a text, and the number of last ids that are not settled: those of the last piece and, if it begins with
        white space, all tokens of only white space before it. 0 after a special token."""
        ids = self.encode(text, allowed)
        tail = text[last_special_end(text, frozenset(name for name in allowed if name in self._specials)) :]
        pieces = self.engine(frozenset()).split(tail)
        if not pieces:
            return ids, 0
        last = len(self.encode_single_piece(pieces[-1]))
        if self.is_space(ids[-last]):
            while last < len(ids) and self.is_space(ids[-last - 1]):
                last += 1
        return ids, last

    def is_space(self, id: int) -> bool:
        """Whether a token is nothing but spaces, tabs and line feeds."""
        token = self._vocab.token(id)
        return token is not None and SPACE.issuperset(token)

    def encode_with_unstable(self, text: str, allowed_special: AbstractSet[str]) -> tuple[list[int], list[list[int]]]:
        """The ids that no further text changes, and the possible continuations of ids after them."""
        ids, last = self.encode_with_unsettled(text, allowed_special)
        if last == 0:
            return ids, []
        unstable = self._tok.decode_bytes(ids[-last:])
        completions: set[tuple[int, ...]] = {(self.encode_single_token(token),) for token in self.tokens_from(unstable)}
        completions.update(self.straddling_ids(unstable))
        # White space at the end can become a separate piece when a word follows.
        end = last_character_start(unstable)
        if 0 < end < len(unstable) and unstable[end:].decode("utf-8", "replace").isspace():
            completions.add((*self.merged(unstable[:end]), *self.merged(unstable[end:])))
        return ids[:-last], [list(ids) for ids in completions]

    def straddling_ids(self, unstable: bytes) -> Iterator[tuple[int, ...]]:
        """The ids that cover these bytes, for each token that starts inside them and ends after them."""
        texts: list[str] = []
        for start in range(1, len(unstable)):
            for token in self.tokens_from(unstable[start:]):
                longer = unstable[:start] + token
                try:
                    texts.append(longer.decode())
                except UnicodeDecodeError:
                    yield self.covering_ids(self.merged(longer), len(unstable))
        for ids in self.engine(frozenset()).encode_batch(texts, "text", "strict", 1):
            yield self.covering_ids(ids, len(unstable))

    def covering_ids(self, ids: list[int], size: int) -> tuple[int, ...]:
        """The first ids that cover the given number of bytes."""
        for count, id in enumerate(ids, 1):
            size -= len(self._vocab.token(id) or b"")
            if size <= 0:
                return tuple(ids[:count])
        return tuple(ids)

    def tokens_from(self, start: bytes) -> Iterator[bytes]:
        """The tokens that start with these bytes, in order."""
        tokens = self.sorted_tokens
        for place in range(bisect.bisect_left(tokens, start), len(tokens)):
            if not tokens[place].startswith(start):
                return
            yield tokens[place]

    @cached_property
    def sorted_tokens(self) -> list[bytes]:
        return sorted(self._tok.model.tokens)

    def token_byte_values(self) -> list[bytes]:
        return list(self.sorted_tokens)

    def decode_bytes(self, tokens: Iterable[int]) -> bytes:
        try:
            return self._tok.decode_bytes(tokens)
        except UnknownId as error:
            raise unknown_id_error(error.id) from error

    def decode_single_token_bytes(self, token: int) -> bytes:
        try:
            return self._tok.token_bytes(token)
        except UnknownId as error:
            raise unknown_id_error(error.id) from error


def unknown_id_error(id: int) -> Exception:
    if not 0 <= id < 1 << 32:
        return OverflowError(f"the token {id} is not an unsigned integer of 32 bits")
    return KeyError(f"Invalid token for decoding: {id}")


@functools.lru_cache(maxsize=64)
def any_of_pattern(contents: frozenset[str]) -> re.Pattern[str]:
    """A regex that finds any of these contents, longer ones first."""
    return re.compile("|".join(map(re.escape, sorted(contents, key=len, reverse=True))))


def last_special_end(text: str, allowed: frozenset[str]) -> int:
    """The end of the last of these special tokens in a text; 0 for none."""
    return max((match.end() for match in any_of_pattern(allowed).finditer(text)), default=0) if allowed else 0


def last_character_start(data: bytes) -> int:
    """The start of the last character; of the last byte, if it is invalid."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            data[-size:].decode()
        except UnicodeDecodeError:
            continue
        return len(data) - size
    return len(data) - 1
