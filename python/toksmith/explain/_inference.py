"""Other ways to spell a text with the tokens of a vocabulary: the longest token at each place, and the fewest tokens.

Each piece is spelled by itself, as merging does it. A vocabulary has its rule from training, and a model learns from the
ids of that rule alone; the others show what the vocabulary could do. Left out: speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._base.errors import NotInVocabulary
from .._model.model import BYTE_TOKENS, Model
from .._render import Block, Line, Shown, Table, TokenText, TokenView, token_json, token_text
from .._tokenizer.boundaries import pieces_of
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..reference import utf8
from ._asked import drawn, name_of, views_of

__all__ = ["Inference", "InferenceCut", "inference"]

OWN, LONGEST, FEWEST = "own rule", "longest prefix", "fewest tokens"
MOST_ROWS = 50
Spelled = tuple[int | None, bytes]  # a part of a piece: its id, and its bytes
BLOCK = "▁".encode()  # what SentencePiece writes for a space
WARNING = (
    "A model knows the cuts of its tokenizer's own rule; the others are for looking at a vocabulary, not for a model."
)


@dataclass(frozen=True)
class InferenceCut:
    """A text as one rule spells it.

    Attributes:
        rule: "own rule", "longest prefix" or "fewest tokens".
        ids: In order.
        ends: How many ids there are up to the end of each piece.
        unknown: What no token covers: unknown ids, and characters that became
            tokens of bytes.
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
        pieces: The text in the form that is spelled, cut where no token
            crosses.
        cuts: What each rule gives, the own rule first.
        tokens: The views of all tokens, by id.
    """

    tokenizer: str
    pieces: tuple[bytes, ...]
    cuts: tuple[InferenceCut, ...]
    tokens: Mapping[int, TokenView]

    @property
    def differing(self) -> tuple[int, ...]:
        """The places of the pieces that not all rules spell alike."""
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
        shown = places[:MOST_ROWS]
        listed = [
            [token_text(self.pieces[place]), *(drawn(self._tokens(cut, place)) for cut in self.cuts)] for place in shown
        ]
        more = f" (the first {MOST_ROWS} of {len(places):,})" if len(shown) < len(places) else ""
        heads = ["piece", *(cut.rule for cut in self.cuts)]
        yield Table(heads, listed, f"pieces that the rules cut differently{more}", left=range(len(heads)))

    def _tokens(self, cut: InferenceCut, place: int) -> Iterator[bytes]:
        return (self.tokens[id].token for id in ids_of_piece(cut, place))


def inference(tok: Tokenizer, text: Text, *, special: Special = "text") -> Inference:
    """A text as the tokenizer spells it, beside two other rules with the same
    vocabulary: the longest token at each place, and the fewest tokens.

    For analysis only: a model has seen the ids of the tokenizer's own rule.
    Both rules stay inside the pieces of the split pattern. "Fewest tokens" is
    exact; of several ways it takes the one whose first tokens are longest. A
    character that no token covers becomes what the tokenizer makes of it:
    tokens of bytes, or the unknown token; "fewest tokens" first avoids this as
    far as it can. A text that a normalizer of SentencePiece rewrites is shown
    as rewritten; its pieces are words, unless a token of the vocabulary holds
    several.

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
    spelling = Spelling(tok.model)
    own, pieces = spelled_pieces(tok, text, special)
    cuts = [own]
    for rule, spell in ((LONGEST, spelling.longest), (FEWEST, spelling.fewest)):
        known: dict[bytes, tuple[list[int], int]] = {}
        ids: list[int] = []
        ends: list[int] = []
        unknown = at = 0
        for place, (piece, fixed) in enumerate(pieces):
            if fixed:
                ids += ids_of_piece(own, place)
            else:
                if piece not in known:
                    known[piece] = spelling.ids(spell(piece), at)
                ids += known[piece][0]
                unknown += known[piece][1]
            ends.append(len(ids))
            at += len(piece)
        cuts.append(InferenceCut(rule, tuple(ids), tuple(ends), unknown))
    views = {view.id: view for view in views_of(tok, sorted({id for cut in cuts for id in cut.ids}))}
    return Inference(name_of(tok), tuple(piece for piece, _ in pieces), tuple(cuts), views)


