"""Other rules to spell a text with a vocabulary: the longest token at each place, and the fewest tokens.

Each piece is spelled separately, as in merging. Training fixes the rule of a vocabulary, and a model learns only the ids of
that rule; the other rules show what the vocabulary could do. Left out: speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._model.model import BYTE_TOKENS, Model
from .._render import Block, Line, Shown, Table, TokenText, TokenView, token_json, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.boundaries import pieces_of
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..errors import NotInVocabulary
from ..reference import utf8
from ._inputs import format_tokens, view_tokens

OWN, LONGEST, FEWEST = "own rule", "longest prefix", "fewest tokens"
MOST_ROWS = 50
Spelled = tuple[int | None, bytes]  # a part of a piece: its id, and its bytes
BLOCK = "▁".encode()  # SentencePiece writes this for a space
WARNING = (
    "A model knows the cuts of its tokenizer's own rule; the others are for looking at a vocabulary, not for a model."
)


@dataclass(frozen=True)
class InferenceCut:
    """A text as one rule spells it.

    Attributes:
        rule: "own rule", "longest prefix" or "fewest tokens".
        ids: In order.
        ends: The number of ids up to the end of each piece.
        unknown: The number of uncovered characters: unknown ids, and
            characters that became byte tokens.
    """

    rule: str
    ids: tuple[int, ...]
    ends: tuple[int, ...]
    unknown: int


def ids_of_piece(cut: InferenceCut, place: int) -> tuple[int, ...]:
    return cut.ids[cut.ends[place - 1] if place else 0 : cut.ends[place]]


@dataclass(frozen=True, repr=False)
class Inference(Shown):
    """One text by three rules with the same vocabulary.

    Attributes:
        tokenizer: Its name.
        pieces: The normalized text, cut where no token crosses.
        cuts: The result of each rule, the tokenizer's own rule first.
        tokens: The views of all tokens, by id.
    """

    tokenizer: str
    pieces: tuple[bytes, ...]
    cuts: tuple[InferenceCut, ...]
    tokens: Mapping[int, TokenView]

    @property
    def differing(self) -> tuple[int, ...]:
        """The indices of the pieces that the rules spell differently."""
        return tuple(
            place for place in range(len(self.pieces)) if len({ids_of_piece(cut, place) for cut in self.cuts}) > 1
        )

    def to_dict(self) -> dict[str, Any]:
        """Pieces and cuts as JSON values; bytes are hex."""
        return {
            "tokenizer": self.tokenizer,
            "warning": WARNING,
            "pieces": [token_json(piece) for piece in self.pieces],
            "rules": [
                {"rule": cut.rule, "count": len(cut.ids), "unknown": cut.unknown}
                | {"ids": [*cut.ids], "piece_ends": [*cut.ends]}
                for cut in self.cuts
            ],
            "tokens": {str(id): token_json(view.token) for id, view in self.tokens.items()},
            "differing": [*self.differing],
        }

    def _parts(self) -> Iterator[str | Block]:
        yield f"three ways to spell a text with {self.tokenizer}"
        yield Line(WARNING, "warn")
        own = self.cuts[0]
        rows = []
        for cut in self.cuts:
            other = sum(ids_of_piece(cut, place) != ids_of_piece(own, place) for place in range(len(self.pieces)))
            more = f"{len(cut.ids) / len(own.ids) - 1:+.1%}" if own.ids and cut is not own else ""
            rows.append(
                [cut.rule, f"{len(cut.ids):,}", more, f"{other:,}" if cut is not own else "", f"{cut.unknown:,}"]
            )
        heads = ["rule", "tokens", "change", "pieces cut otherwise", "not covered"]
        yield Table(heads, rows)
        for cut in self.cuts:
            yield TokenText([self.tokens[id] for id in cut.ids], cut.rule)
        if not (places := self.differing):
            yield Line("all rules cut alike")
            return
        drawn_places = places[:MOST_ROWS]
        piece_rows = [
            [token_text(self.pieces[place]), *(format_tokens(self._tokens(cut, place)) for cut in self.cuts)]
            for place in drawn_places
        ]
        more = f" (the first {MOST_ROWS} of {len(places):,})" if len(drawn_places) < len(places) else ""
        heads = ["piece", *(cut.rule for cut in self.cuts)]
        yield Table(heads, piece_rows, f"pieces that the rules cut differently{more}", left=range(len(heads)))

    def _tokens(self, cut: InferenceCut, place: int) -> Iterator[bytes]:
        return (self.tokens[id].token for id in ids_of_piece(cut, place))


def inference(tok: TokenizerSource, text: Text, *, special: Special = "text") -> Inference:
    """A text as the tokenizer spells it, compared with two other rules for the
    same vocabulary: the longest token at each place, and the fewest tokens.

    For analysis only: a model was trained on the ids of the tokenizer's own
    rule. Both rules stay inside the pieces of the split pattern. "Fewest
    tokens" is exact; among equal results it takes the one with the longest
    first tokens. A character that no token covers becomes byte tokens or the
    unknown token, as in the tokenizer; "fewest tokens" minimizes the number of
    such characters first. A text that a SentencePiece normalizer rewrites is
    shown rewritten; its pieces are words, unless a token of the vocabulary
    holds several words.

    Args:
        special: As in `Tokenizer.encode`; the same by each rule.
    Raises: as `Tokenizer.encode`; NotInVocabulary also for a character that no
        token covers, where the tokenizer has neither bytes nor an unknown
        token.
    Cost: time grows with the length of the text times that of the longest
        token.
    Source: Uzan et al., ACL 2024 (2403.01289), which compares such rules.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest low er low", merges=3, pattern=None)
    >>> found = toksmith.explain.inference(tok, "slower")
    >>> [(cut.rule, len(cut.ids)) for cut in found.cuts]
    [('own rule', 4), ('longest prefix', 4), ('fewest tokens', 4)]
    """
    tok = resolve_tokenizer(tok)
    spelling = Spelling(tok.model)
    own, pieces = spelled_pieces(tok, text, special)
    cuts = [own]
    for rule, spell in ((LONGEST, spelling.longest), (FEWEST, spelling.fewest)):
        spellings: dict[bytes, tuple[list[int], int]] = {}
        ids: list[int] = []
        ends: list[int] = []
        unknown = at = 0
        for place, (piece, fixed) in enumerate(pieces):
            if fixed:
                ids += ids_of_piece(own, place)
            else:
                if piece not in spellings:
                    spellings[piece] = spelling.ids(spell(piece), at)
                ids += spellings[piece][0]
                unknown += spellings[piece][1]
            ends.append(len(ids))
            at += len(piece)
        cuts.append(InferenceCut(rule, tuple(ids), tuple(ends), unknown))
    views = {view.id: view for view in view_tokens(tok, sorted({id for cut in cuts for id in cut.ids}))}
    return Inference(describe_tokenizer(tok), tuple(piece for piece, _ in pieces), tuple(cuts), views)


class Spelling:
    """Spells pieces with the tokens of a model; a prefix marks tokens inside a piece, a suffix those at its end."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.prefix = model.continuing_subword_prefix.encode()
        self.suffix = model.end_of_word_suffix.encode()
        self.first: dict[bytes, int] = {}
        self.inside: dict[bytes, int] = {}
        self.bytes: dict[bytes, int] = {}
        left_out = {added.id for added in model.added_tokens} | {model.unknown_id}
        for id, token in zip(model.ids.tolist(), model.tokens, strict=True):
            if model.byte_fallback and token in BYTE_TOKENS:
                self.bytes[bytes([BYTE_TOKENS[token]])] = id
            elif id not in left_out and self.prefix and token.startswith(self.prefix):
                self.inside[token.removeprefix(self.prefix)] = id
            elif id not in left_out:
                self.first[token] = id
        if not self.prefix:
            self.inside = self.first
        lengths = {len(token) for token in (*self.first, *self.inside)}
        self.lengths = sorted({length - len(self.suffix) for length in lengths} | lengths, reverse=True)

    def matches(self, piece: bytes, at: int) -> Iterator[tuple[int, int]]:
        """The end and the id of each token that matches at a place, the longest first; the last one has the suffix."""
        table = self.inside if at else self.first
        for length in self.lengths:
            end = at + length
            if not 0 < length <= len(piece) - at:
                continue
            id = table.get(piece[at:end] + (self.suffix if end == len(piece) else b""))
            if id is not None:
                yield end, id

    def longest(self, piece: bytes) -> Iterator[Spelled]:
        at = 0
        while at < len(piece):
            end, id = next(self.matches(piece, at), (character_end(piece, at), None))
            yield id, piece[at:end]
            at = end

    def fewest(self, piece: bytes) -> Iterator[Spelled]:
        """Minimizes uncovered characters, then tokens; among equal results, the longest first tokens win."""
        far = (len(piece) + 1, 0)
        best: list[tuple[int, int]] = [far] * len(piece) + [(0, 0)]
        step: list[tuple[int, int | None]] = [(0, None)] * len(piece)
        for at in range(len(piece) - 1, -1, -1):
            if at and self.model.unit == "char" and 0x80 <= piece[at] < 0xC0 and starts_before(piece, at):
                continue  # inside a character
            for end, id in self.matches(piece, at):
                unknown, count = best[end]
                if (unknown, count + 1) < best[at]:
                    best[at], step[at] = (unknown, count + 1), (end, id)
            end = character_end(piece, at)
            unknown, count = best[end]
            if (unknown + 1, count + 1) < best[at]:
                best[at], step[at] = (unknown + 1, count + 1), (end, None)
        at = 0
        while at < len(piece):
            end, own = step[at]
            yield own, piece[at:end]
            at = end

    def ids(self, parts: Iterable[Spelled], offset: int) -> tuple[list[int], int]:
        """The ids of parts, and the number of parts that no token covers."""
        ids: list[int] = []
        unknown = 0
        before_unknown = False
        for id, text in parts:
            if id is not None:
                ids.append(id)
                before_unknown = False
                continue
            unknown += 1
            if self.bytes:
                ids += [self.bytes[text[place : place + 1]] for place in range(len(text))]
            elif self.model.unknown_id is None:
                raise NotInVocabulary(text.decode("utf-8", "replace"), offset)
            elif not (before_unknown and self.model.fuse_unknown):
                ids.append(self.model.unknown_id)
            before_unknown = True
        return ids, unknown


