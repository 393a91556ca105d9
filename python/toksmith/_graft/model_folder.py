"""Reads a checkpoint folder: its safetensors files with their headers, its settings, and its other files.

Opening checks everything before `graft` writes anything: missing, cut or damaged files, weights of another kind, and an
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

from .._base.paths import Room, describe_error, read_file, url_of
from ..errors import FormatError
from .weights import INDEX, WHOLE, Header, Tensor, check_whole, read_header, read_index

CONFIG, GENERATION, MODULES = "config.json", "generation_config.json", "modules.json"
MOST_JSON = 1 << 26
# Weights of other libraries, and training states: they would contradict the new matrices.
OTHER_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.gguf", "*.onnx", "*.npz")
# Files of tokenizers, which the new tokenizer replaces.
OF_TOKENIZERS = (
    *("tokenizer.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt", "encoder.json", "vocab.bpe"),
    *("*.model", "*.tiktoken", "tekken.json", "*.toksmith", "*.spm"),
)
# transformers loads the adapter that this file names, and a folder with it needs the adapter's weights.
ADAPTER = "adapter_config.json"
# Settings of other libraries' weights, which are left out with them.
OTHER_SETTINGS = ("*.index.json", "params.json")
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
    """A checkpoint: the content of its model files and settings, and the names of its other files."""

    place: Path
    shards: tuple[Header, ...]  # in the order of their names
    index: Mapping[str, Any] | None  # None if one file holds all tensors
    config: Mapping[str, Any]
    generation: Mapping[str, Any] | None  # None without the file
    copied: tuple[str, ...]  # other files, copied unchanged
    stale: tuple[str, ...]  # files of the tokenizer, which the new tokenizer replaces
    left_out: tuple[str, ...]  # folders, and weights of other kinds

    def tensors(self) -> Iterator[Tensor]:
        for shard in self.shards:
            yield from shard.tensors.values()

    def name_of(self, path: Path) -> str:
        """The name of a file in the folder, with `/` after each folder."""
        return path.relative_to(self.place).as_posix()

    def has(self, name: str) -> bool:
        return (self.place / name).is_file()


def open_folder(place: str | os.PathLike[str]) -> ModelFolder:
    if url_of(place) is not None:
        raise FormatError(place, None, "is a URL; download the checkpoint, and name its folder")
    folder = Path(place)
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        problem = (
            "it is a file; expected the folder of a checkpoint" if folder.is_file() else describe_error(error, folder)
        )
        raise FormatError(folder, None, f"cannot be read: {problem}") from None
    shards = tuple(read_shards(folder, names))
    if ADAPTER in names:
        problem = (
            "is the file of an adapter (LoRA) beside its model; from_pretrained would load both. Merge the adapter into the "
            "model (merge_and_unload() of peft), or graft a copy of the folder without this file"
        )
        raise FormatError(folder / ADAPTER, None, problem)
    for shard in shards:
        check_whole(shard)
    refuse_repeats(shards)
    shard_names = {shard.path.name for shard in shards}
    plain = [name for name in names if (folder / name).is_file() and name not in shard_names | {*REWRITTEN}]
    stale = [name for name in plain if matches_any(name, OF_TOKENIZERS)]
    other = [name for name in plain if matches_any(name, (*OTHER_WEIGHTS, *OTHER_SETTINGS)) and name not in stale]
    folders = {f"{name}/" for name in names if (folder / name).is_dir()}
    with_shards = {f"{shard.path.relative_to(folder).parts[0]}/" for shard in shards}
    modules = {*files_of_modules(folder)}
    index = read_json_file(folder / INDEX) if (folder / WHOLE).name not in shard_names else None
    config = read_json_file(folder / CONFIG)
    if config is None:
        raise FormatError(folder, None, f"has no {CONFIG}; expected the folder that save_pretrained wrote")
    refuse_missing_code(folder, config)
    return ModelFolder(
        folder,
        shards,
        index,
        config,
        read_json_file(folder / GENERATION),
        (*(name for name in plain if name not in {*stale, *other}), *sorted(modules)),
        tuple(stale),
        (*other, *sorted(folders - with_shards - {f"{name.partition('/')[0]}/" for name in modules})),
    )


def read_shards(folder: Path, names: list[str]) -> Iterator[Header]:
    """The headers of the model's safetensors files."""
    if WHOLE in names:
        yield read_header(folder / WHOLE)
        return
    file_of = read_index(folder)
    if file_of is None:
        raise FormatError(folder, None, explain_missing(names))
    for path in sorted({*file_of.values()}):
        if not is_inside(path, folder):
            raise FormatError(folder / INDEX, "weight_map", f"names {str(path)!r}, which is not in the folder")
        if not path.is_file():
            problem = f"lists {path.name}, which is not in the folder; download it, the checkpoint is not whole"
            raise FormatError(folder / INDEX, "weight_map", problem)
        shard = read_header(path)
        for name in (name for name, place in file_of.items() if place == path):
            if name not in shard.tensors:
                raise FormatError(path, name, "is not in the file, although the index lists it there")
        yield shard


