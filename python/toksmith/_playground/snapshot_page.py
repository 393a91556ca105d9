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
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import toksmith
from toksmith import _render, explain

__all__ = ["document", "part", "policy"]

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
