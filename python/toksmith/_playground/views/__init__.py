"""What the page asks for: one row for each view, a function of what was asked that gives JSON values.

The rules: every answer is one of the library's results, or a window onto one; nothing here knows how a text is cut.
A text is sent once and then named by its key; what was computed of it last is kept. Every argument is checked, and
what is wrong with it is an `InvalidOption` that says what was expected. A new view is a file beside this one and its row
in `VIEWS`. Left out: HTTP, which is `server`'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import toksmith
from toksmith import _render
from toksmith._render import Shown, called

from ..live_training import TrainedAt
from . import folder, models, opened, results, trainer, windows
from .asked import KEPT, MOST_AT_ONCE, MOST_BYTES, Asked, AskerLeft, Session, UnknownText

__all__ = [
    "EXPORTS",
    "KEPT",
    "MOST_BYTES",
    "VIEWS",
    "Asked",
    "AskerLeft",
    "Named",
    "Session",
    "UnknownText",
    "exported",
    "is_long",
    "listed",
    "shown",
]

VIEWS: Mapping[str, Callable[[Asked], Shown | dict[str, Any]]] = {
    # windows and answers
    "counts": windows.counts,
    "rows": windows.rows,
    "differences": windows.differences,
    "measured": windows.measured,
    "opened": opened.opened,
    "proposed": opened.proposed,
    "ids": windows.ids,
    "all_ids": windows.all_ids,
    "decode": windows.decode,
    "place": windows.place,
    "difference": windows.difference,
    "piece": windows.piece,
    "repair": results.repair,
    "models": models.models,
    "model": models.model,
    "saved": results.saved,
    "folder_wanted": folder.folder_wanted,
    "folder_files": folder.folder_files,
    "folder_areas": folder.folder_areas,
    "corpus": trainer.corpus,
    "train": trainer.train,
    "stop_training": trainer.stop_training,
    "trained_tokenizer": trainer.trained_tokenizer,
    "trained_file": trainer.trained_file,
    # results of the library, which can be exported
    "tokens": results.pieces,
    "merges": results.merges,
    "tree": results.tree,
    "history": results.history,
    "budget": models.budget,
    "parity": results.parity,
    "prompt": results.prompt,
    "lint": results.lint,
    "specials": results.specials,
    "search": results.search,
    "lengths": results.lengths,
    "doctor": results.doctor,
    "folder": folder.folder,
    "fairness": results.fairness,
    "chat": results.chat,
    "stability": results.stability,
    "edit": results.edit,
    "trained": trainer.trained,
}

# The most bytes of a text for all tokenizers together, where it is less than `MOST_AT_ONCE`: these draw every token, or look at
# every place.
MOST: Mapping[str, int] = {
    "tokens": 200_000,
    "merges": 200_000,
    "search": 200_000,
    "chat": 200_000,
    "stability": 2_000_000,
}
SHORT = 20_000  # bytes of a question, or characters of its text, up to which it is short
# These take long for a short question too.
LONG = frozenset(
    {"doctor", "folder", "folder_areas", "folder_wanted", "train", "trained", "trained_file", "trained_tokenizer"}
)


def is_long(session: Session, view: str, data: bytes) -> bool:
    """Whether a view may take longer than a moment for the body of a question."""
    if view in LONG or len(data) > SHORT:
        return True
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return False
    key = values.get("base", values.get("key")) if isinstance(values, dict) else None
    held = session.had("text", key) if isinstance(key, str) else None
    return held is not None and len(held.text) > SHORT


def answered(view: str, asked: Asked) -> Shown | dict[str, Any]:
    """What the view gives, under the name that the page has for the tokenizer."""
    asked.most = MOST.get(view, MOST_AT_ONCE)
    result = VIEWS[view](asked)
    asked.go_on()
    if isinstance(result, dict) or not asked.values.get("tokenizers"):  # a view may be about none of the page
        return result
    return called(result, asked.names[asked.which])


def shown(view: str, asked: Asked) -> dict[str, Any]:
    """The answer to a question: what the view gives, as JSON values, and the key of the text that it was asked of."""
    result = answered(view, asked)
    found = result if isinstance(result, dict) else listed(result.to_dict())
    asked.go_on()
    return {"result": found, "key": asked.values.get("key")}


def exported(view: str, format: str, asked: Asked) -> tuple[str, str]:
    """The content type and the text of an exported view."""
    result = answered(view, asked)
    if isinstance(result, dict):
        raise toksmith.InvalidOption("view", view, "one that has a result of its own")
    kind, make = EXPORTS[format]
    toks = result.toks if isinstance(result, TrainedAt) else asked.toks
    return kind, make(Named(result, toks))


MOST_LISTED = 600


class Named(Shown):
    """A result with the names and fingerprints of the tokenizers that it is about, as it is exported."""

    def __init__(self, result: Shown, toks: Mapping[str, toksmith.Tokenizer]) -> None:
        self.result, self.toks = result, toks

    def _parts(self) -> Iterator[Any]:
        yield from self.result._parts()
        for name, tok in self.toks.items():
            yield _render.Line(f"{name}: {tok.fingerprint}", "dim")

    def to_dict(self) -> dict[str, Any]:
        made_by = {name: tok.fingerprint for name, tok in self.toks.items()}
        return {"toksmith": toksmith.__version__, "tokenizers": made_by, "result": self.result.to_dict()}


EXPORTS: Mapping[str, tuple[str, Callable[[Shown], str]]] = {
    "html": ("text/html", Shown.to_html),
    "svg": ("image/svg+xml", Shown.to_svg),
    "json": ("application/json", Shown.to_json),
}


def listed(found: Any) -> Any:
    """A result as the page takes it: what bytes look like beside them, and of long lists the beginning and the length."""
    if isinstance(found, list):
        return [listed(each) for each in found]
    if not isinstance(found, dict):
        return found
    made: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, list) and len(value) > MOST_LISTED and isinstance(value[0], dict):
            made[f"{name}_total"] = len(value)
            value = value[:MOST_LISTED]
        made[name] = listed(value)
    if isinstance(found.get("hex"), str):
        made["shown"] = _render.token_text(bytes.fromhex(found["hex"]))
    return made