def is_inside(path: Path, folder: Path) -> bool:
    depth = len(folder.parts)
    return path.parts[:depth] == folder.parts and path != folder and ".." not in path.parts[depth:]


def files_of_modules(folder: Path) -> Iterator[str]:
    """The files of the layers that sentence-transformers adds to the model: `modules.json` names their folders."""
    modules = read_json_value(folder / MODULES)
    for each in modules if isinstance(modules, list) else ():
        place = each.get("path") if isinstance(each, dict) else None
        inner = folder / str(place or "")
        if inner == folder:
            continue
        if not is_inside(inner, folder) or not inner.is_dir():
            problem = f"names the folder {str(place)!r}, which is not there; download it, the checkpoint is not whole"
            raise FormatError(folder / MODULES, None, problem)
        yield from (path.relative_to(folder).as_posix() for path in inner.rglob("*") if path.is_file())


def refuse_missing_code(folder: Path, config: Mapping[str, Any]) -> None:
    """Raises FormatError for a module that the settings name and the folder lacks; `--` names one of another repository."""
    named = config.get("auto_map")
    for value in named.values() if isinstance(named, dict) else ():
        for each in value if isinstance(value, list) else [value]:
            module = f"{each.rpartition('.')[0]}.py" if isinstance(each, str) and "--" not in each else ""
            if module.strip("./\\") and not (folder / module).is_file():
                problem = f"names {module}, which is not in the folder; download it, the checkpoint is not whole"
                raise FormatError(folder / CONFIG, "auto_map", problem)


def explain_missing(names: list[str]) -> str:
    """The error for a folder without safetensors files: its content, and the remedy."""
    for pattern, problem in OTHER_KINDS:
        if fnmatch.filter(names, pattern):
            return problem
    return f"holds no {WHOLE} and no {INDEX}; expected the folder that save_pretrained wrote"


def refuse_repeats(shards: tuple[Header, ...]) -> None:
    """Raises FormatError for a tensor in two files."""
    file_of: dict[str, Path] = {}
    for shard in shards:
        for name in shard.tensors:
            if name in file_of:
                raise FormatError(shard.path, name, f"is also in {file_of[name].name}; expected it in one file")
            file_of[name] = shard.path


def matches_any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def read_json_file(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None without the file."""
    value: dict[str, Any] | None = read_json_value(path)
    if isinstance(value, dict) or not path.is_file():
        return value
    raise FormatError(path, None, f"expected a JSON object, not {type(value).__name__}")


def read_json_value(path: Path) -> Any:
    """The JSON value in a file; None without the file. Settings of transformers can contain Infinity."""
    if not path.is_file():
        return None
    data = read_file(path, lambda ends: Room(MOST_JSON, "settings"))
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as problem:
        raise FormatError(path, None, f"is not JSON: {problem}") from None
