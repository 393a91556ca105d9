"""The tokenizers of models by the models' names: those whose files are on this machine, and how to get the others."""

from __future__ import annotations

from typing import Any

import toksmith

from ..models import MODELS, line_for
from .asked import Asked
from .opened import added

__all__ = ["model", "models"]


def models(asked: Asked) -> dict[str, Any]:
    """The rows of models; `maker` keeps those of one maker."""
    maker = asked.string("maker", "")
    rows = [{**row._asdict(), "line": line_for(row.source)} for row in MODELS if maker in ("", row.maker)]
    return {"models": rows}


def model(asked: Asked) -> dict[str, Any]:
    """Whether the tokenizer of a `source` is here; with `add` it becomes one of the page's, if it is not one already."""
    source, session = asked.string("source"), asked.session
    row = next((row for row in MODELS if row.source == source), None)
    if row is None:
        raise toksmith.UnknownName("model", source, [row.source for row in MODELS])
    try:
        tok = session.once("model", source, lambda: toksmith.load(source, download=False))
    except toksmith.ToksmithError as error:
        return {"here": False, "line": line_for(source), "why": str(error)}
    if asked.values.get("add") is not True:
        return {"here": True, "entries": len(tok)}
    name = next((name for name, other in session.toks.items() if other == tok), None)
    if name is not None:
        return {"here": True, "name": name, "about": session.about()}
    return {"here": True, **added(session, row.name, tok)}
