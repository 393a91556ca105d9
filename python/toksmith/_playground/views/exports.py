"""Answers as JSON values for the page, and as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import toksmith
from toksmith import _render
from toksmith._render import Shown

__all__ = ["EXPORTS", "Named", "listed"]

MOST_LISTED = 600


class Named(Shown):
    """A result with the names and fingerprints of the tokenizers that it is about, as it is exported."""

    def __init__(self, result: Shown, toks: Mapping[str, toksmith.Tokenizer]) -> None:
        self.result, self.toks = result, toks

    def view(self) -> _render.View:
        """What is to be seen."""
        view = self.result.view()
        lines = [_render.Line(f"{name}: {tok.fingerprint}", "dim") for name, tok in self.toks.items()]
        return _render.View(view.title, [*view.blocks, *lines])

    def to_dict(self) -> dict[str, Any]:
        """The result, and what it is of, as JSON values."""
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
