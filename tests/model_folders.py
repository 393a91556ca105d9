"""Checkpoints for the tests of `graft`: small ones with random numbers, in the format's definition of safetensors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tensor_files import raw, safetensors

import toksmith
from toksmith._graft.weights import TYPES, read_header, to_float64

CORPUS = ["low lower lowest slow slower slowest new newer newest wide wider widest"] * 3
SPECIAL = ["<s>", "</s>", "<pad>"]
TOK = toksmith.train(CORPUS, merges=20, special_tokens=SPECIAL, progress=False)
SIZE, WIDTH = TOK.vocab_size, 12
EXTENDED, EXTENDING = toksmith.extend(TOK, ["biggest tallest strongest running jumping"] * 5, 6)
PRUNED, PRUNING = toksmith.prune(TOK, 7)
CORPUS_OTHER = ["slow slower slowest low lower, wide and wider; brand new"] * 2
ROWS = ("model.embed_tokens.weight", "lm_head.weight")


class Layout(NamedTuple):
    """The tensors of a family: name and shape, V for the rows."""

    tensors: dict[str, tuple[str | int, ...]]
    config: dict[str, Any]


V = "V"
IDS: dict[str, Any] = {
    name: TOK.token_id(token)
    for name, token in zip(("bos_token_id", "eos_token_id", "pad_token_id"), SPECIAL, strict=True)
}
INNER: dict[str, tuple[str | int, ...]] = {"model.layers.0.mlp.weight": (7, WIDTH), "model.norm.weight": (WIDTH,)}
LAYOUTS = {
    "llama": Layout(
        {"model.embed_tokens.weight": (V, WIDTH), **INNER, "lm_head.weight": (V, WIDTH)}, {"tie_word_embeddings": False}
    ),
    "tied": Layout({"model.embed_tokens.weight": (V, WIDTH), **INNER}, {"tie_word_embeddings": True}),
    "bert": Layout(
        {
            "bert.embeddings.word_embeddings.weight": (V, WIDTH),
            **INNER,
            "cls.predictions.bias": (V,),
            "cls.predictions.decoder.bias": (V,),
        },
        {"tie_word_embeddings": True},
    ),
    "bart": Layout(
        {
            "final_logits_bias": (1, V),
            "model.shared.weight": (V, WIDTH),
            "model.encoder.embed_tokens.weight": (V, WIDTH),
            **INNER,
            "lm_head.weight": (V, WIDTH),
        },
        {"decoder_start_token_id": IDS["eos_token_id"]},
    ),
    "deepseek": Layout(
        {
            "lm_head.weight": (V, WIDTH),
            "model.layers.1.embed_tokens.weight": (V, WIDTH),
            "model.layers.1.eh_proj.weight": (WIDTH, 2 * WIDTH),
            "model.layers.1.shared_head.head.weight": (V, WIDTH),
            "model.layers.1.shared_head.norm.weight": (WIDTH,),
            "model.embed_tokens.weight": (V, WIDTH),
            **INNER,
        },
        {"tie_word_embeddings": False},
    ),
    "pictures": Layout(
        {"model.language_model.embed_tokens.weight": (V, WIDTH), **INNER, "lm_head.weight": (V, WIDTH)},
        {"text_config": {"eos_token_id": IDS["eos_token_id"]}, "image_token_index": IDS["pad_token_id"]},
    ),
}


def drawn(layout: Layout, rows: int, seed: int = 3) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """The tensors with random numbers."""
    draw = np.random.default_rng(seed)
    shapes = {name: [rows if size == V else size for size in shape] for name, shape in layout.tensors.items()}
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}  # type: ignore[arg-type]


def checkpoint(
    folder: Path,
    name: str = "llama",
    *,
    rows: int = SIZE,
    dtype: str = "F32",
    shards: int = 1,
    tensors: Mapping[str, np.ndarray[Any, Any]] | None = None,
    tok: toksmith.Tokenizer = TOK,
    **config: Any,
) -> Path:
    """A checkpoint folder."""
    folder.mkdir(exist_ok=True)
    layout = LAYOUTS[name]
    stored = {each: raw(numbers, dtype) for each, numbers in (tensors or drawn(layout, rows)).items()}
    if shards == 1:
        safetensors(folder / "model.safetensors", stored)
    else:
        places = {
            each: f"model-{place % shards + 1:05}-of-{shards:05}.safetensors" for place, each in enumerate(stored)
        }
        for file in {*places.values()}:
            safetensors(folder / file, {each: stored[each] for each in stored if places[each] == file})
        metadata = {"total_size": sum(len(data) for _, _, data in stored.values()), "total_parameters": 1000}
        write_json(folder / "model.safetensors.index.json", {"metadata": metadata, "weight_map": places})
    sized = {**layout.config.get("text_config", {}), "vocab_size": rows}
    inner = {"text_config": sized} if "text_config" in layout.config else {"vocab_size": rows}
    write_json(folder / "config.json", {"model_type": name, **IDS, **layout.config, **inner, **config})
    write_json(folder / "generation_config.json", {"eos_token_id": [IDS["eos_token_id"]], "suppress_tokens": [5, 260]})
    tok.save(folder / "tokenizer.json")
    write_json(
        folder / "tokenizer_config.json",
        {"eos_token": "</s>", "model_max_length": 64, "tokenizer_class": "PreTrainedTokenizerFast"},
    )
    write_json(
        folder / "special_tokens_map.json", {"eos_token": "</s>", "pad_token": {"content": "<pad>", "lstrip": False}}
    )
    (folder / "merges.txt").write_text("stale", encoding="utf-8")
    (folder / "README.md").write_text("a model", encoding="utf-8")
    return folder


def write_json(path: Path, value: object) -> None:
    """Write JSON as transformers does."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def numbers(folder: Path) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """All tensors of a folder in float64, read by the format's definition."""
    return {name: to_float64(bits) for name, bits in stored(folder).items()}


def stored(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    """All tensors of a folder as stored; BF16 as its bits."""
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        for name, tensor in read_header(path).tensors.items():
            found[name] = np.frombuffer(data[tensor.begin : tensor.end], TYPES[tensor.dtype]).reshape(tensor.shape)
    return found


def content(folder: Path) -> dict[str, bytes]:
    """The content of every file of a folder, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def weights(count: int, lean: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """e^(2i) for input matrices (lean 1), e^(-2i) for output matrices (lean -1), as a sum of 1."""
    raw = [math.exp(2 * lean * place) for place in range(count)]
    return np.array(raw) / sum(raw)