def character_end(piece: bytes, at: int) -> int:
    """The end of the character at a place; a byte that is not part of a character counts as one."""
    lead = piece[at]
    size = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    try:
        piece[at : at + size].decode()
    except UnicodeDecodeError:
        return at + 1
    return min(at + size, len(piece))


def starts_before(piece: bytes, at: int) -> bool:
    """Whether a byte belongs to a character that begins before it."""
    return any(character_end(piece, start) > at for start in range(max(0, at - 3), at))


def spelled_pieces(tok: Tokenizer, text: Text, special: Special) -> tuple[InferenceCut, list[tuple[bytes, bool]]]:
    """The tokenizer's own result, and each piece with whether its ids are fixed (special and added tokens)."""
    model = tok.model
    if any(step.kind == "sentencepiece" for step in model.normalizers):
        return rewritten_pieces(tok, text, special)
    allowed = special if not isinstance(special, str) else ()
    fixed: dict[bytes, int] = {}
    for added in model.added_tokens:
        if not added.special or special == "allow" or added.content in allowed:
            fixed.setdefault(added.content.encode(), added.id)
    pieces = [piece for piece in pieces_of(tok._engine, model, utf8(text), special) if piece]
    bare = Tokenizer(replace(model, splitters=(), normalizers=(), decoders=(), post=(), added_tokens=()))
    whole = tok.encode(text, special=special)
    ids: list[int] = []
    ends: list[int] = []
    for piece in pieces:
        ids += [fixed[piece]] if piece in fixed else bare.encode(piece)
        ends.append(len(ids))
    if ids != whole:  # added tokens that match after normalizing cross the pieces of `split`: the text is one piece
        pieces, ends = [b"".join(pieces)], [len(whole)]
    cut = InferenceCut(OWN, tuple(whole), tuple(ends), count_uncovered(tok, whole))
    return cut, [(piece, piece in fixed) for piece in pieces]


