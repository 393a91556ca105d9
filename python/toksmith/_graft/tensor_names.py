"""The names of tensors with a row for each id, by family of models.

A tensor with such a name is an input matrix (embeddings), an output matrix (the head that computes logits) or an output
bias. A tied checkpoint can lack the output matrix. The table has no names under a prefix that only wraps the model, such as
`base_model.model.`: a checkpoint with them is an adapter or a training state.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Role = Literal["input", "output", "bias"]


class Family(NamedTuple):
    """One row: the models, and the names of their tensors."""

    models: str
    input: tuple[str, ...]
    output: tuple[str, ...]
    bias: tuple[str, ...] = ()


FAMILIES = (
    Family(
        "Llama, Mistral, Qwen2, Qwen3, Gemma, Phi, OLMo2, GLM4, Cohere, StarCoder2, DeepSeek",
        ("model.embed_tokens.weight", "embed_tokens.weight"),
        ("lm_head.weight",),
        ("lm_head.bias",),
    ),
    Family("GPT-2, GPT-J, GPT-BigCode, Qwen1, EXAONE", ("transformer.wte.weight", "wte.weight"), ("lm_head.weight",)),
    Family(
        "GPT-NeoX, Pythia",
        ("gpt_neox.embed_in.weight", "embed_in.weight"),
        ("embed_out.weight", "gpt_neox.embed_out.weight"),
    ),
    Family("Falcon, BLOOM", ("transformer.word_embeddings.weight", "word_embeddings.weight"), ("lm_head.weight",)),
    Family("ChatGLM", ("transformer.embedding.word_embeddings.weight",), ("transformer.output_layer.weight",)),
    Family("InternLM2", ("model.tok_embeddings.weight",), ("output.weight",)),
    Family("Mamba", ("backbone.embeddings.weight", "backbone.embedding.weight"), ("lm_head.weight",)),
    Family(
        "BERT",
        ("bert.embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"),
        ("cls.predictions.decoder.weight",),
        ("cls.predictions.bias", "cls.predictions.decoder.bias"),
    ),
    Family(
        "RoBERTa, XLM-RoBERTa",
        ("roberta.embeddings.word_embeddings.weight",),
        ("lm_head.decoder.weight",),
        ("lm_head.decoder.bias",),
    ),
    Family(
        "DistilBERT",
        ("distilbert.embeddings.word_embeddings.weight",),
        ("vocab_projector.weight",),
        ("vocab_projector.bias",),
    ),
    Family(
        "T5, mT5", ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight"), ("lm_head.weight",)
    ),
    Family(
        "BART, mBART, OPT, Whisper",
        ("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"),
        ("lm_head.weight", "proj_out.weight"),
        ("final_logits_bias",),
    ),
    Family(
        "Qwen3-VL, Gemma 3 and other models of text and pictures",
        ("model.language_model.embed_tokens.weight", "language_model.model.embed_tokens.weight"),
        ("lm_head.weight", "language_model.lm_head.weight"),
    ),
)
INPUT = tuple(dict.fromkeys(name for family in FAMILIES for name in family.input))
OUTPUT = tuple(dict.fromkeys(name for family in FAMILIES for name in family.output))
BIAS = tuple(dict.fromkeys(name for family in FAMILIES for name in family.bias))
# The embeddings and the head of a layer that predicts further tokens, as in DeepSeek-V3 and GLM-4.5: copies of the model's.
FURTHER = re.compile(r"model\.layers\.\d+\.(?:(embed_tokens)|shared_head\.head)\.weight")


def predicts_further(name: str) -> bool:
    """Whether a tensor belongs to multi-token prediction, so that it is not the model's input or head."""
    return FURTHER.fullmatch(name) is not None


def role_of(name: str) -> Role | None:
    """The role of a tensor with this name; None if no family has the name.

    >>> role_of("gpt_neox.embed_in.weight"), role_of("final_logits_bias"), role_of("model.norm.weight")
    ('input', 'bias', None)
    """
    if further := FURTHER.fullmatch(name):
        return "input" if further[1] else "output"
    return "input" if name in INPUT else "output" if name in OUTPUT else "bias" if name in BIAS else None
