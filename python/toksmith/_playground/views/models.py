"""Models by name: the source of each tokenizer, the shell line that downloads it, and its context lengths.

A tokenizer is loaded only if its file is on this machine; the server downloads nothing. A context length of `explain.CONTEXTS`
belongs to a tokenizer with the tokens of that model, under any name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import toksmith
from toksmith import explain

from .opened import add_tokenizer
from .view_request import ViewRequest


def models(request: ViewRequest) -> dict[str, Any]:
    """The rows of models; `maker` selects those of one maker."""
    maker = request.string("maker", "")
    rows = [{**row._asdict(), "line": line_for(row.source)} for row in MODELS if maker in ("", row.maker)]
    return {"models": rows}


def model(request: ViewRequest) -> dict[str, Any]:
    """Whether the tokenizer of a `source` is on this machine; `add` adds it to the page if it is missing there."""
    source, session = request.string("source"), request.session
    row = next((row for row in MODELS if row.source == source), None)
    if row is None:
        raise toksmith.errors.UnknownName("model", source, [row.source for row in MODELS])
    try:
        tok = session.once("model", source, lambda: toksmith.load(source, download=False))
    except toksmith.ToksmithError as error:
        return {"here": False, "line": line_for(source), "why": str(error)}
    if request.values.get("add") is not True:
        return {"here": True, "entries": len(tok)}
    name = next((name for name, other in session.toks.items() if other == tok), None)
    if name is not None:
        return {"here": True, "name": name, "about": session.about()}
    return {"here": True, **add_tokenizer(session, row.name, tok)}


# Context lengths without a model, from 8k to 1M.
SIZES: Mapping[str, int] = {f"{kibi}k": kibi << 10 for kibi in (8, 16, 32, 64, 128, 256, 512)} | {"1M": 1 << 20}


class ModelRow(NamedTuple):
    """One row: the maker of a model, its name, and the argument of `toksmith.load` for its tokenizer."""

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
    """The shell line that downloads the files of a source into a cache that `toksmith.load` reads.

    >>> line_for("gpt-4o"), line_for("org/name")
    ('echo low | toksmith count -t gpt-4o', 'hf download org/name tokenizer.json')
    """
    return f"hf download {source} tokenizer.json" if "/" in source else f"echo low | toksmith count -t {source}"


# Tokenizers by their number of tokens, a token and its id, which together are unique among published ones, and their models.
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
        except toksmith.errors.NotInVocabulary:
            continue
    return {}


def budget(request: ViewRequest) -> explain.Budget:
    """Tokens relative to context lengths: those of each tokenizer's models, general sizes, and the user's own (`context`)."""
    own = request.number("context", 0, most=1 << 40)
    others = {**SIZES, **({"yours": own} if own else {})}
    text, special = request.text, request.special
    rows: list[explain.BudgetRow] = []
    for name, tok in request.toks.items():
        result = explain.budget({name: tok}, text, context={**contexts_of(tok), **others}, special=special)
        rows += result.rows
    return explain.Budget(result.bytes, result.chars, tuple(rows))
