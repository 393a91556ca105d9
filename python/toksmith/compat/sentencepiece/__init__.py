"""SentencePiece's interface: `SentencePieceProcessor` (0.2.3), on toksmith's engine.

`from toksmith.compat import sentencepiece` replaces `import sentencepiece`. It reads byte-pair and unigram models. A
missing name raises an error with advice: training and normalizers (`toksmith.train` trains, and saves `.model`), and
extensions of the binding itself.
"""

from __future__ import annotations

from typing import Any

from ..tokenizers._parts import NotHere
from ._processor import SentencePieceProcessor, ThreadPool, set_random_generator_seed

__all__ = [
    "SentencePieceProcessor",
    "SetMinLogLevel",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "set_min_log_level",
    "set_random_generator_seed",
]

__version__ = "0.2.3"

INSTEAD = {
    "SentencePieceTrainer": "call toksmith.train(kind='unigram', vocab_size=...), or for BPE toksmith.train(unit='char', "
    "byte_fallback=True), and save the result with format='sentencepiece'",
    "SentencePieceNormalizer": "call SentencePieceProcessor.normalize",
    "ConvertToFlatbuffer": "the file itself is what SentencePieceProcessor reads",
    "SetNBestTimeout": "the time of nbest_encode grows with the text times nbest_size, and has no other limit",
}

SetRandomGeneratorSeed = set_random_generator_seed


def set_min_log_level(level: int) -> None:
    """Do nothing: this drop-in logs nothing."""


SetMinLogLevel = set_min_log_level


class Lacking:
    """A placeholder for a missing class: each use raises an error with advice."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotHere(self._name, INSTEAD[self._name], "sentencepiece")

    def __getattr__(self, name: str) -> Any:
        raise NotHere(f"{self._name}.{name}", INSTEAD[self._name], "sentencepiece")


def __getattr__(name: str) -> Any:
    if name in ("SentencePieceTrainer", "SentencePieceNormalizer"):
        return Lacking(name)
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    folded = name.replace("_", "").lower()
    instead = {each.lower(): text for each, text in INSTEAD.items()}.get(folded, f"it has {', '.join(__all__)}")
    raise NotHere(name, instead, "sentencepiece")


def __dir__() -> list[str]:
    return [*__all__]
