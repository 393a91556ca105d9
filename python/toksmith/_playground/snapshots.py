"""`snapshot`: a text, its tokens, their merges and a slice of the vocabulary as one HTML file without a server.

`snapshot_page` makes the HTML; `toksmith.explain` computes the tokens and merges.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any, Literal

import toksmith
from toksmith import _render, explain

from .._base.arguments import check_flag, check_int, check_items, check_text_or_bytes, check_texts, raise_wrong_type
from .snapshot_page import policy, snapshot_document, snapshot_part, tokenizer_data
from .sources import Sources, load_sources

MOST_TOKENIZERS = 4
MOST_BYTES = 100_000  # of a text; the page has a note if a text is longer
SLICE = 500


class Snapshot:
    """A page, or a part of a page, from `toksmith.snapshot`.

    Attributes:
        html: The HTML.
        policy: The directives that a Content-Security-Policy must include
            (`script-src` and `style-src`, by hashes). The page has them; a site
            that includes parts can need them. They are the same for all
            snapshots of a version.
        tokens: The number of tokens of the text, by tokenizer.
    """

    def __init__(self, html: str, title: str, tokens: dict[str, int]) -> None:
        self.html, self.policy, self.tokens = html, policy(), tokens
        self._title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `html` into a file, atomically.

        Raises:
            FormatError: The file cannot be written; it is unchanged.
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
    bytes, its id, its place and its parts; plays the merges of a piece step by
    step; and searches a slice of the vocabulary. A page has at most the first
    100,000 bytes of a text, encoded separately, with a note if the text is
    longer.

    Args:
        toks: As in `play`, at most 4. If there are several, a cut that not all
            of them make is marked.
        title: The heading; None for the names of the tokenizers.
        pieces: Pieces whose merges can be played, of at most 512 symbols each.
            None: the first 400 different pieces of the text that have at most
            128 bytes.
        vocabulary: The number of tokens, from the lowest id on, or the ids of
            tokens. The tokens of the text, and their parts, are always
            included.
        special: The treatment of special tokens in the text, as in
            `Tokenizer.encode`; by default plain text.
        fragment: Whether `html` is an element for another page, with its own
            style and script, instead of a page.
    Returns:
        The HTML, with `save`. A paragraph with cl100k_base takes about 80 kB.
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
    text, fragment = check_text_or_bytes(text, "text"), check_flag(fragment, "fragment")
    if title is not None and not isinstance(title, str):
        raise_wrong_type("title", "str", title)
    tokenizers = load_all(toks)
    playable = None if pieces is None else check_texts(pieces, "pieces", "a list of texts", (str, bytes))
    start, notes = first_bytes(toksmith.reference.utf8(text))
    cuts = [explain.text(tok, start, special=special) for tok in tokenizers.values()]
    slice_ids = parse_vocabulary(vocabulary)
    own = [
        tokenizer_data(name, tok, cut, playable, ids_of_slice(tok, slice_ids))
        for (name, tok), cut in zip(tokenizers.items(), cuts, strict=True)
    ]
    heading = ", ".join(tokenizers) if title is None else title
    element = snapshot_part(heading, notes, tokenizers, cuts, own, alone=not fragment)
    html = element if fragment else snapshot_document(heading, element)
    return Snapshot(html, heading, {name: len(cut.tokens) for name, cut in zip(tokenizers, cuts, strict=True)})


def load_all(toks: Sources) -> dict[str, toksmith.Tokenizer]:
    """The tokenizers by name; InvalidOption if one cannot be loaded."""
    tokenizers, failed = load_sources(toks)
    if failed:
        name, problem = next(iter(failed.items()))
        raise toksmith.errors.InvalidOption("toks", name, f"tokenizers that can be loaded; {problem}")
    if len(tokenizers) > MOST_TOKENIZERS:
        raise toksmith.errors.InvalidOption("toks", f"{len(tokenizers)} tokenizers", f"at most {MOST_TOKENIZERS}")
    for name in tokenizers:
        if not isinstance(name, str):
            raise TypeError(f"toks: expected str as names, not {type(name).__name__}")
    return tokenizers


def first_bytes(data: bytes) -> tuple[bytes, list[str]]:
    """The part of a text for the page, and notes for the reader; a long text is cut after a line or a character."""
    if len(data) <= MOST_BYTES:
        return data, []
    end = MOST_BYTES
    while end > MOST_BYTES - 4 and 0x80 <= data[end] < 0xC0:
        end -= 1
    line = data.rfind(b"\n", MOST_BYTES // 2, end) + 1
    head = data[: line or end]
    return head, [f"The text has {len(data):,} bytes. This page has the first {len(head):,}, encoded separately."]


def parse_vocabulary(ids: Any) -> list[int] | int:
    """The `vocabulary` argument: ids, or a number of ids."""
    try:
        return operator.index(ids)
    except TypeError:
        return [
            check_int(id, "vocabulary") for id in check_items(ids, "vocabulary", "a number of tokens or a list of ids")
        ]


def ids_of_slice(tok: toksmith.Tokenizer, chosen: int | list[int]) -> list[int]:
    """The ids of the vocabulary's slice: the lowest `chosen` ids, or the given ids."""
    if isinstance(chosen, list):
        for id in chosen:
            tok.token_bytes(id)  # raises UnknownId
        return chosen
    if chosen < 0:
        raise toksmith.errors.InvalidOption("vocabulary", chosen, "at least 0")
    ids: list[int] = sorted({*tok.model.ids.tolist(), *tok.special_tokens.values()})
    return ids[:chosen]