class Spelling:
    """What the tokens of a model can spell, by the place in a piece: a prefix marks tokens inside of one, a suffix its end."""

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
        """The end and the id of each token at a place, the longest first. At the end of a piece it has the suffix."""
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
        """The least number of uncovered characters, then of tokens; of several ways that with the longest first tokens."""
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
        """The ids of parts, and how many of them no token covers."""
        found: list[int] = []
        unknown = 0
        before_unknown = False
        for id, text in parts:
            if id is not None:
                found.append(id)
                before_unknown = False
                continue
            unknown += 1
            if self.bytes:
                found += [self.bytes[text[place : place + 1]] for place in range(len(text))]
            elif self.model.unknown_id is None:
                raise NotInVocabulary(text.decode("utf-8", "replace"), offset)
            elif not (before_unknown and self.model.fuse_unknown):
                found.append(self.model.unknown_id)
            before_unknown = True
        return found, unknown


def character_end(piece: bytes, at: int) -> int:
    """Where the character at a place ends; a byte that is not part of one ends behind itself."""
    lead = piece[at]
    size = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    try:
        piece[at : at + size].decode()
    except UnicodeDecodeError:
        return at + 1
    return min(at + size, len(piece))


def starts_before(piece: bytes, at: int) -> bool:
    """Whether a byte is inside of a character that begins before it."""
    return any(character_end(piece, start) > at for start in range(max(0, at - 3), at))


def spelled_pieces(tok: Tokenizer, text: Text, special: Special) -> tuple[InferenceCut, list[tuple[bytes, bool]]]:
    """What the tokenizer itself gives, and each piece with whether its ids are fixed (special and added tokens)."""
    model = tok.model
    if any(step.kind == "sentencepiece" for step in model.normalizers):
        return rewritten(tok, text, special)
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
    if ids != whole:  # tokens that are found after normalizing cross what `split` gives: the text is one piece
        pieces, ends = [b"".join(pieces)], [len(whole)]
    cut = InferenceCut(OWN, tuple(whole), tuple(ends), not_covered(tok, whole))
    return cut, [(piece, piece in fixed) for piece in pieces]


def rewritten(tok: Tokenizer, text: Text, special: Special) -> tuple[InferenceCut, list[tuple[bytes, bool]]]:
    """The same for a text that a normalizer of SentencePiece rewrites: what the tokenizer's own tokens spell."""
    model, data = tok.model, utf8(text)
    apart = not any(BLOCK in token.lstrip(BLOCK) for token in model.tokens)
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    kept = {added.id for added in model.added_tokens} - {model.unknown_id}
    pieces: list[tuple[bytes, bool]] = []
    ends: list[int] = []
    for number, (id, start, end) in enumerate(zip(encoding.ids, encoding.starts, encoding.ends, strict=True), 1):
        token = tok.token_bytes(int(id))
        if id == model.unknown_id:
            token = data[int(start) : int(end)]
        elif model.byte_fallback and token in BYTE_TOKENS:
            token = bytes([BYTE_TOKENS[token]])
        begins = apart and token.startswith(BLOCK) and not pieces[-1][0].endswith(BLOCK) if pieces else True
        if not begins and not pieces[-1][1] and int(id) not in kept:
            pieces[-1], ends[-1] = (pieces[-1][0] + token, False), number
        else:
            pieces.append((token, int(id) in kept))
            ends.append(number)
    ids = tuple(map(int, encoding.ids))
    return InferenceCut(OWN, ids, tuple(ends), not_covered(tok, ids)), pieces


def not_covered(tok: Tokenizer, ids: Sequence[int]) -> int:
    """How many of the ids are the unknown one, or the first byte of a character."""
    model, found = tok.model, 0
    for id in ids:
        token = tok.token_bytes(id)
        byte = BYTE_TOKENS.get(token) if model.byte_fallback else None
        found += id == model.unknown_id or (byte is not None and not 0x80 <= byte < 0xC0)
    return found
