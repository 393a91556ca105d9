"""`snapshot`: a text, its tokens, their merges and a slice of the vocabulary as one HTML file that needs no server.

`snapshot_page` says what it holds and what it looks like. Left out: what a token is, which
`toksmith.explain` says.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, Literal

import toksmith
from toksmith import _render, explain

from .._base.arguments import flag, items, refuse, text_or_bytes, texts, whole_number
from .snapshot_page import document, held, part, policy
from .sources import Sources, loaded

__all__ = ["Snapshot", "snapshot"]

MOST_TOKENIZERS = 4
MOST_BYTES = 100_000  # of a text; the page says where a longer one is cut
SLICE = 1000


class Snapshot:
    """A page, or a part of one, as `toksmith.snapshot` makes it.

    Attributes:
        html: The HTML.
        policy: What a Content-Security-Policy has to allow (`script-src` and
            `style-src`, by hashes). The page has it already; a site that
            includes parts may need it. It is the same for all snapshots of a
            version.
        tokens: The number of tokens of the text, by tokenizer.
    """

    def __init__(self, html: str, title: str, tokens: dict[str, int]) -> None:
        self.html, self.policy, self.tokens = html, policy(), tokens
        self._title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `html` into a file, which holds its old content until it holds
        all of the new.

        Raises:
            FormatError: The file cannot be written. Nothing has changed.
        """
        _render.save_text(path, self.html)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in self.tokens.items())
        size = _render.number_of(len(self.html.encode()), "byte")
        return f"<Snapshot {_render.one_line(self._title)!r}: {_render.one_line(counts)}; {size}>"


def snapshot(
    toks: Sources,
    text: str | bytes,
    *,
    title: str | None = None,
    pieces: Iterable[str | bytes] | None = None,
    vocabulary: int | Iterable[int] = SLICE,
    special: Literal["raise", "allow", "text"] = "text",
    fragment: bool = False,
) -> Snapshot:
    """A text as its tokens on one HTML page that needs no server, no network and
    no other file.

    The reader points at a token, or moves to it with the keys, and sees its
    bytes, its id, its place and what it is merged from; plays the merges of a
    piece step by step; and searches a slice of the vocabulary. Of a text with
    more than 100,000 bytes the page has the beginning, encoded by itself, and
    says so.

    Args:
        toks: As in `play`, at most 4. If there are several, a cut that not all
            of them make is marked.
        title: The heading; None for the names of the tokenizers.
        pieces: Pieces whose merges can be played, of at most 512 symbols each.
            None: the first 400 different pieces of the text that have at most
            128 bytes.
        vocabulary: The number of tokens, those with the lowest ids, or the ids
            of tokens. The tokens of the text, and what they are merged from,
            are always there.
        special: What happens to special tokens in the text, as in
            `Tokenizer.encode`; by default plain text.
        fragment: Whether `html` is an element for another page, with its own
            style and script, instead of a page.
    Returns:
        The HTML, with `save`. A paragraph with cl100k_base takes about 100 kB.
    Raises:
        InvalidOption: There are more than 4 tokenizers, or a piece is too long.
        UnknownId: `vocabulary` has an id that no token has.
        ToksmithError: A tokenizer cannot be loaded.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.snapshot({"low": tok}, "slow lower", title="Low")
    >>> found
    <Snapshot 'Low': low 5; ... bytes>
    >>> found.html.startswith("<!DOCTYPE html>")
    True
    """
    text, fragment = text_or_bytes(text, "text"), flag(fragment, "fragment")
    if title is not None and not isinstance(title, str):
        refuse("title", "str", title)
    named = all_loaded(toks)
    asked = None if pieces is None else texts(pieces, "pieces", "a list of texts", (str, bytes))
    shown, notes = beginning(toksmith.reference.utf8(text))
    cuts = [explain.pieces(tok, shown, special=special) for tok in named.values()]
    chosen = listed_ids(vocabulary)
    own = [
        held(name, tok, found, asked, listed(tok, chosen))
        for (name, tok), found in zip(named.items(), cuts, strict=True)
    ]
    heading = ", ".join(named) if title is None else title
    element = part(heading, notes, named, cuts, own, alone=not fragment)
    html = element if fragment else document(heading, element)
    return Snapshot(html, heading, {name: len(found.tokens) for name, found in zip(named, cuts, strict=True)})


def all_loaded(toks: Sources) -> dict[str, toksmith.Tokenizer]:
    """The tokenizers by name, if all can be loaded."""
    named, failed = loaded(toks)
    if failed:
        name, problem = next(iter(failed.items()))
        raise toksmith.InvalidOption("toks", name, f"tokenizers that can be loaded; {problem}")
    if len(named) > MOST_TOKENIZERS:
        raise toksmith.InvalidOption("toks", f"{len(named)} tokenizers", f"at most {MOST_TOKENIZERS}")
    for name in named:
        if not isinstance(name, str):
            raise TypeError(f"toks: expected str as names, not {type(name).__name__}")
    return named


def beginning(data: bytes) -> tuple[bytes, list[str]]:
    """What of a text is shown, and what the reader is told of it: a long one ends behind a line or a character."""
    if len(data) <= MOST_BYTES:
        return data, []
    end = MOST_BYTES
    while end > MOST_BYTES - 4 and 0x80 <= data[end] < 0xC0:
        end -= 1
    line = data.rfind(b"\n", MOST_BYTES // 2, end) + 1
    shown = data[: line or end]
    return shown, [f"The text has {len(data):,} bytes. This page has the first {len(shown):,}, encoded by themselves."]


def listed_ids(ids: Any) -> list[int] | int:
    """The ids that were asked for, or how many."""
    try:
        return operator.index(ids)
    except TypeError:
        return [
            whole_number(id, "vocabulary") for id in items(ids, "vocabulary", "a number of tokens or a list of ids")
        ]


def listed(tok: toksmith.Tokenizer, chosen: int | list[int]) -> list[int]:
    """The ids of the vocabulary's slice: so many of the lowest, or those that are given."""
    if isinstance(chosen, list):
        for id in chosen:
            tok.token_bytes(id)  # raises what is wrong with it
        return chosen
    if chosen < 0:
        raise toksmith.InvalidOption("vocabulary", chosen, "at least 0")
    ids: list[int] = sorted({*tok.model.ids.tolist(), *tok.special_tokens.values()})
    return ids[:chosen]
