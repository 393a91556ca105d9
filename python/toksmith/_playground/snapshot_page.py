"""The HTML of a snapshot: a page, or a part of another page, that needs no other file, no server and no network.

The rules: the tokens are in the HTML, so they are read and printed without the script; what is known of them is JSON in
an element that is not run. The policy of the page names its one style and its one script by their hashes, and allows
nothing else. Both are the same in every snapshot of a version. No blank line is in it, so that Markdown leaves it whole.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import toksmith
from toksmith import _render, explain

__all__ = ["KINDS", "document", "held", "part", "policy"]

SCRIPTS = ("embedded", "latest", "dom", "card", "player", "snapshot")  # each uses those before it
STYLES = ("parts", "snapshot")
FORMAT = 1
PART = """<div class="toksmith-snapshot" role="group" aria-label="{title}">
{style}<h{h} class="title">{title}</h{h}>
{notes}<div class="body">
{texts}
<section class="merges scripted" aria-label="Merges" hidden>
<h{below}>Merges</h{below}>
<p class="unplayed dim" hidden></p>
</section>
<section class="vocabulary scripted" aria-label="Vocabulary" hidden>
<h{below}>Vocabulary</h{below}>
<p class="dim">{slice}</p>
</section>
</div>
<p class="unseen" role="status" aria-live="polite"></p>
<p class="made dim">{made}</p>
<script type="application/json">{data}</script>
<script>{script}</script>
</div>"""
TEXT = """<section class="text" aria-label="{label}">
<h{h}>{name}</h{h}>
<p class="dim">{facts}</p>
<p class="tokens">{tokens}</p>
</section>"""


def document(title: str, part: str) -> str:
    """The page around a part without a style of its own."""
    allowed = f"{policy()}; base-uri 'none'; form-action 'none'"
    body = f'<body class="toksmith-page">\n{part}\n</body>'
    return _render.page_of(title, style(), body, policy=allowed)


def policy() -> str:
    """The directives that allow the style and the script of a snapshot, and no other."""
    return f"script-src '{hash_of(script())}'; style-src '{hash_of(style())}'"


def hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache(maxsize=1)
def script() -> str:
    """The modules of the page as one script, without their comments."""
    lines = [line.strip() for name in SCRIPTS for line in static(f"{name}.js").splitlines()]
    kept = [line.removeprefix("export ") for line in lines if line and not line.startswith(("//", "import "))]
    return "\n(() => {\n'use strict';\n" + "\n".join(kept) + "\n})();\n"


@lru_cache(maxsize=1)
def style() -> str:
    """The rules of a snapshot, which hold inside its element, and those of a page that is nothing else."""
    inside = "\n".join(bare_rules(f"{name}.css") for name in STYLES)
    return f"\n.toksmith-snapshot {{\n{inside}\n}}\n{bare_rules('snapshot-page.css')}\n"


def bare_rules(name: str) -> str:
    """A style sheet without comments and blank lines."""
    lines = re.sub(r"/\*.*?\*/", "", static(name), flags=re.DOTALL).splitlines()
    return "\n".join(line for line in map(str.strip, lines) if line)


def static(name: str) -> str:
    return (files("toksmith._playground") / "static" / name).read_text(encoding="utf-8")


def part(
    title: str,
    notes: Sequence[str],
    toks: Mapping[str, toksmith.Tokenizer],
    texts: Sequence[explain.Pieces],
    held: Sequence[Mapping[str, Any]],
    *,
    alone: bool,
) -> str:
    """The element of a snapshot.

    Args:
        notes: What the reader has to know of the text.
        alone: Whether it is all of a page, whose head has the style.
    """
    level = 1 if alone else 3
    data = {"format": FORMAT, "toksmith": toksmith.__version__, "tokenizers": held}
    drawn = [
        text_of(name, tok, text, several=texts, level=level + 1)
        for (name, tok), text in zip(toks.items(), texts, strict=True)
    ]
    prints = "; ".join(f"{name}: {tok.fingerprint}" for name, tok in toks.items())
    return PART.format(
        title=escaped(title),
        h=level,
        below=level + 1,
        style="" if alone else f"<style>{style()}</style>\n",
        notes="".join(f'<p class="warn">{escaped(note)}</p>\n' for note in notes),
        texts="\n".join(drawn),
        slice=escaped(slice_of(toks, held)),
        made=escaped(f"Made by toksmith {toksmith.__version__}. {prints}"),
        data=inert(data),
        script=script(),
    )


def text_of(
    name: str, tok: toksmith.Tokenizer, text: explain.Pieces, *, several: Sequence[explain.Pieces], level: int
) -> str:
    """The text as the tokens of one tokenizer; where there are several, with the cuts that not all of them make."""
    shared = frozenset.intersection(*(frozenset(token.end for token in each.tokens) for each in several))
    marked = frozenset(place for place, token in enumerate(text.tokens) if token.start and token.start not in shared)
    facts = (
        f"{tok.model.kind}, {_render.number_of(len(tok), 'token')} in the vocabulary. {_render.summary(text.views())}"
    )
    if marked:
        facts += f". {_render.number_of(len(marked), 'cut')} (thick and red) not shared by all tokenizers"
    return TEXT.format(
        label=escaped(f"Text by {name}"),
        h=level,
        name=escaped(name),
        facts=escaped(f"{facts}."),
        tokens=_render.linked_tokens(text.views(), marked),
    )


def slice_of(toks: Mapping[str, toksmith.Tokenizer], held: Sequence[Mapping[str, Any]]) -> str:
    """Which tokens can be searched."""
    said = (
        f"{len(own['table']):,} of {_render.number_of(len(tok), 'token')} of {name}"
        for (name, tok), own in zip(toks.items(), held, strict=True)
    )
    return f"A slice of the vocabulary: {', '.join(said)}."


def inert(value: object) -> str:
    """JSON that ends no element, begins no comment, and has only characters that print."""
    text = _render.plain_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def escaped(text: str) -> str:
    return html.escape(_render.one_line(text))


# What a snapshot holds of one tokenizer: results of `toksmith.explain`, in fewer bytes. `table` has a row for each token that the
# page can show: how it is drawn, its bytes in hex, the place of its kind in `KINDS`, and, if the tokenizer merges, the rank of
# its merge, the two symbols that it is merged from, how many merges use it, and 1 if merging makes it, else 0. A symbol is an
# id, or `[drawn, hex]` if no token has its bytes. A merge is its place in the piece, and the pairs that can merge are listed
# once; `embedded.js` replays them.
KINDS = ("whole", "starts inside", "ends inside", "inside", "byte", "special")
MOST_PIECES = 400  # of a text whose merges can be played
LONGEST_PIECE = 128  # bytes of such a piece
WORD_BEGINS = (b" ", b"\n", "▁".encode())
Piece = tuple[bytes, tuple[int, ...]]  # its bytes and its ids


def held(
    name: str, tok: toksmith.Tokenizer, text: explain.Pieces, asked: Sequence[str | bytes] | None, listed: Iterable[int]
) -> dict[str, Any]:
    """What the page has of a tokenizer, as JSON values.

    Args:
        asked: The pieces whose merges can be played; None for those of the text.
        listed: The ids of the vocabulary's slice. The tokens of the text, and what they are merged from, are there anyway.
    """
    pieces = [*pieces_of(tok, text)]
    merges = merges_of(tok, pieces, asked)
    number = {steps.piece: place for place, steps in enumerate(merges.values())}
    # A normalizer or a special token may have given other ids than the merges of these bytes.
    same = [data in merges and merges[data].ids == ids for data, ids in pieces]
    places = [[len(ids), number[data] if own else -1] for (data, ids), own in zip(pieces, same, strict=True)]
    ids = {token.id for token in text.tokens} | {*listed}
    ids |= {symbol.id for steps in merges.values() for symbol in symbols_of(steps) if symbol.id is not None}
    mergeable = can_merge(tok)
    return {
        "name": _render.one_line(name),
        "ids": [token.id for token in text.tokens],
        "lengths": [token.end - token.start for token in text.tokens],
        "pieces": places,
        "merges": {"pairs": pairs_of(merges.values()), "pieces": [*map(played, merges.values())]}
        if mergeable
        else None,
        "unmerged": None if mergeable else f"A tokenizer of the kind {tok.model.kind} does not merge.",
        "table": dict(sorted(merged_rows(tok, ids) if mergeable else plain_rows(tok, ids))),
    }


def can_merge(tok: toksmith.Tokenizer) -> bool:
    return tok.model.kind in ("bpe", "chars", "words")


# Pieces and their merges


def pieces_of(tok: toksmith.Tokenizer, text: explain.Pieces) -> Iterator[Piece]:
    """The pieces of the text. Where a normalizer rewrites texts, `explain.pieces` gives one, and words stand for pieces."""
    if not tok.model.normalizers:
        for start, end, tokens in text.rows():
            yield text.text[start:end], tuple(token.id for token in tokens)
        return
    word: list[tuple[int, bytes]] = []
    for token in text.tokens:
        own = tok.model.vocab.token(token.id) or token.token
        if word and own.startswith(WORD_BEGINS):
            yield joined(word)
            word = []
        word.append((token.id, own))
    if word:
        yield joined(word)


def joined(word: Sequence[tuple[int, bytes]]) -> Piece:
    """The tokens of a word as a piece, in the bytes of the vocabulary."""
    return b"".join(own for _, own in word), tuple(id for id, _ in word)


def merges_of(
    tok: toksmith.Tokenizer, pieces: Sequence[Piece], asked: Sequence[str | bytes] | None
) -> dict[bytes, explain.Merges]:
    """The merges that can be played, by the bytes of their pieces."""
    if not can_merge(tok):
        return {}
    if asked is not None:
        return {steps.piece: steps for steps in (merges_asked(tok, each) for each in asked)}
    found: dict[bytes, explain.Merges] = {}
    for data, ids in pieces:
        if data in found or not 1 < len(data) <= LONGEST_PIECE or len(found) == MOST_PIECES:
            continue
        try:
            steps = explain.merges(tok, data)
        except toksmith.NotInVocabulary:  # special tokens only
            continue
        if steps.ids == ids:
            found[data] = steps
    return found


def merges_asked(tok: toksmith.Tokenizer, piece: str | bytes) -> explain.Merges:
    """The merges of a piece that the caller named."""
    try:
        return explain.merges(tok, piece)
    except toksmith.InvalidOption as error:
        raise toksmith.InvalidOption("pieces", error.value, "pieces of at most 512 symbols each") from None


def symbols_of(steps: explain.Merges) -> Iterator[explain.Symbol]:
    yield from steps.merged
    for step in steps.steps:
        yield from step.symbols


def reference(symbol: explain.Symbol) -> int | list[str]:
    """A symbol as the page has it."""
    return [_render.token_text(symbol.token), symbol.token.hex()] if symbol.id is None else symbol.id


def pairs_of(merges: Iterable[explain.Merges]) -> list[list[Any]]:
    """Each pair that can merge somewhere: the two symbols, the rank, and the id that they become."""
    found: dict[tuple[explain.Symbol, explain.Symbol], list[Any]] = {}
    for steps in merges:
        for step in steps.steps:
            for each in step.candidates:
                left, right = step.symbols[each.place : each.place + 2]
                if (left, right) not in found:
                    found[left, right] = [reference(left), reference(right), each.rank, each.id]
    return [*found.values()]


def played(steps: explain.Merges) -> dict[str, Any]:
    """The merges of one piece: its first symbols, and the place of each merge."""
    first = steps.steps[0].symbols if steps.steps else steps.merged
    return {
        "shown": _render.token_text(steps.piece),
        "hex": steps.piece.hex(),
        "cut": steps.cut,
        "whole": steps.whole_id,
        "ids": list(steps.ids),
        "first": [*map(reference, first)],
        "places": [step.chosen.place for step in steps.steps],
    }


# The table of tokens


def merged_rows(tok: toksmith.Tokenizer, ids: Iterable[int]) -> Iterator[tuple[int, list[Any]]]:
    """A row for each token, and for each that one of them is merged from."""
    waiting = [*ids]
    seen = {*waiting}
    while waiting:
        tree = explain.tree(tok, waiting.pop())
        row: list[Any] = [_render.token_text(tree.token), tree.token.hex(), KINDS.index(tree.kind)]
        root = tree.nodes[tree.roots[0]] if tree.is_derivable else None
        if root is not None and root.left is not None and root.right is not None:
            parts = [explain.Symbol(tree.nodes[place].token, tree.nodes[place].id) for place in (root.left, root.right)]
            row += [root.rank, *map(reference, parts), len(tree.children), 1]
            new = {part.id for part in parts if part.id is not None} - seen
            seen |= new
            waiting += new
        elif not tree.special:
            row += [None, None, None, len(tree.children), int(tree.is_derivable)]
        yield tree.id, row


def plain_rows(tok: toksmith.Tokenizer, ids: Iterable[int]) -> Iterator[tuple[int, list[Any]]]:
    """A row for each token of a tokenizer that does not merge."""
    wanted = {*ids}
    if not wanted:
        return
    among = f"{min(wanted)}-{max(wanted)}"
    for each in explain.search(tok, among, by="id", most=max(wanted) + 1).found:
        if each.id in wanted:
            yield each.id, [_render.token_text(each.token), each.token.hex(), KINDS.index(each.kind)]
