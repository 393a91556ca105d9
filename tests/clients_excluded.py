"""Which tests of other libraries' suites are not run on our drop-ins, each with the reason. The only table of them."""

from __future__ import annotations

from typing import Any

__all__ = ["EXCLUDED", "LACKING"]

EXCLUDED: dict[str, dict[str, str]] = {
    "tokenizers": {},
    "sentencepiece": {},
    "tiktoken": {},
    "minbpe": {},
    "transformers": {},
}


class Lacking:
    """Stands for a class that the drop-in does not have, so that a module of tests can be imported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("the drop-in does not have this class")


LACKING: dict[str, dict[str, Any]] = {"tokenizers": {"NormalizedString": Lacking, "PreTokenizedString": Lacking}}
