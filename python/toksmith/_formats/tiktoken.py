"""`.tiktoken` files: one line for each token, with its bytes in base64 and its rank.

The file contains nothing else. Ranks are ids. Two neighbours merge if their joined bytes are a token, lowest rank first,
and a piece that equals a token becomes that token. Arguments of `load()` supply the split pattern and the special tokens. A
model with an explicit list of merges can be saved if its tokens imply that list, which is checked for every token.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from .. import _core
from .._base import lazy_numpy as np
from .._model.model import AddedToken, Model, Step, TokenTable
from .._model.patterns import UNSET, PatternArgument, splitters
from ..errors import CannotRepresent, FormatError, InvalidOption, ModelError
from .arguments import added_tokens, refuse_losses

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "tiktoken"
SUFFIXES = (".tiktoken",)
ARGUMENTS = ("pattern", "special_tokens")
DOC = "tiktoken's ranks: tokens only; load() takes the pattern and the special tokens as arguments"

# Two lines, because the first line of the native format looks like a rank too.
FIRST_LINES = re.compile(rb"\s*([A-Za-z0-9+/]+={0,2} [0-9]+(\s+|$)){2}")


def sniff(data: bytes, path: str) -> bool:
    """Whether each of the first two lines is base64 and a number."""
    return FIRST_LINES.match(data) is not None


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    if pattern is UNSET:
        expected = (
            "the split pattern that the ranks were trained with: a name of toksmith.patterns(), a regex, a list of "
        )
        raise InvalidOption("pattern", pattern, f"{expected}them, or None for no split; {path} does not contain it")
    return read_ranks(data, path, splitters(pattern), partial(added_tokens, special_tokens))


def read_ranks(
    data: bytes,
    path: str,
    steps: tuple[Step, ...],
    added: Callable[[TokenTable, NDArray[np.uint32]], tuple[AddedToken, ...]],
) -> Model:
    """The model of a file's ranks with these splitters, and with the added tokens that `added` returns for its table."""
    blob, ends, ids = _core.parse_tiktoken(data, path)
    tokens = TokenTable(blob, ends)
    added_list = added(tokens, ids)
    try:
        return Model(tokens, ids, merge_rule="bytes", whole_piece=True, splitters=steps, added_tokens=added_list)
    except ModelError as error:
        _core.refuse_repeats(data, path)  # raises an error with the line of a repeated token or rank
        raise FormatError(path, None, str(error)) from error


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    refuse_losses(model, NAME, allow_loss)
    if model.unit != "byte":
        raise CannotRepresent(NAME, "unit", "its tokens consist of bytes, not of characters")
    if len(model.splitters) > 1 and "splitters" not in allow_loss:
        problem = (
            f"tiktoken splits with one regex, but this model splits in {len(model.splitters)} steps; save a tokenizer.json, "
            "which holds all of them, or pass allow_loss=['splitters'], and only toksmith.load(pattern=[…]) will split as "
            "before"
        )
        raise CannotRepresent(NAME, "splitters", problem)
    ranked = to_ranks(model)
    lines = (
        b"%b %d\n" % (binascii.b2a_base64(token, newline=False), id)
        for token, id in zip(ranked.tokens, ranked.ids.tolist(), strict=True)
    )
    return b"".join(lines)


def to_ranks(model: Model, format: str = NAME) -> Model:
    """A model with `merge_rule="bytes"`, whole pieces and rising ids that gives the same ids as `model`."""
    if model.merge_rule == "bytes" and np.any(model.ids[1:] <= model.ids[:-1]):
        raise CannotRepresent(format, "ids", "the format uses ranks as ids, and these ids do not rise with the ranks")
    if model.merge_rule == "bytes" and model.whole_piece:
        return model
    order = np.argsort(model.ids)
    tokens = TokenTable.of([model.tokens[place] for place in order.tolist()])
    ranked = Model(tokens, model.ids[order], merge_rule="bytes", whole_piece=True, splitters=model.splitters)
    implied = ranked.vocab.recover_merges()
    if model.merge_rule == "pair":
        refuse_other_merges(model.merges, implied, format)
    if not model.whole_piece and len(implied) < len(tokens) - 256:
        problem = "merging does not reach some tokens, but this format would find them as whole pieces"
        raise CannotRepresent(format, "whole_piece", problem)
    return ranked


def refuse_other_merges(merges: NDArray[np.uint32], implied: NDArray[np.uint32], format: str) -> None:
    """Raises CannotRepresent unless the tokens' bytes imply exactly these merges in this order.

    Then both rules give the same ids, because `Vocab.recover_merges` lists the merges of the rule by bytes.
    """
    if np.array_equal(merges, implied):
        return
    common = min(len(merges), len(implied))
    differs = np.flatnonzero((merges[:common] != implied[:common]).any(axis=1))
    rank = int(differs[0]) if len(differs) else common
    rows = [table[rank].tolist() if rank < len(table) else "nothing" for table in (merges, implied)]
    problem = f"merge {rank} is {rows[0]} (left, right, result), but the tokens in the order of their ids imply "
    raise CannotRepresent(format, "merges", f"{problem}{rows[1]}")
