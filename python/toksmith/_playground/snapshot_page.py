"""The HTML of a snapshot: a page, or a part of another page, that needs no other file, no server and no network.

The tokens are in the HTML, so a browser can show and print them without the script; the facts about them are JSON in an element
that is not run. The policy of the page names its one style and its one script by their hashes, and allows nothing else. Both
are the same in every snapshot of a version. The HTML has no blank line, so that Markdown leaves it whole.
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

SCRIPTS = ("embedded", "latest", "dom", "card", "player", "snapshot")  # in order of their dependencies
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
{joined}<p class="tokens"{direction}>{tokens}</p>
</section>"""


def snapshot_document(title: str, part: str) -> str:
    """The page around a part without its own style."""
    allowed = f"{policy()}; base-uri 'none'; form-action 'none'"
    body = f'<body class="toksmith-page">\n<main>\n{part}\n</main>\n</body>'
    return _render.page_of(title, style(), body, policy=allowed)


def policy() -> str:
    """The directives that allow the style and the script of a snapshot, and no other."""
    return f"script-src '{hash_of(script())}'; style-src '{hash_of(style())}'"


def hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache(maxsize=1)
def script() -> str:
    """The modules of the page as one script, without their comments."""
    lines = [line.strip() for name in SCRIPTS for line in static_text(f"{name}.js").splitlines()]
    code = [line.removeprefix("export ") for line in lines if line and not line.startswith(("//", "import "))]
    return "\n(() => {\n'use strict';\n" + "\n".join(code) + "\n})();\n"


@lru_cache(maxsize=1)
def style() -> str:
    """The rules for the element of a snapshot, and the rules for a page that is only a snapshot."""
    inside = "\n".join(bare_rules(f"{name}.css") for name in STYLES)
    return f"\n.toksmith-snapshot {{\n{inside}\n}}\n{bare_rules('snapshot-page.css')}\n"


def bare_rules(name: str) -> str:
    """A style sheet without comments and blank lines."""
    lines = re.sub(r"/\*.*?\*/", "", static_text(name), flags=re.DOTALL).splitlines()
    return "\n".join(line for line in map(str.strip, lines) if line)


def static_text(name: str) -> str:
    return (files("toksmith._playground") / "static" / name).read_text(encoding="utf-8")


