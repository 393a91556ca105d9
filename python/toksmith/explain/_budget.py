"""Tokens of a text relative to the context lengths of models, and how much of it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .._base.arguments import check_int
from .._base.arguments import check_text as argument_text
from .._base.wording import number_of
from .._render import Bars, Block, Cell, Shown, Table
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.tokenizer import Special, Text
from ..errors import InvalidOption
from ..reference import utf8
from ._inputs import token_ends

# The context lengths of the models that tutorials name, in tokens of each model's own tokenizer.
CONTEXTS: Mapping[str, int] = {"GPT-2": 1024, "GPT-3": 2048, "Llama 1": 2048, "Llama 2": 4096, "GPT-4 32k": 32768}


@dataclass(frozen=True)
class BudgetRow:
    """One tokenizer and one context length.

    Attributes:
        tokenizer, model: Their names.
        context: The context length in tokens.
        tokens: Tokens of the whole text.
        windows: Number of contexts that the text fills, rounded up.
        fitting_bytes, fitting_chars: Size of the part that the first `context`
            tokens cover, whole characters only.
    """

    tokenizer: str
    model: str
    context: int
    tokens: int
    windows: int
    fitting_bytes: int
    fitting_chars: int


@dataclass(frozen=True, repr=False)
class Budget(Shown):
    """How much of a text fits into contexts.

    Attributes:
        bytes, chars: Size of the text; a byte that is not part of a character
            counts as a character.
        rows: Each tokenizer with each context length.
    """

    bytes: int
    chars: int
    rows: tuple[BudgetRow, ...]

    def _parts(self) -> Iterator[str | Block]:
        yield f"{number_of(self.chars, 'character')}, {number_of(self.bytes, 'byte')}"
        counts = {row.tokenizer: row.tokens for row in self.rows}
        yield Bars([(name, tokens, number_of(tokens, "token")) for name, tokens in counts.items()])
        cells: list[list[str | Cell]] = []
        for row in self.rows:
            part = f"{row.fitting_chars / self.chars:.0%}" if self.chars else ""
            fits = Cell("all fits", "good") if row.windows <= 1 else Cell(f"{row.windows} windows", "warn")
            model = [row.model, f"{row.context:,}", f"{row.tokens / row.context:.0%}"]
            cells.append([row.tokenizer, *model, f"{row.fitting_chars:,}", part, fits])
        heads = ["tokenizer", "context", "tokens", "used", "characters that fit", "of the text", ""]
        yield Table(heads, cells, left=(0, 1, 6))


def budget(
    toks: Tokenizers, text: Text, *, context: int | Mapping[str, int] = 1024, special: Special = "text"
) -> Budget:
    """How many tokens a text takes with each tokenizer, relative to context
    lengths, and how much of it fits.

    The first `context` tokens cover the part that fits; a character that the
    last of them cuts does not count.

    Args:
        toks: One tokenizer, a dict of them by name, or a list of them.
        context: A context length in tokens, at least 1, or several by name
            (`explain.CONTEXTS`).
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises:
        InvalidOption: A length is below 1, or no tokenizer was given.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> row = toksmith.explain.budget(tok, "low lower lowest", context=3).rows[0]
    >>> row.tokens, row.windows, row.fitting_chars
    (8, 3, 8)
    """
    tokenizers = name_tokenizers(toks)
    lengths = context if isinstance(context, Mapping) else {"": context}
    contexts = {argument_text(name, "context"): check_int(length, "context") for name, length in lengths.items()}
    for length in contexts.values():
        if not 1 <= length < 1 << 63:
            raise InvalidOption("context", length, "at least 1 token, and below 2**63")
    if not isinstance(context, Mapping):
        contexts = {f"{contexts['']:,}": contexts[""]}
    data = utf8(text)
    rows = []
    for name, tok in tokenizers.items():
        ids, ends = token_ends(tok, text, special)
        for model, length in contexts.items():
            end = whole_characters(data, int(ends[length - 1]) if len(ids) > length else len(data))
            windows = -(-len(ids) // length)
            rows.append(BudgetRow(name, model, length, len(ids), windows, end, character_count(data[:end])))
    return Budget(len(data), character_count(data), tuple(rows))


def whole_characters(data: bytes, end: int) -> int:
    """The last position up to `end` that is not inside a character."""
    start = max(0, end - 3)
    for at in range(end, start - 1, -1):
        if at == len(data) or not 0x80 <= data[at] < 0xC0:
            return at
    return end  # four continuation bytes: there is no character to cut


def character_count(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogateescape"))
