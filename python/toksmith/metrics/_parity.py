"""parity: the cost of the same text in each language with one tokenizer.

The premium of a language is its number of tokens relative to the reference language, for texts with the same meaning.
Left out: prices, and whether two texts have the same meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import _render
from .._base.arguments import check_text as text_argument
from .._base.arguments import check_texts as text_arguments
from .._corpus import iter_documents
from .._render import Bars, Block, Cell, Line, Table, one_line
from .._sources.named import TokenizerSource, resolve_tokenizer
from .._tokenizer.tokenizer import Text, Tokenizer
from ..errors import InvalidOption, UnknownName

Parallel = Text | Sequence[Text] | Path


@dataclass(frozen=True)
class Language:
    """One language: its name, and the lines, bytes and tokens of its text;
    `premium` is None if the reference has no tokens.

    Attributes:
        layout: Number of lines that are blank, or that begin or end with white
            space.
    """

    name: str
    lines: int
    bytes: int
    tokens: int
    premium: float | None
    layout: int


@dataclass(frozen=True, repr=False)
class Parity(_render.Shown):
    """Premiums by language, and their inequality.

    Attributes:
        reference: The language whose premium is 1.
        languages: In the order of the argument.
        gini: The Gini coefficient of tokens by language: 0 if all are equal,
            at most 1 - 1/n; None without tokens.
        gini_per_byte: The Gini coefficient of tokens per byte. It ranks
            tokenizers differently, because bytes are as unequal as tokens.
        warnings: Reasons to doubt the figures: unequal numbers of lines,
            layout.
        before: The same texts with another tokenizer, if one was given.
    """

    reference: str
    languages: tuple[Language, ...]
    gini: float | None
    gini_per_byte: float | None
    warnings: tuple[str, ...]
    before: Parity | None = None

    @property
    def worst(self) -> str:
        """The language with the most tokens; the first among equals."""
        return max(self.languages, key=lambda each: each.tokens).name

    def __getitem__(self, name: str) -> float | None:
        """The premium of a language.

        Raises:
            UnknownName: It was not compared.
        """
        for each in self.languages:
            if each.name == name:
                return each.premium
        raise UnknownName("language", name, [each.name for each in self.languages])

    def __repr__(self) -> str:
        first = [f"{one_line(each.name)[:40]} {_figure(each.premium)}" for each in self.languages[:8]]
        more = ["…"] if len(self.languages) > len(first) else []
        return f"<Parity with {one_line(self.reference)[:40]}: {', '.join([*first, *more])}>"

    def _parts(self) -> Iterator[str | Block]:
        yield f"Parity with {self.reference}"
        yield from (Line(f"warning: {each}", "warn") for each in self.warnings)
        heads = ["language", "premium", "tokens", "lines", "bytes", "bytes per token"]
        heads += [] if self.before is None else ["premium before", "tokens before"]
        yield Table(heads, [self._row(place) for place in range(len(self.languages))])
        sentence = "Gini coefficient of tokens {}, of tokens per byte {} (0: all languages pay the same)"
        for when, each in (("", self), ("before: ", self.before)):
            if each is not None:
                yield Line(when + sentence.format(*map(_figure, (each.gini, each.gini_per_byte))))
                yield Line(when + each._worst_line())
        ordered = sorted(self.languages, key=lambda each: each.premium or 0)
        bars = [(each.name, each.premium, f"{each.premium:.2f}") for each in ordered if each.premium is not None]
        yield Bars(bars, f"Tokens relative to {self.reference} for the same text")
        hidden = "whether the texts have the same meaning, or how well a model does in these languages"
        yield Line(f"It does not show {hidden}.", "dim")

    def plot(self) -> _render.Plot:
        """The premiums as bars, the cheapest language first."""
        priced = (each for each in self.languages if each.premium is not None)
        ordered = sorted(priced, key=lambda each: each.premium or 0)
        title, label = "What the same text costs", f"tokens relative to {self.reference}"
        series = {label: [each.premium for each in ordered]}
        return _render.Plot(title, label, "", series, [each.name for each in ordered], "across", 1)

    def _worst_line(self) -> str:
        return f"worst off is {self.worst}, with {_figure(self[self.worst])} times the tokens of {self.reference}"

    def _row(self, place: int) -> list[str | Cell]:
        each = self.languages[place]
        old = [] if self.before is None else [self.before.languages[place]]
        before = [text for row in old for text in (_figure(row.premium), f"{row.tokens:,}")]
        figures = [f"{number:,}" for number in (each.tokens, each.lines, each.bytes)]
        ratio = _figure(each.bytes / each.tokens if each.tokens else None)
        return [each.name, Cell(_figure(each.premium), "strong"), *figures, ratio, *before]

    def to_dict(self) -> dict[str, Any]:
        """The content of the view as JSON values."""
        own = super().to_dict() | {"worst": self.worst}
        del own["before"]
        return own if self.before is None else own | {"before": self.before.to_dict()}

    to_chart = _render.to_chart


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def parity(
    tok: TokenizerSource,
    texts: Mapping[str, Parallel],
    *,
    reference: str | None = None,
    before: Tokenizer | None = None,
    threads: int | None = None,
) -> Parity:
    """The cost of the same text in each language: tokens relative to the reference
    language.

    A text is encoded as a whole, a list of lines line by line. The texts of all
    languages should be translations of each other with equally many lines.
    Layout counts as text, so remove it first; special tokens are ordinary text.

    Args:
        texts: By language: a text, its lines, or the path of a file (its
            rows, or its text without the last newline).
        reference: The language with which the others are compared; None for the
            first.
        before: A second tokenizer, such as one trained without regard to
            languages; the result then has its figures too.
        threads: At least 1; None for all processors.
    Returns:
        Premiums, Gini coefficients, the worst language, and warnings if the
        numbers of lines differ or lines contain layout.
    Raises:
        InvalidOption: There is no language, or `reference` is not one of them.
        CorpusError: A file cannot be read.
    Cost: one encoding. Source: Petrov et al., NeurIPS 2023 (premium);
        Foroutan et al. 2025 (Gini).

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.metrics.parity(tok, {"en": ["low", "lowest"], "ko": ["낮은", "가장 낮은"]})
    >>> found["en"], found["ko"], found.warnings
    (1.0, 3.8, ())
    >>> found.worst, found.gini
    ('ko', 0.2916666666666667)
    """
    tok = resolve_tokenizer(tok)
    if not texts:
        raise InvalidOption("texts", {}, "at least one language with its text")
    lines = {text_argument(name, "texts"): documents_of(text) for name, text in texts.items()}
    reference = next(iter(texts)) if reference is None else reference
    if reference not in texts:
        raise InvalidOption("reference", reference, f"one of the languages {', '.join(texts)}")
    old = None if before is None else compare_languages(before, lines, reference, threads)
    return replace(compare_languages(tok, lines, reference, threads), before=old)


def compare_languages(tok: Tokenizer, lines: Mapping[str, list[Text]], reference: str, threads: int | None) -> Parity:
    counts = {name: tok.count_batch(each, special="text", threads=threads) for name, each in lines.items()}
    tokens = {name: int(each.sum()) for name, each in counts.items()}
    base = tokens[reference]
    languages = tuple(
        Language(
            name,
            sum(text.count("\n") + 1 for text in each),
            sum(len(text.encode()) for text in each),
            tokens[name],
            tokens[name] / base if base else None,
            sum(map(_layout, each)),
        )
        for name, each in ((name, [*map(_text, each)]) for name, each in lines.items())
    )
    per_byte = [each.tokens / each.bytes for each in languages if each.bytes]
    return Parity(reference, languages, gini([*tokens.values()]), gini(per_byte), tuple(_warnings(languages)))


def documents_of(text: Parallel) -> list[Text]:
    """The documents to encode: a text or a file as a whole, without the end of its last line, or each line."""
    parts = [text] if isinstance(text, (str, bytes)) else [*iter_documents(text)] if isinstance(text, Path) else None
    if parts is None:
        return [*text_arguments(text, "texts", "a list of str or bytes", (str, bytes))]
    if len(parts) != 1:  # rows
        return parts
    whole = parts[0]
    return [whole.removesuffix(b"\n") if isinstance(whole, bytes) else whole.removesuffix("\n")]


def _text(document: Text) -> str:
    """A document as text; an invalid byte or a lone surrogate becomes one character of three bytes."""
    if isinstance(document, bytes):
        return document.decode("utf-8", "replace")
    return document.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _layout(text: str) -> int:
    """The number of lines that are blank, or that begin or end with white space."""
    return sum(line != line.strip() or not line for line in text.split("\n"))


def _warnings(languages: Sequence[Language]) -> Iterator[str]:
    counts = {each.lines for each in languages}
    if len(counts) > 1:
        numbers = ", ".join(f"{each.name} {each.lines:,}" for each in languages)
        yield f"the numbers of lines differ, so the texts may not have the same meaning ({numbers})"
    for each in languages:
        if each.layout:
            lines = (
                f"{each.layout:,} of {each.lines:,} lines of {each.name} are blank, or begin or end with white space"
            )
            yield f"{lines}; strip them, otherwise this compares layout and not language"
        if not each.tokens:
            yield f"{each.name} has no text"


def gini(amounts: Sequence[float]) -> float | None:
    """The Gini coefficient: the mean difference of two amounts divided by twice the mean; None without amounts.

    >>> gini([1, 1, 4])
    0.3333333333333333
    """
    values = np.asarray(amounts, np.float64)
    if not values.sum():
        return None
    differences = np.abs(values[:, None] - values[None, :]).sum()
    return float(differences / (2 * len(values) ** 2 * values.mean()))
