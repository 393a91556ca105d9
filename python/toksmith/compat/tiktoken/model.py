"""`tiktoken.model`: the encoding of each OpenAI model."""

from __future__ import annotations

from ..._sources.encodings import MODELS as MODEL_TO_ENCODING
from ..._sources.encodings import PREFIXES as MODEL_PREFIX_TO_ENCODING
from ..._sources.encodings import encoding_of
from .core import Encoding
from .registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding that a model uses.

    Raises:
        KeyError: The model is unknown.

    >>> from toksmith.compat import tiktoken
    >>> tiktoken.encoding_name_for_model("gpt-4o-2024-08-06")
    'o200k_base'
    """
    if encoding := encoding_of(model_name):
        return encoding
    raise KeyError(
        f"Could not automatically map {model_name} to a tokeniser; name the encoding with `get_encoding` instead"
    )


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding that a model uses; see `encoding_name_for_model`."""
    return get_encoding(encoding_name_for_model(model_name))
