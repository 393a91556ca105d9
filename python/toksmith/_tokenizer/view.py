"""The displays of a tokenizer: its one-line `repr` and its card in a notebook.

The card shows the fields that decide ids, and some tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._base.wording import number_of, shorten_middle
from .._model.patterns import patterns

LAST_TOKENS, FIRST_SPECIALS = 12, 5


def repr_line(tok: Any) -> str:
    """The `repr`: kind, size, the last tokens, and the beginning of the fingerprint."""
    model = tok.model
    last = f", the last {model.tokens[-1][:30]!r}" if len(model.tokens) else ""
    return f"<Tokenizer {model.kind}/{model.unit}, {number_of(len(tok), 'token')}{last}, {tok.fingerprint[:12]}>"


def card_html(tok: Any) -> str:
    """The card."""
    from .._render import Table, View, notebook

    return notebook(View("Tokenizer", [Table(["", ""], [*card_rows(tok)], left=(0, 1)), *last_token_table(tok)]))


def card_rows(tok: Any) -> Iterator[list[str]]:
    """The rows of the card."""
    from .._render import token_text

    model = tok.model
    holes = tok.vocab_size - len(tok)
    yield ["kind", f"{model.kind} of {model.unit}s"]
    yield ["tokens", f"{len(tok):,}" + (f", ids below {tok.vocab_size:,}" if holes else "")]
    if len(model.merges):
        yield ["merges", f"{len(model.merges):,}"]
    special = [*tok.special_tokens]
    more = f" and {len(special) - FIRST_SPECIALS:,} more" if len(special) > FIRST_SPECIALS else ""
    yield ["specials", (", ".join(special[:FIRST_SPECIALS]) + more) or "none"]
    for step in model.splitters:
        regex = dict(step.options).get("pattern", step.kind)
        names = [name for name, row in patterns().items() if regex in row.regexes]
        yield ["pieces by", names[0] if names else shorten_middle(str(regex), 120)]
    if model.training is not None:
        corpus = f"{number_of(model.training.documents, 'document')}, {number_of(model.training.bytes, 'byte')}"
        yield ["trained on", corpus]
    if len(model.tokens):
        longest = max(model.tokens, key=len)
        yield ["longest", f"{shorten_middle(token_text(longest), 80)} ({number_of(len(longest), 'byte')})"]
    yield ["fingerprint", tok.fingerprint[:16]]


def last_token_table(tok: Any) -> Iterator[Any]:
    """The table of the ordinary tokens with the highest ids."""
    from .._render import Table, token_text

    model = tok.model
    pairs = sorted(zip(model.ids.tolist(), range(len(model.tokens)), strict=True))[-LAST_TOKENS:]
    rows = [[f"{id:,}", token_text(model.tokens[place])] for id, place in pairs]
    if rows:
        yield Table(["id", "token"], rows, caption="the last tokens", left=(1,))
