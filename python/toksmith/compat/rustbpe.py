"""rustbpe's interface: `Tokenizer` with `train_from_iterator` and `get_mergeable_ranks`, on toksmith's engine.

`from toksmith.compat import rustbpe` replaces `import rustbpe`. Difference: text that the pattern does not match is a
separate piece here, and rustbpe drops it; before training, without a pattern, that is all text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._training import train
from ..errors import InvalidOption

__all__ = ["Tokenizer"]


def __dir__() -> list[str]:
    return [*__all__]


GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)


class Tokenizer:
    """Byte-pair encoding of the matches of a regex.

    >>> tok = Tokenizer()
    >>> tok.train_from_iterator(["low lower lowest"], vocab_size=259)
    >>> tok.encode("slow lower"), tok.decode([257, 114]), tok.get_mergeable_ranks()[256:]
    ([115, 257, 258, 101, 114], 'lowr', [([108, 111], 256), ([108, 111, 119], 257), ([32, 108, 111, 119], 258)])
    """

    def __init__(self) -> None:
        self._engine = train("a", merges=0, pattern=None, progress=False)
        self._pattern = ""

    @property
    def vocab_size(self) -> int:
        """The number of tokens: the 256 bytes, and one for each merge."""
        return len(self._engine)

    def train_from_iterator(
        self, iterator: Iterable[str], vocab_size: int, buffer_size: int = 8192, pattern: str | None = None
    ) -> None:
        """Learn merges from texts, in place of the current ones.

        Among pairs with equal counts, the pair with the lowest ids merges.
        Training ends earlier if no pair is left.

        Args:
            iterator: The texts; each is read once.
            vocab_size: The number of tokens: 256, and one for each merge.
            buffer_size: Ignored: texts are read one by one.
            pattern: A regex that splits texts; None for GPT-4's.
        Raises:
            ValueError: `vocab_size` is below 256, or `pattern` is not a regex.
        """
        pattern = GPT4_PATTERN if pattern is None else pattern
        if vocab_size < 256:
            raise InvalidOption("vocab_size", vocab_size, "at least 256, the bytes")
        self._engine = train(iter(iterator), vocab_size, pattern=pattern, progress=False)
        self._pattern = pattern

    def get_pattern(self) -> str:
        """The regex that splits texts; "" before training."""
        return self._pattern

    def get_mergeable_ranks(self) -> list[tuple[list[int], int]]:
        """The bytes (as numbers) and the id of each token, in the order of ids."""
        return [(list(self._engine.token_bytes(id)), id) for id in range(len(self._engine))]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; UnicodeEncodeError for lone surrogates."""
        return self._engine.encode(text, special="text", errors="strict")

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, on all processors."""
        return self._engine.encode_batch(texts, special="text", errors="strict")

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids.

        Raises:
            ValueError: An id is unknown.
            UnicodeDecodeError: Their bytes are not UTF-8.
        """
        for id in ids:
            if not 0 <= id < len(self._engine):
                raise ValueError(f"Unknown token id: {id}")
        return self._engine.decode_bytes(ids).decode()