def snapshot_part(
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
        notes: Notes for the reader about the text.
        alone: Whether it is the only element of a page, whose head has the style.
    """
    level = 1 if alone else 3
    data = {"format": FORMAT, "toksmith": toksmith.__version__, "tokenizers": held}
    drawn = [
        text_html(name, tok, text, several=texts, level=level + 1)
        for (name, tok), text in zip(toks.items(), texts, strict=True)
    ]
    prints = "; ".join(f"{name}: {tok.fingerprint}" for name, tok in toks.items())
    return PART.format(
        title=escape_line(title),
        h=level,
        below=level + 1,
        style="" if alone else f"<style>{style()}</style>\n",
        notes="".join(f'<p class="warn">{escape_line(note)}</p>\n' for note in notes),
        texts="\n".join(drawn),
        slice=escape_line(slice_of(toks, held)),
        made=escape_line(f"Made by toksmith {toksmith.__version__}. {prints}"),
        data=inert_json(data),
        script=script(),
    )


def text_html(
    name: str, tok: toksmith.Tokenizer, text: explain.Pieces, *, several: Sequence[explain.Pieces], level: int
) -> str:
    """The text as the tokens of one tokenizer; with several tokenizers, cuts that not all of them make are marked."""
    shared = frozenset.intersection(*(frozenset(token.end for token in each.tokens) for each in several))
    marked = frozenset(place for place, token in enumerate(text.tokens) if token.start and token.start not in shared)
    facts = (
        f"{tok.model.kind}, {_render.number_of(len(tok), 'token')} in the vocabulary. {_render.summary(text.views())}"
    )
    if marked:
        facts += f". {_render.number_of(len(marked), 'cut')} (thick and red) not shared by all tokenizers"
    joined, direction = _render.right_to_left(text.views())
    return TEXT.format(
        joined=joined and f"{joined}\n",
        direction=direction,
        label=escape_line(f"Text by {name}"),
        h=level,
        name=escape_line(name),
        facts=escape_line(f"{facts}."),
        tokens=_render.linked_tokens(text.views(), marked),
    )


def slice_of(toks: Mapping[str, toksmith.Tokenizer], held: Sequence[Mapping[str, Any]]) -> str:
    """A sentence about the tokens that can be searched."""
    counts = (
        f"{len(own['table']):,} of {_render.number_of(len(tok), 'token')} of {name}"
        for (name, tok), own in zip(toks.items(), held, strict=True)
    )
    return f"A slice of the vocabulary: {', '.join(counts)}."


def inert_json(value: object) -> str:
    """JSON that cannot end an element or begin a comment, with printable characters only."""
    text = _render.plain_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)


def escape_line(text: str) -> str:
    return html.escape(_render.one_line(text))


# The data of one tokenizer in a snapshot: results of `toksmith.explain`, in fewer bytes. `table` has a row for each token that
# the page can show: its drawn text, its bytes in hex (0 if they are those of the drawn text, with its marks undone), the index
# of its kind in `KINDS`, and, if the tokenizer merges, the rank of its merge (-1 if that is the id), the two symbols of that
# merge, the number of merges that use it, and 0 if merging does not make it. A symbol is an id, or `[drawn, hex]` if no token
# has its bytes. A merge is its place in the piece, and the pairs that can merge are listed once; `embedded.js` replays them.
KINDS = ("whole", "starts inside", "ends inside", "inside", "byte", "special")
UNMARKED = str.maketrans("·→↵", " \t\n")
MOST_PIECES = 400  # of a text whose merges can be played
LONGEST_PIECE = 128  # bytes of such a piece
WORD_BEGINS = (b" ", b"\n", "▁".encode())
Piece = tuple[bytes, tuple[int, ...]]  # its bytes and its ids


def tokenizer_data(
    name: str,
    tok: toksmith.Tokenizer,
    text: explain.Pieces,
    chosen_pieces: Sequence[str | bytes] | None,
    listed: Iterable[int],
) -> dict[str, Any]:
    """The data of one tokenizer for the page, as JSON values.

    Args:
        chosen_pieces: The pieces whose merges can be played; None for those of the text.
        listed: The ids of the vocabulary's slice, in addition to the tokens of the text and their parts.
    """
    pieces = [*pieces_of(tok, text)]
    merges = merges_of(tok, pieces, chosen_pieces)
    number = {steps.piece: place for place, steps in enumerate(merges.values())}
    # With a normalizer or a special token, the ids can differ from the merges of these bytes.
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
        "merges": {"pairs": pairs_of(merges.values()), "pieces": [*map(merge_data, merges.values())]}
        if mergeable
        else None,
        "unmerged": None if mergeable else f"A tokenizer of the kind {tok.model.kind} does not merge.",
        "table": dict(sorted(merged_rows(tok, ids) if mergeable else plain_rows(tok, ids))),
    }


def can_merge(tok: toksmith.Tokenizer) -> bool:
    return tok.model.kind in ("bpe", "chars", "words")


# Pieces and their merges


def pieces_of(tok: toksmith.Tokenizer, text: explain.Pieces) -> Iterator[Piece]:
    """The pieces of the text; with normalizers, where `explain.text` gives only one piece, its words."""
    if not tok.model.normalizers:
        for start, end, tokens in text.rows():
            yield text.text[start:end], tuple(token.id for token in tokens)
        return
    word: list[tuple[int, bytes]] = []
    for token in text.tokens:
        own = tok.model.vocab.token(token.id) or token.token
        if word and own.startswith(WORD_BEGINS):
            yield word_piece(word)
            word = []
        word.append((token.id, own))
    if word:
        yield word_piece(word)


def word_piece(word: Sequence[tuple[int, bytes]]) -> Piece:
    """The tokens of a word as a piece, in the bytes of the vocabulary."""
    return b"".join(own for _, own in word), tuple(id for id, _ in word)


def merges_of(
    tok: toksmith.Tokenizer, pieces: Sequence[Piece], chosen_pieces: Sequence[str | bytes] | None
) -> dict[bytes, explain.Merges]:
    """The merges that can be played, by the bytes of their pieces."""
    if not can_merge(tok):
        return {}
    if chosen_pieces is not None:
        return {steps.piece: steps for steps in (merges_of_piece(tok, each) for each in chosen_pieces)}
    playable: dict[bytes, explain.Merges] = {}
    for data, ids in pieces:
        if data in playable or not 1 < len(data) <= LONGEST_PIECE or len(playable) == MOST_PIECES:
            continue
        try:
            steps = explain.merges(tok, data)
        except toksmith.errors.NotInVocabulary:  # special tokens only
            continue
        if steps.ids == ids:
            playable[data] = steps
    return playable


def merges_of_piece(tok: toksmith.Tokenizer, piece: str | bytes) -> explain.Merges:
    """The merges of a piece from the caller's argument."""
    try:
        return explain.merges(tok, piece)
    except toksmith.errors.InvalidOption as error:
        raise toksmith.errors.InvalidOption("pieces", error.value, "pieces of at most 512 symbols each") from None


def symbols_of(steps: explain.Merges) -> Iterator[explain.Symbol]:
    yield from steps.merged
    for step in steps.steps:
        yield from step.symbols


def symbol_data(symbol: explain.Symbol) -> int | list[str]:
    """A symbol in the page's data."""
    return [_render.token_text(symbol.token), symbol.token.hex()] if symbol.id is None else symbol.id


def pairs_of(merges: Iterable[explain.Merges]) -> list[list[Any]]:
    """Each pair that can merge: the two symbols, the rank, and the new id."""
    pairs: dict[tuple[explain.Symbol, explain.Symbol], list[Any]] = {}
    for steps in merges:
        for step in steps.steps:
            for each in step.candidates:
                left, right = step.symbols[each.place : each.place + 2]
                if (left, right) not in pairs:
                    pairs[left, right] = [symbol_data(left), symbol_data(right), each.rank, each.id]
    return [*pairs.values()]


def merge_data(steps: explain.Merges) -> dict[str, Any]:
    """The merges of one piece: its first symbols, and the place of each merge."""
    first = steps.steps[0].symbols if steps.steps else steps.merged
    return {
        "shown": _render.token_text(steps.piece),
        "hex": steps.piece.hex(),
        "cut": steps.cut,
        "whole": steps.whole_id,
        "ids": list(steps.ids),
        "first": [*map(symbol_data, first)],
        "places": [step.chosen.place for step in steps.steps],
    }


# The table of tokens


def merged_rows(tok: toksmith.Tokenizer, ids: Iterable[int]) -> Iterator[tuple[int, list[Any]]]:
    """A row for each token, and for each part of one of them."""
    waiting = [*ids]
    queued = {*waiting}
    while waiting:
        tree = explain.token(tok, waiting.pop())
        row = look_of(tree.token, tree.kind)
        root = tree.nodes[tree.roots[0]] if tree.is_derivable else None
        if root is not None and root.left is not None and root.right is not None:
            parts = [explain.Symbol(tree.nodes[place].token, tree.nodes[place].id) for place in (root.left, root.right)]
            row += [-1 if root.rank == tree.id else root.rank, *map(symbol_data, parts), len(tree.children)]
            new = {part.id for part in parts if part.id is not None} - queued
            queued |= new
            waiting += new
        elif not tree.special:
            row += [None, None, None, len(tree.children), *([] if tree.is_derivable else [0])]
        yield tree.id, row


def plain_rows(tok: toksmith.Tokenizer, ids: Iterable[int]) -> Iterator[tuple[int, list[Any]]]:
    """A row for each token of a tokenizer that does not merge."""
    distinct = {*ids}
    if not distinct:
        return
    span = f"{min(distinct)}-{max(distinct)}"
    for each in explain.search(tok, span, by="id", most=max(distinct) + 1).found:
        if each.id in distinct:
            yield each.id, look_of(each.token, each.kind)


def look_of(token: bytes, kind: str) -> list[Any]:
    """The beginning of a token's row."""
    shown = _render.token_text(token)
    return [shown, 0 if shown.translate(UNMARKED).encode() == token else token.hex(), KINDS.index(kind)]
