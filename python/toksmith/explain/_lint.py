"""Characters of a text that cost tokens but are invisible or look like others, and the saving of each repair."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import regex

from .._base.arguments import check_texts
from .._base.wording import number_of
from .._render import Block, Cell, Line, Shown, Table
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Text
from ..errors import UnknownName

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = get_args(Form)
# Cyrillic and Greek letters that look like Latin ones.
LOOK_ALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԜаеѕіјорсухԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοα", "ABESIJKMHOPCTYXWaesijopcyxdhqwABEZHIKMNOPTYXoa"
)
LOOK_ALIKE = "".join(map(chr, LOOK_ALIKES))


class LintRow(NamedTuple):
    """One problem: its name, how to find it, its replacement, and why it matters."""

    name: str
    find: Callable[[str], Iterator[tuple[int, int]]]
    repair: Callable[[str], str]
    why: str


@dataclass(frozen=True)
class Finding:
    """The places that one row of `LINTS` found.

    Attributes:
        name, why: As in the row.
        count: The number of places.
        start, end: The first of them, in characters of the text.
        tokens: Tokens of the text with exactly these places repaired.
    """

    name: str
    why: str
    count: int
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, repr=False)
class Lint(Shown):
    """The findings of one text.

    Attributes:
        text: The text; bytes that are not part of a character are lone
            surrogates U+DC80 to U+DCFF.
        tokens: Tokens of the unchanged text.
        findings: In the order of `LINTS`; empty if there is no problem.
        forms: Tokens of the text in each Unicode normalization form.
    """

    tokenizer: str
    text: str
    tokens: int
    findings: tuple[Finding, ...]
    forms: dict[str, int]

    def repaired(self, *names: str) -> str:
        """The text with these findings repaired; without names, all of them.

        Raises:
            UnknownName: No row of `LINTS` has this name.
        """
        names = check_texts(names, "names")
        rows = {row.name: row for row in LINTS}
        text = self.text
        for name in names or [finding.name for finding in self.findings]:
            if name not in rows:
                raise UnknownName("lint", name, rows)
            text = repair_text(rows[name], text)
        return text

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON values; offsets are in characters."""
        findings = [vars(finding) | {"delta": finding.tokens - self.tokens} for finding in self.findings]
        return {"tokenizer": self.tokenizer, "tokens": self.tokens, "findings": findings, "forms": self.forms}

    def _parts(self) -> Iterator[str | Block]:
        yield f"{number_of(len(self.text), 'character')}, {number_of(self.tokens, 'token')} by {self.tokenizer}"
        rows: list[list[str | Cell]] = []
        for finding in self.findings:
            saved = f"{finding.tokens - self.tokens:+,}"
            excerpt = ascii(self.text[finding.start : finding.end][:12])[1:-1]
            rows.append(
                [Cell(finding.name, "warn"), f"{finding.count:,}", f"{finding.start:,}", excerpt, saved, finding.why]
            )
        if rows:
            yield Table(["found", "places", "first at", "there", "tokens if repaired", "why"], rows, left=(0, 3, 5))
        else:
            yield Line("nothing found", "good")
        forms = [[name, f"{tokens:,}", f"{tokens - self.tokens:+,}"] for name, tokens in self.forms.items()]
        yield Table(["form", "tokens", "more"], forms, "in each Unicode form")


def lint(tok: TokenizerSource, text: Text) -> Lint:
    r"""Characters of a text that cost tokens but are invisible or look like other
    characters, and the change by a repair.

    It repairs nothing by itself (use `Lint.repaired`), because each finding can
    be intended.

    Returns: one finding for each row of `explain.LINTS` that occurs in the
        text.
    Cost: one encoding of the text for each finding and each Unicode form.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.explain.lint(tok, "lo\u200bw low ")
    >>> [(finding.name, finding.start, finding.tokens - found.tokens) for finding in found.findings]
    [('zero-width', 2, -4), ('space at the end', 8, -1)]
    >>> found.repaired("zero-width")
    'low low '
    """
    tok = resolve_tokenizer(tok)
    decoded = text if isinstance(text, str) else text.decode("utf-8", "surrogateescape")

    def count(version: str) -> int:
        return tok.count(version if isinstance(text, str) else version.encode("utf-8", "surrogateescape"))

    findings = []
    for row in LINTS:
        places = [*row.find(decoded)]
        if places:
            tokens = count(repair_text(row, decoded))
            findings.append(Finding(row.name, row.why, len(places), *places[0], tokens))
    forms: dict[str, int] = {form: count(unicodedata.normalize(form, decoded)) for form in FORMS}
    return Lint(describe_tokenizer(tok), decoded, count(decoded), tuple(findings), forms)


