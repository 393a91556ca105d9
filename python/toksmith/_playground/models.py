"""Models by their names: where the tokenizer of each comes from, the line that gets it, and which context lengths it has.

The rules: a tokenizer is loaded only if its file is on this machine, and nothing is downloaded. A context length belongs to a
tokenizer if it has the tokens of that model, whatever it is called. Context lengths are those of `explain.CONTEXTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import toksmith
from toksmith import explain

__all__ = ["MODELS", "SIZES", "ModelRow", "contexts_of", "line_for"]

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
