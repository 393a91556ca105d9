"""A checkpoint folder as it lies there: its safetensors files with their headers, its settings, and its other files.

Everything is checked before anything is written: a file that is missing, cut or damaged, weights of another kind, and an
index that contradicts the files.
"""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._base.errors import FormatError
from .._base.paths import Room, read_file, reason, url_of
from .weights import INDEX, WHOLE, Header, Tensor, check_whole, header, index_of

__all__ = ["CONFIG", "GENERATION", "ModelFolder", "json_file", "opened"]

CONFIG, GENERATION = "config.json", "generation_config.json"
MOST_JSON = 1 << 26
# Weights of other libraries, and states of a training: they would contradict the new matrices.
OTHER_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.gguf", "*.onnx", "*.npz")
# Files of tokenizers, which the new tokenizer replaces.
OF_TOKENIZERS = (
    *("tokenizer.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "encoder.json", "vocab.bpe"),
    *("*.model", "*.tiktoken", "tekken.json", "*.toksmith", "*.spm"),
)
REWRITTEN = (CONFIG, GENERATION, "tokenizer_config.json", "special_tokens_map.json", INDEX)
ADVICE = "convert them with from_pretrained(FOLDER) and save_pretrained(NEW) of transformers, then graft NEW"
OTHER_KINDS = (
    ("adapter_model*", "holds an adapter (LoRA); merge it into its model first (merge_and_unload() of peft)"),
    ("*.gguf", "holds weights in GGUF; graft the checkpoint that they were made from, and convert that"),
    ("*.bin", f"holds weights in .bin files, which are pickles; {ADVICE}"),
    ("*.pt*", f"holds weights in files of torch, which are pickles; {ADVICE}"),
    ("*.h5", f"holds weights of TensorFlow; {ADVICE}"),
)


@dataclass(frozen=True)
class ModelFolder:
    """A checkpoint: what its files say, and the names of those that are not the model."""

    place: Path
    shards: tuple[Header, ...]  # in the order of their names
    index: Mapping[str, Any] | None  # None where one file holds all tensors
    config: Mapping[str, Any]
    generation: Mapping[str, Any] | None  # None without the file
    copied: tuple[str, ...]  # what goes along as it is
    stale: tuple[str, ...]  # files of the tokenizer, which the new one replaces
    left_out: tuple[str, ...]  # folders, and weights of other kinds

    def tensors(self) -> Iterator[Tensor]:
        for shard in self.shards:
            yield from shard.tensors.values()

    def has(self, name: str) -> bool:
        return (self.place / name).is_file()


def opened(place: str | os.PathLike[str]) -> ModelFolder:
    if url_of(place) is not None:
        raise FormatError(place, None, "is a URL; download the checkpoint, and name its folder")
    folder = Path(place)
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        problem = "it is a file; expected the folder of a checkpoint" if folder.is_file() else reason(error, folder)
        raise FormatError(folder, None, f"cannot be read: {problem}") from None
    shards = tuple(shards_of(folder, names))
    for shard in shards:
        check_whole(shard)
    once(shards)
    used = {shard.path.name for shard in shards}
    plain = [name for name in names if (folder / name).is_file() and name not in used | {*REWRITTEN}]
    stale = [name for name in plain if fits(name, OF_TOKENIZERS)]
    other = [name for name in plain if fits(name, (*OTHER_WEIGHTS, "*.index.json")) and name not in stale]
    folders = [f"{name}/" for name in names if (folder / name).is_dir()]
    index = json_file(folder / INDEX) if (folder / WHOLE).name not in used else None
    config = json_file(folder / CONFIG)
    if config is None:
        raise FormatError(folder, None, f"has no {CONFIG}; expected the folder that save_pretrained wrote")
    return ModelFolder(
        folder,
        shards,
        index,
        config,
        json_file(folder / GENERATION),
        tuple(name for name in plain if name not in {*stale, *other}),
        tuple(stale),
        (*other, *folders),
    )


def shards_of(folder: Path, names: list[str]) -> Iterator[Header]:
    """The headers of the files that are the model."""
    if WHOLE in names:
        yield header(folder / WHOLE)
        return
    listed = index_of(folder)
    if listed is None:
        raise FormatError(folder, None, why_not(names))
    for path in sorted({*listed.values()}):
        if path.parent != folder or path.name in ("", ".", ".."):
            raise FormatError(folder / INDEX, "weight_map", f"names {str(path)!r}, which is not in the folder")
        if not path.is_file():
            problem = f"lists {path.name}, which is not in the folder; download it, the checkpoint is not whole"
            raise FormatError(folder / INDEX, "weight_map", problem)
        found = header(path)
        for name in (name for name, place in listed.items() if place == path):
            if name not in found.tensors:
                raise FormatError(path, name, "is not in the file, although the index lists it there")
        yield found


def why_not(names: list[str]) -> str:
    """What a folder without a model in safetensors files holds, and what to do."""
    for pattern, said in OTHER_KINDS:
        if fnmatch.filter(names, pattern):
            return said
    return f"holds no {WHOLE} and no {INDEX}; expected the folder that save_pretrained wrote"


def once(shards: tuple[Header, ...]) -> None:
    """Refuses a tensor that two files hold."""
    seen: dict[str, Path] = {}
    for shard in shards:
        for name in shard.tensors:
            if name in seen:
                raise FormatError(shard.path, name, f"is also in {seen[name].name}; which one counts?")
            seen[name] = shard.path


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def json_file(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None without the file. Settings of transformers may contain Infinity."""
    if not path.is_file():
        return None
    data = read_file(path, lambda ends: Room(MOST_JSON, "settings"))
    try:
        found = json.loads(data.decode())
    except (ValueError, RecursionError) as problem:
        raise FormatError(path, None, f"is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise FormatError(path, None, f"expected a JSON object, not {type(found).__name__}")
    return found
