"""The engines by name: one module for each, with `load(encoding) -> Engine`.

A module is imported only in the process that measures it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from ._engine import Encoding, Engine, Ids, Unsupported, as_ids

__all__ = [
    "ALONE",
    "APART",
    "BEFORE",
    "ENGINES",
    "OURS",
    "PLAIN",
    "RANKS",
    "VARIANTS",
    "Encoding",
    "Engine",
    "Ids",
    "Unsupported",
    "as_ids",
    "load",
    "module",
    "versions",
]

OURS = "toksmith"
# Variants of toksmith, measured in the same rounds. A variant is not a peer.
BEFORE = "before"  # an earlier build, installed in a separate environment
ALONE = "toksmith on one thread"
APART = "toksmith in separate processes"  # one on each processor, each with a part of the text: the machine's limit
RANKS = "toksmith from .tiktoken"
PLAIN = "plain Jinja and toksmith"
VARIANTS = (BEFORE, ALONE, APART, RANKS, PLAIN)

DISTRIBUTIONS = {
    "toksmith": "toksmith",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "snaptokens": "snaptokens",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "tokie": "tokie",
    "wordchipper": "wordchipper",
    "rs_bpe": "rs_bpe",
    "sentencepiece": "sentencepiece",
}
ENGINES = tuple(DISTRIBUTIONS)
NEED_TOKENIZER_JSON = frozenset({"gigatoken", "fastokens", "snaptokens", "tokenizers", "tokie"})


def module(name: str) -> ModuleType:
    """The adapter of an engine. This imports the engine."""
    return importlib.import_module(f"._{OURS if name in VARIANTS else name}", __package__)


def load(name: str, encoding: Encoding) -> Engine:
    """An engine with an encoding loaded into it."""
    engine: Engine = module(name).load(encoding)
    return engine


def versions(distributions: Mapping[str, str] = DISTRIBUTIONS) -> dict[str, str]:
    """The installed version of every engine that is installed."""
    installed = {}
    for name, distribution in distributions.items():
        try:
            installed[name] = version(distribution)
        except PackageNotFoundError:
            continue
    return installed