def rewritten_pieces(tok: Tokenizer, text: Text, special: Special) -> tuple[InferenceCut, list[tuple[bytes, bool]]]:
    """As `spelled_pieces`, for a text that a SentencePiece normalizer rewrites: pieces of the tokenizer's own tokens."""
    model, data = tok.model, utf8(text)
    apart = not any(BLOCK in token.lstrip(BLOCK) for token in model.tokens)
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    added_ids = {added.id for added in model.added_tokens} - {model.unknown_id}
    pieces: list[tuple[bytes, bool]] = []
    ends: list[int] = []
    for number, (id, start, end) in enumerate(zip(encoding.ids, encoding.starts, encoding.ends, strict=True), 1):
        token = tok.token_bytes(int(id))
        if id == model.unknown_id:
            token = data[int(start) : int(end)]
        elif model.byte_fallback and token in BYTE_TOKENS:
            token = bytes([BYTE_TOKENS[token]])
        begins = apart and token.startswith(BLOCK) and not pieces[-1][0].endswith(BLOCK) if pieces else True
        if not begins and not pieces[-1][1] and int(id) not in added_ids:
            pieces[-1], ends[-1] = (pieces[-1][0] + token, False), number
        else:
            pieces.append((token, int(id) in added_ids))
            ends.append(number)
    ids = tuple(map(int, encoding.ids))
    return InferenceCut(OWN, ids, tuple(ends), count_uncovered(tok, ids)), pieces


def count_uncovered(tok: Tokenizer, ids: Sequence[int]) -> int:
    """The number of ids that are the unknown id or the byte token of the first byte of a character."""
    model, count = tok.model, 0
    for id in ids:
        token = tok.token_bytes(id)
        byte = BYTE_TOKENS.get(token) if model.byte_fallback else None
        count += id == model.unknown_id or (byte is not None and not 0x80 <= byte < 0xC0)
    return count