def repair_text(row: LintRow, text: str) -> str:
    """The text with all findings of a row repaired."""
    parts, at = [], 0
    for start, end in row.find(text):
        parts += [text[at:start], row.repair(text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def find_matches(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    for match in regex.finditer(pattern, text):
        yield match.span()


def find_decomposed(text: str) -> Iterator[tuple[int, int]]:
    """Graphemes that are not in NFC."""
    if not unicodedata.is_normalized("NFC", text):
        for start, end in find_matches(r"\X", text):
            if not unicodedata.is_normalized("NFC", text[start:end]):
                yield start, end


def find_look_alikes(text: str) -> Iterator[tuple[int, int]]:
    """Words with letters that look Latin: next to Latin letters, or if the text has no other letter of their script."""
    genuine = regex.search(rf"[\p{{Cyrillic}}\p{{Greek}}--[{LOOK_ALIKE}]]", text, regex.V1)
    for match in regex.finditer(r"\p{L}+", text):
        word = match.group()
        latin = word.translate(LOOK_ALIKES)
        if (
            latin != word
            and regex.fullmatch(r"\p{Latin}+", latin)
            and (not genuine or regex.search(r"\p{Latin}", word))
        ):
            yield match.span()


def regex_row(name: str, pattern: str, repair: str | Callable[[str], str], why: str) -> LintRow:
    """A row that finds the matches of a regex."""
    return LintRow(name, partial(find_matches, pattern), (lambda _: repair) if isinstance(repair, str) else repair, why)


LINTS: tuple[LintRow, ...] = (
    regex_row(
        "no character", "[\ud800-\udfff]", "\ufffd", "a lone surrogate, or bytes that are not UTF-8; it becomes U+FFFD"
    ),
    regex_row("replacement character", "\ufffd", "", "U+FFFD: an earlier step decoded the text wrongly"),
    LintRow(
        "decomposed", find_decomposed, partial(unicodedata.normalize, "NFC"), "not in NFC: separate accents or jamo"
    ),
    regex_row("zero-width", "[\u200b\u2060\ufeff]", "", "invisible"),
    regex_row(
        "joiner", r"(?<=[A-Za-z0-9 ])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z0-9 ])", "", "it joins no characters here"
    ),
    regex_row("soft hyphen", "\u00ad", "", "invisible inside a line"),
    regex_row("direction mark", "[\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", "it changes the reading direction"),
    regex_row("no-break space", "[\u00a0\u2007\u202f]", " ", "looks like a space"),
    regex_row("other space", "[\u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]", " ", "looks like a space"),
    regex_row(
        "full-width",
        "[\uff01-\uff5e]",
        partial(unicodedata.normalize, "NFKC"),
        "a Latin character in East Asian width",
    ),
    regex_row(
        "ligature", "[\ufb00-\ufb06]", partial(unicodedata.normalize, "NFKC"), "several letters in one character"
    ),
    LintRow(
        "look-alike",
        find_look_alikes,
        lambda word: word.translate(LOOK_ALIKES),
        "Cyrillic or Greek that looks like Latin",
    ),
    regex_row("control character", r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "", "invisible"),
    regex_row("carriage return", r"\r\n?", "\n", "lines end as on Windows"),
    # The lookbehind matches only at the start of a run: without it, the time grows with the square of the run's length.
    regex_row("space before a line ends", r"(?<![ \t])[ \t]++(?=\r?\n)", "", "invisible"),
    regex_row(
        "space at the end",
        r"(?<![ \t])[ \t]++\Z",
        "",
        "at the end of a prompt it prevents the model's usual next token",
    ),
)
