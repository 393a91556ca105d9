"""The views of the page: one row for each, a function from the checked request to a result.

Every answer is a result of the library, or a window onto one; no view cuts a text itself. The page sends a text once and then
names it by its key; the latest results are cached. A wrong argument raises an `InvalidOption` with the expected values. A new
view is a function in a file of this folder and its row in `VIEWS`. Left out: HTTP, which `server` handles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import toksmith
from toksmith import _render
from toksmith._render import Shown, with_tokenizer_name

from ..live_training import TrainedAt
from . import folder, models, opened, results, trainer, windows
from .view_request import KEPT, MOST_AT_ONCE, MOST_BYTES, ClientLeft, Session, UnknownText, ViewRequest

__all__ = [
    "EXPORTS",
    "KEPT",
    "MOST_BYTES",
    "VIEWS",
    "ClientLeft",
    "NamedResult",
    "Session",
    "UnknownText",
    "ViewRequest",
    "answer_values",
    "export_view",
    "is_long",
    "page_values",
]

VIEWS: Mapping[str, Callable[[ViewRequest], Shown | dict[str, Any]]] = {
    # windows and answers
    "counts": windows.counts,
    "rows": windows.rows,
    "differences": windows.differences,
    "measured": windows.store_widths,
    "opened": opened.open_tokenizer,
    "closed": opened.close_tokenizer,
    "proposed": opened.propose,
    "ids": windows.ids,
    "all_ids": windows.all_ids,
    "decode": windows.decode,
    "place": windows.place,
    "difference": windows.difference,
    "piece": windows.piece,
    "repair": results.repair,
    "models": models.models,
    "model": models.model,
    "saved": results.save_snapshot,
    "chat_change": results.chat_change,
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
    "trained": trainer.measure_size,
}

# The maximum bytes of a text for all tokenizers together, for views that draw every token or look at every place; otherwise
# `MOST_AT_ONCE`.
MOST: Mapping[str, int] = {
    "tokens": 200_000,
    "merges": 200_000,
    "search": 200_000,
    "chat": 200_000,
    "chat_change": 200_000,
}
SHORT = 20_000  # bytes of a request, and characters of its text; a longer request is long
# These views take long for a short request too.
LONG = frozenset(
    {"doctor", "folder", "folder_areas", "folder_wanted", "train", "trained", "trained_file", "trained_tokenizer"}
)


def is_long(session: Session, view: str, data: bytes) -> bool:
    """Whether a view can take long for a request."""
    if view in LONG or len(data) > SHORT:
        return True
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return False
    key = values.get("base", values.get("key")) if isinstance(values, dict) else None
    stored = session.cached_value("text", key) if isinstance(key, str) else None
    return stored is not None and len(stored.text) > SHORT


def run_view(view: str, request: ViewRequest) -> Shown | dict[str, Any]:
    """The result of the view, with the page's name of the tokenizer."""
    request.most = MOST.get(view, MOST_AT_ONCE)
    result = VIEWS[view](request)
    request.go_on()
    if isinstance(result, dict) or not request.values.get("tokenizers"):  # a view without a tokenizer of the page
        return result
    return with_tokenizer_name(result, request.names[request.which])


def answer_values(view: str, request: ViewRequest) -> dict[str, Any]:
    """The answer to a request: the result of the view as JSON values, and the key of the text."""
    result = run_view(view, request)
    values = result if isinstance(result, dict) else page_values(result.to_dict())
    request.go_on()
    return {"result": values, "key": request.values.get("key")}


def export_view(view: str, format: str, request: ViewRequest) -> tuple[str, str]:
    """The content type and the text of an exported view."""
    result = run_view(view, request)
    if isinstance(result, dict):
        raise toksmith.errors.InvalidOption("view", view, "a view with a result to export")
    kind, make = EXPORTS[format]
    toks = result.toks if isinstance(result, TrainedAt) else request.toks
    return kind, make(NamedResult(result, toks))


MOST_LISTED = 600


class NamedResult(Shown):
    """A result for export, with the names and fingerprints of its tokenizers."""

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


def page_values(result: Any) -> Any:
    """A result for the page: bytes also as drawn text, and long lists as their beginning and their length."""
    if isinstance(result, list):
        return [page_values(each) for each in result]
    if not isinstance(result, dict):
        return result
    values: dict[str, Any] = {}
    for name, value in result.items():
        if isinstance(value, list) and len(value) > MOST_LISTED and isinstance(value[0], dict):
            values[f"{name}_total"] = len(value)
            value = value[:MOST_LISTED]
        values[name] = page_values(value)
    if isinstance(result.get("hex"), str):
        values["shown"] = _render.token_text(bytes.fromhex(result["hex"]))
    return values
