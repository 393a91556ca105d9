"""The interface of `tokenizers` (0.23.3), on toksmith's engine.

`from toksmith.compat import tokenizers` replaces `import tokenizers`. The parts of a pipeline are the JSON of
tokenizer.json, so a loaded file is saved unchanged. A missing name raises an error with advice: parts written in Python
(`custom`), `NormalizedString` and `PreTokenizedString`, and dropout.
"""

from __future__ import annotations

from typing import Any

from . import decoders, implementations, models, normalizers, pre_tokenizers, processors, trainers
from ._added import AddedToken
from ._encoding import Encoding
from ._parts import NotHere, Regex
from ._tokenizer import Tokenizer
from .implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from .models import Token

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "Encoding",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "Token",
    "Tokenizer",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]

__version__ = "0.23.3"

NOT_HERE = {
    "NormalizedString": "use normalizer.normalize_str",
    "PreTokenizedString": "use pre_tokenizer.pre_tokenize_str",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise NotHere(name, NOT_HERE.get(name, f"it has {', '.join(__all__)}"))


def __dir__() -> list[str]:
    return [*__all__]
