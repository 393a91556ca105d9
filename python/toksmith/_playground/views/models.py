"""Models by their names: where the tokenizer of each comes from, the line that gets it, and which context lengths it has.

The rules: a tokenizer is loaded only if its file is on this machine, and nothing is downloaded. A context length belongs to a
tokenizer if it has the tokens of that model, whatever it is called. Context lengths are those of `explain.CONTEXTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import toksmith
from toksmith import explain

from .asked import Asked
from .opened import added

__all__ = ["MODELS", "SIZES", "ModelRow", "budget", "contexts_of", "line_for", "model", "models"]


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


# Context lengths without a model, from 8k to 1M.
SIZES: Mapping[str, int] = {f"{kibi}k": kibi << 10 for kibi in (8, 16, 32, 64, 128, 256, 512)} | {"1M": 1 << 20}


class ModelRow(NamedTuple):
    """One row: a model, who made it, and what `toksmith.load` takes for its tokenizer."""

    maker: str
    name: str
    source: str


MODELS = (
    ModelRow("OpenAI", "GPT-5", "gpt-5"),
    ModelRow("OpenAI", "GPT-4o", "gpt-4o"),
    ModelRow("OpenAI", "o3", "o3"),
    ModelRow("OpenAI", "gpt-oss", "gpt-oss-120b"),
    ModelRow("OpenAI", "GPT-4, GPT-3.5", "gpt-4"),
    ModelRow("OpenAI", "GPT-2", "gpt2"),
    ModelRow("Meta", "Llama 3", "meta-llama/Meta-Llama-3-8B"),
    ModelRow("Meta", "Llama 2", "meta-llama/Llama-2-7b-hf"),
    ModelRow("Mistral", "Mistral 7B", "mistralai/Mistral-7B-v0.1"),
    ModelRow("Mistral", "Mistral Nemo", "mistralai/Mistral-Nemo-Instruct-2407"),
    ModelRow("Qwen", "Qwen2.5", "Qwen/Qwen2.5-7B"),
    ModelRow("Qwen", "Qwen3", "Qwen/Qwen3-8B"),
    ModelRow("DeepSeek", "DeepSeek-V3", "deepseek-ai/DeepSeek-V3"),
    ModelRow("DeepSeek", "DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
    ModelRow("Google", "Gemma 2", "google/gemma-2-9b"),
    ModelRow("Microsoft", "Phi-4", "microsoft/phi-4"),
)


def line_for(source: str) -> str:
    """The line for a shell that brings the files of a source into a cache that `toksmith.load` reads.

    >>> line_for("gpt-4o"), line_for("org/name")
    ('echo low | toksmith count -t gpt-4o', 'hf download org/name tokenizer.json')
    """
    return f"hf download {source} tokenizer.json" if "/" in source else f"echo low | toksmith count -t {source}"


# Tokenizers by a token and its id, which no other published one with so many tokens has, and the models of `CONTEXTS` that use them.
TOKENIZERS = (
    (50256, " the", 262, ("GPT-2", "GPT-3")),
    (100256, " the", 279, ("GPT-4 32k",)),
    (31997, "▁the", 278, ("Llama 1", "Llama 2")),
)


def contexts_of(tok: toksmith.Tokenizer) -> dict[str, int]:
    """The context lengths of the models that use this tokenizer."""
    for entries, token, id, models in TOKENIZERS:
        if len(tok.model.tokens) != entries:
            continue
        try:
            if tok.token_id(token) == id:
                return {model: explain.CONTEXTS[model] for model in models}
        except toksmith.NotInVocabulary:
            continue
    return {}


def budget(asked: Asked) -> explain.Budget:
    """Tokens relative to context lengths: of each tokenizer those of its models, then sizes, and the user's own (`context`)."""
    own = asked.number("context", 0, most=1 << 40)
    others = {**SIZES, **({"yours": own} if own else {})}
    text, special = asked.text, asked.special
    rows: list[explain.BudgetRow] = []
    for name, tok in asked.toks.items():
        found = explain.budget({name: tok}, text, context={**contexts_of(tok), **others}, special=special)
        rows += found.rows
    return explain.Budget(found.bytes, found.chars, tuple(rows))
