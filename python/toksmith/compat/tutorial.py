r"""The tutorials' own interface: `Tokenizer` with `train`, `save` and `from_pretrained`, on toksmith's engine.

`from toksmith.compat.tutorial import Tokenizer, get_stats, merge` replaces the classes and functions of the tutorials'
notebooks. Ids start as the bytes 0 to 255 or, with `unit="char"`, as the ASCII characters 0 to 127. The text is one
unbroken stream, and among pairs with equal counts the first in the text merges. `save` writes `merge_dict_….json`, the
merges by their new ids. Differences: training counts the text once, and stops when no pair is left. Left out: split
patterns and special tokens (`toksmith.train` has them).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MethodType
from typing import Any, Literal

from .. import _formats, _render
from .._model.patterns import UNSET
from .._storage.atomic_files import write_file
from .._tokenizer.tokenizer import Tokenizer as Engine
from .._training import train
from ..errors import FormatError, InvalidOption
from .minbpe import get_stats, merge

__all__ = ["Tokenizer", "get_stats", "merge"]


def __dir__() -> list[str]:
    return [*__all__]


FORMAT = "merge_dict"


class OnEither:
    """A method that fills its instance, or a new instance if it is called on the class."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Tokenizer | None, owner: type[Tokenizer]) -> Callable[..., Tokenizer]:
        return MethodType(self.function, owner() if instance is None else instance)


