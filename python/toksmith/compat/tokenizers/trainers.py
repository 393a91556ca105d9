"""`tokenizers.trainers`: the options of a training; `_training.py` trains."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ._added import AddedToken
from ._parts import NotHere

__all__ = ["BpeTrainer", "Trainer", "UnigramTrainer", "WordLevelTrainer", "WordPieceTrainer"]

COMMON: Mapping[str, Any] = {
    "min_frequency": 0,
    "vocab_size": 30000,
    "show_progress": True,
    "progress_format": "Indicatif",
}
LETTERS: Mapping[str, Any] = {
    **COMMON,
    "special_tokens": (),
    "limit_alphabet": None,
    "initial_alphabet": (),
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
}


class Trainer:
    """Any trainer."""

    MODEL: ClassVar[str] = ""
    OPTIONS: ClassVar[Mapping[str, Any]] = {}
    options: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        if not self.OPTIONS:
            raise TypeError("No constructor defined for Trainer; make one of its kinds")
        object.__setattr__(self, "options", {})
        unknown = sorted(options.keys() - self.OPTIONS.keys())
        if unknown:
            names = ", ".join(self.OPTIONS)
            raise TypeError(f"{type(self).__name__}: {unknown[0]} is not one of its arguments, which are {names}")
        for name, default in self.OPTIONS.items():
            setattr(self, name, options.get(name, default))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.OPTIONS:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}; it has {', '.join(self.OPTIONS)}")
        if name == "special_tokens":
            value = make_special(value)
        elif name == "initial_alphabet":
            value = [each[0] for each in value if each]
        self.options[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "options" not in self.__dict__:
            raise AttributeError(name)
        if name not in self.options:
            raise NotHere(f"{type(self).__name__}.{name}", f"its options are {', '.join(self.OPTIONS)}")
        return self.options[name]

    @classmethod
    def of(cls, trainer: Any) -> Trainer:
        """A trainer of this drop-in unchanged, or a copy of the library's, whose pickle is JSON."""
        if isinstance(trainer, Trainer):
            return trainer
        try:
            state = json.loads(trainer.__getstate__())
        except (AttributeError, TypeError, ValueError):
            raise TypeError(f"trainer: expected a trainer, not {type(trainer).__name__}") from None
        if "type" in state:
            state = {state["type"]: state}
        ((name, options),) = state.items()
        options = options.get("bpe_trainer", options)
        result: Trainer = object.__new__({each.__name__: each for each in cls.__subclasses__()}[name])
        result.__setstate__(json.dumps({name: options}).encode())
        return result

    def __getstate__(self) -> bytes:
        options = {**self.options, "words": {}}
        if "special_tokens" in options:
            options["special_tokens"] = [each.to_json() for each in self.options["special_tokens"]]
        return json.dumps({type(self).__name__: options}, ensure_ascii=False, separators=(",", ":")).encode()

    def __setstate__(self, state: bytes) -> None:
        ((_, options),) = json.loads(state).items()
        options["special_tokens"] = [AddedToken(**each) for each in options.get("special_tokens", ())]
        Trainer.__init__(self, **{name: options[name] for name in options if name in self.OPTIONS})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"


def make_special(tokens: Iterable[Any]) -> list[AddedToken]:
    """Special tokens from texts and added tokens."""
    added = [copy.copy(each) if isinstance(each, AddedToken) else AddedToken.taken(each, True) for each in tokens]
    for token in added:
        token.special = True
    return added


class BpeTrainer(Trainer):
    """Options of byte-pair training."""

    MODEL = "BPE"
    OPTIONS: ClassVar[Mapping[str, Any]] = {**LETTERS, "max_token_length": None}


class WordPieceTrainer(Trainer):
    """Of WordPiece."""

    MODEL = "WordPiece"
    OPTIONS: ClassVar[Mapping[str, Any]] = {**LETTERS, "continuing_subword_prefix": "##"}
    max_token_length = None


class WordLevelTrainer(Trainer):
    """Options of word-level training."""

    MODEL = "WordLevel"
    OPTIONS: ClassVar[Mapping[str, Any]] = {**COMMON, "special_tokens": ()}


class UnigramTrainer(Trainer):
    """Options of unigram training."""

    MODEL = "Unigram"
    OPTIONS: ClassVar[Mapping[str, Any]] = {
        "show_progress": True,
        "vocab_size": 8000,
        "n_sub_iterations": 2,
        "shrinking_factor": 0.75,
        "special_tokens": (),
        "initial_alphabet": (),
        "unk_token": None,
        "max_piece_length": 16,
        "seed_size": 1_000_000,
    }
