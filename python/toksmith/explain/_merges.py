"""A piece, merge by merge: the candidate pairs of each step, the merge, and the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .._base.wording import number_of
from .._render import Block, Cell, Line, Shown, Table, TokenText, TokenView, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Text, Tokenizer
from ..errors import InvalidOption, NotInVocabulary
from ..reference import utf8
from ._inputs import format_tokens, split_pieces
from ._rules import Rules, Symbol, rules_of

MOST_SYMBOLS = 512  # every step looks at every pair, and a longer view is unreadable
MOST_ROWS = 100  # steps in the view
MOST_OTHERS = 3  # pairs that could also merge, in a row of the view


class Candidate(NamedTuple):
    """Two neighbours that can merge: the index of the left one, the rank (the
    lowest wins), and the new id."""

    place: int
    rank: int
    id: int


@dataclass(frozen=True)
class MergeStep:
    """One merge: the symbols before it, the pairs that can merge, and the pair
    that does.

    Attributes: `symbols` from left to right; `candidates` by place; `chosen`,
        the candidate with the lowest rank, the leftmost of equals.
    """

    symbols: tuple[Symbol, ...]
    candidates: tuple[Candidate, ...]
    chosen: Candidate


@dataclass(frozen=True, repr=False)
class Merges(Shown):
    """How one piece becomes tokens.

    Attributes:
        piece: Its bytes.
        whole_id: The id of the whole piece, if it is a token and the model
            looks up whole pieces before it merges; else None.
        steps: The merges, in order. With a `whole_id` they show what would
            happen without the lookup.
        merged: The symbols after the last merge; a character without a token
            has the id None.
        ids: The ids of the piece: `whole_id`, or the ids of `merged` with byte
            tokens or the unknown id for None.
        cut: The number of pieces into which the tokenizer would cut these
            bytes.
    """

    tokenizer: str
    piece: bytes
    whole_id: int | None
    steps: tuple[MergeStep, ...]
    merged: tuple[Symbol, ...]
    ids: tuple[int, ...]
    cut: int = 1

    def _parts(self) -> Iterator[str | Block]:
        yield f"{token_text(self.piece)} merged by {self.tokenizer}"
        if self.cut != 1:
            yield Line(f"the tokenizer cuts these bytes into {self.cut} pieces; here they are merged as one", "warn")
        if self.whole_id is not None:
            same = [symbol.id for symbol in self.merged] == [self.whole_id]
            alone = "merging alone ends there too" if same else "merging alone does not end there"
            yield Line(f"the whole piece is token {self.whole_id}: it is looked up before anything merges; {alone}")
        rows = [self.row(number, step) for number, step in enumerate(self.steps[:MOST_ROWS], 1)]
        if rows:
            yield Table(["step", "symbols", "merges", "rank", "becomes", "candidates"], rows, left=(1, 2, 5))
        if len(rows) < len(self.steps):
            yield Line(f"{number_of(len(self.steps) - len(rows), 'more step')}, which to_dict() has", "dim")
        ids = " ".join(map(str, self.ids))
        yield TokenText(
            [TokenView(0, symbol.token) for symbol in self.merged], "in the end" if rows else "nothing merges"
        )
        yield Line(f"ids: {ids}")

    def row(self, number: int, step: MergeStep) -> list[str | Cell]:
        """One step as a row of the table."""
        symbols = format_tokens(symbol.token for symbol in step.symbols)
        others = [f"{pair_text(step.symbols, other)} {other.rank}" for other in step.candidates if other != step.chosen]
        more = f" and {len(others) - MOST_OTHERS} more" if len(others) > MOST_OTHERS else ""
        first_others = ", ".join(others[:MOST_OTHERS]) + more
        return [
            str(number),
            symbols,
            pair_text(step.symbols, step.chosen),
            str(step.chosen.rank),
            str(step.chosen.id),
            Cell(first_others, "dim"),
        ]


def merges(tok: TokenizerSource, piece: Text) -> Merges:
    r"""How one piece becomes tokens, merge by merge, with all candidate pairs of
    each step.

    At each step the pair with the lowest rank merges, the leftmost of equals.
    `piece` is one piece, even if the tokenizer would cut it, and already
    normalized (with SentencePiece's `▁` for a space).

    Args:
        piece: At most 512 symbols (bytes, or characters for a tokenizer of
            characters).
    Raises:
        InvalidOption: The piece is longer, or the tokenizer does not merge
            (unigram, WordPiece).
        NotInVocabulary: A symbol at the end has no token, and the model has no
            fallback.
    Cost: time grows with the square of the number of symbols.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> print(toksmith.explain.merges(tok, "slow"))
    slow merged by bpe, 259 tokens
    step  symbols   merges  rank  becomes  candidates
       1  ▏s▏l▏o▏w  l + o      0      256
       2  ▏s▏lo▏w   lo + w     1      257
    <BLANKLINE>
    in the end
    ▏s▏low
    ids: 115 257
    """
    tok = resolve_tokenizer(tok)
    rules = rules_of(tok)
    data = utf8(piece)
    symbols = rules.symbols(data)
    if len(symbols) > MOST_SYMBOLS:
        raise InvalidOption("piece", f"{len(symbols):,} symbols", f"at most {MOST_SYMBOLS}; cut it with explain.text")
    steps, merged = steps_of(rules, symbols)
    whole = tok.model.vocab.id(data) if tok.model.whole_piece and data else None
    ids = tuple(final_ids(tok, merged)) if whole is None else (whole,)
    return Merges(describe_tokenizer(tok), data, whole, tuple(steps), tuple(merged), ids, len(split_pieces(tok, data)))


def steps_of(rules: Rules, symbols: list[Symbol]) -> tuple[list[MergeStep], list[Symbol]]:
    """The merges of the symbols of one piece, and the symbols after the last merge."""
    steps = []
    while candidates := [
        Candidate(place, *merge)
        for place in range(len(symbols) - 1)
        if (merge := rules.merge(symbols[place], symbols[place + 1])) is not None
    ]:
        chosen = min(candidates, key=lambda candidate: (candidate.rank, candidate.place))
        steps.append(MergeStep(tuple(symbols), tuple(candidates), chosen))
        left, right = symbols[chosen.place : chosen.place + 2]
        merged = Symbol(left.token + right.token, chosen.id)
        symbols = [*symbols[: chosen.place], merged, *symbols[chosen.place + 2 :]]
    return steps, symbols


def final_ids(tok: Tokenizer, symbols: list[Symbol]) -> Iterator[int]:
    """The ids of symbols; one without a token becomes byte tokens, or the unknown id, once for several in a row."""
    model = tok.model
    for place, symbol in enumerate(symbols):
        if symbol.id is not None:
            yield symbol.id
        elif model.byte_fallback:
            yield from (tok.token_id(f"<0x{byte:02X}>") for byte in symbol.token)
        elif model.unknown_id is None:
            raise NotInVocabulary(symbol.token)
        elif place == 0 or symbols[place - 1].id is not None:
            yield model.unknown_id


def pair_text(symbols: tuple[Symbol, ...], candidate: Candidate) -> str:
    """The text of a pair."""
    left, right = symbols[candidate.place : candidate.place + 2]
    return f"{token_text(left.token)} + {token_text(right.token)}"