class Tokenizer:
    """Byte-pair encoding as in the tutorials.

    Args:
        unit: "byte" merges bytes, and new ids start at 256; "char" merges
            ASCII characters, and new ids start at 128.
    Attributes:
        unit: As given, or from the file that `from_pretrained` read.

    >>> tok = Tokenizer().train("aaabdaaabac", num_merges=3)
    >>> tok.encode("aaabdaaabac"), tok.decode([258, 100]), tok.merges
    ([258, 100, 258, 97, 99], 'aaabd', {(97, 97): 256, (256, 97): 257, (257, 98): 258})
    """

    def __init__(self, unit: Literal["byte", "char"] = "byte") -> None:
        if unit not in ("byte", "char"):
            raise InvalidOption("unit", unit, "'byte' or 'char'")
        self.unit = unit
        self._engine = train_engine("a", unit, 0)  # the alphabet alone

    def train(
        self,
        text: str,
        vocab_size: int | None = None,
        file: str | os.PathLike[str] | bool | None = None,
        verbose: bool = False,
        *,
        num_merges: int | None = None,
    ) -> Tokenizer:
        """Learn merges from a text, in place of the current ones, and return the
        tokenizer itself.

        Training ends at `vocab_size` tokens or after `num_merges` merges; with
        neither, when no pair repeats. It ends earlier if no pair is left;
        `stopped_because` gives the reason.

        Args:
            vocab_size: The number of tokens: 256 (128 for characters), and one
                for each merge.
            file: A file for the merges, as for `save`; True means `verbose`.
            verbose: Print a line for each merge: the pair, its id, its number
                of occurrences, and the number of ids left.
        Raises:
            InvalidOption: Both ways to stop are given, or one is too small.
            CorpusError: The text is empty or, with `unit="char"`, holds a
                character that is not ASCII.
            FormatError: The file cannot be written.

        >>> tok = Tokenizer()
        >>> _ = tok.train("low lower lowest", num_merges=2, verbose=True)
        merge 1: (108, 111) → 256  ▏lo▏            3 times, 13 ids left
        merge 2: (256, 119) → 257  ▏low▏           3 times, 10 ids left
        """
        if vocab_size is not None and num_merges is not None:
            raise InvalidOption("num_merges", num_merges, "None if vocab_size is given; give one of them")
        if num_merges is not None and num_merges < 0:
            raise InvalidOption("num_merges", num_merges, "at least 0")
        first = FIRST[self.unit]
        if vocab_size is not None:
            if vocab_size < first:
                raise InvalidOption("vocab_size", vocab_size, f"at least {first}, the ids of the alphabet")
            num_merges = vocab_size - first
        self._engine = train_engine(text, self.unit, num_merges)
        record = self._engine.model.training
        if (verbose or file is True) and record is not None:
            views = _render.merge_views(
                self._engine.model.merges.tolist(),
                record.counts.tolist(),
                record.left.tolist(),
                self._engine.token_bytes,
            )
            for line in _render.merge_lines(views):
                print(line)
        if file is not None and not isinstance(file, bool):
            self.save(file)
        return self

    @property
    def merges(self) -> dict[tuple[int, int], int]:
        """The id of each merged pair, in the order in which training found them."""
        return {(left, right): id for left, right, id in self._engine.model.merges.tolist()}

    @property
    def merge_dict(self) -> dict[int, list[int]]:
        """The pair of each new id, as in the file."""
        return {id: [*pair] for pair, id in self.merges.items()}

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of each id."""
        model = self._engine.model
        return dict(zip(model.ids.tolist(), model.tokens, strict=True))

    @property
    def vocab_size(self) -> int:
        """The number of tokens; ids lie in [0, vocab_size)."""
        return self._engine.vocab_size

    @property
    def stopped_because(self) -> str | None:
        """The reason why training ended; None if the merges come from a file."""
        record = self._engine.model.training
        return None if record is None else record.stopped_because

    def encode(self, text: str) -> list[int]:
        """The ids of a text, merged by the lowest rank first.

        Raises:
            NotInVocabulary: The text holds a character that is not ASCII, with
                `unit="char"`.
        """
        return self._engine.encode(text, special="text")

    def decode(self, ids: Sequence[int], errors: str = "replace") -> str:
        """The text of ids; `errors` as in `bytes.decode`, for bytes that are not
        UTF-8.

        Raises:
            UnknownId: An id has no token.
        """
        return self._engine.decode(ids, errors=errors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the merges to a JSON file, completely or not at all:
        `{"256": [105, 110], …}`. A name without a suffix gets `.json`.

        Raises:
            FormatError: The file cannot be written.
        """
        content = _formats.FORMATS[FORMAT].save(self._engine.model)
        write_file(json_path(path), content if isinstance(content, bytes) else b"".join(content))

    @OnEither
    def from_pretrained(self: Any, path: str | os.PathLike[str]) -> Any:
        """Load a file of `save` or of a tutorial. On the class it makes a tokenizer; on an instance it fills it.

        The first id of the file decides between bytes (256) and ASCII characters (128).

        Raises:
            FormatError: The file cannot be read, does not hold merges in this form, or exists with and without ".json".
        """
        named = json_path(path)
        if named != Path(path) and named.exists() and os.path.isfile(path):
            raise FormatError(path, None, f"is next to {named.name!r}; rename one of them, or give that name")
        model = _formats.read_model(path if os.path.isfile(path) else named, format=FORMAT, pattern=UNSET)
        self.unit = model.unit
        self._engine = Engine(model)
        return self

    def __len__(self) -> int:
        return self.vocab_size

    def __repr__(self) -> str:
        return f"<Tokenizer of a tutorial, {self.unit}s, {self.vocab_size:,} tokens>"


def json_path(path: str | os.PathLike[str]) -> Path:
    """The path, with `.json` added to a name without a suffix."""
    return Path(path) if Path(path).suffix else Path(f"{os.fspath(path)}.json")


FIRST = {"byte": 256, "char": 128}


def train_engine(text: str, unit: Literal["byte", "char"], merges: int | None) -> Engine:
    """The engine after `merges` merges of the text; with None, until no pair repeats."""
    stop: dict[str, Any] = {"min_count": 2} if merges is None else {"merges": merges}
    alphabet: dict[str, Any] = {"alphabet": "ascii"} if unit == "char" else {}
    return train([text], unit=unit, pattern=None, ties="first_seen", progress=False, **alphabet, **stop)
