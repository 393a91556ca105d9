"""The result of the doctor: findings, each with exact counts and witnesses, and the diagnosis of all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..._render import Block, Cell, Line, Shown, Table, Tone, token_text
from ...errors import UnknownName

Severity = Literal["pass", "warn", "fail", "not applicable"]
ORDER: Mapping[str, int] = {"fail": 0, "warn": 1, "pass": 2, "not applicable": 3}
TONES: Mapping[Severity, Tone] = {"fail": "bad", "warn": "warn", "pass": "good", "not applicable": "dim"}
SHOWN = 12


@dataclass(frozen=True)
class Witness:
    """One token of a finding, or one text that shows the problem.

    Attributes:
        id: The token's id; None if it is not a token.
        token: Its bytes.
        kind: The count of the finding that includes it.
        text: A text that shows the problem, or None.
        figure: A number that ranks it, or None.
    """

    id: int | None
    token: bytes
    kind: str
    text: str | None = None
    figure: float | None = None

    def to_dict(self) -> dict[str, Any]:
        fields = {"id": self.id, "token": self.token.decode("utf-8", "replace"), "hex": self.token.hex()}
        more = {"text": self.text, "figure": self.figure}
        return {**fields, "kind": self.kind, **{name: value for name, value in more.items() if value is not None}}


@dataclass(frozen=True)
class CheckFinding:
    """The finding of one check.

    Attributes:
        check: The check's name.
        severity: "pass", "warn" (notable), "fail" (ids are wrong or lost), or "not applicable".
        says: The finding in a sentence.
        counts: Exact counts by name.
        witnesses: The counted tokens, all of them unless `says` or a count states otherwise.
        advice: The remedy; "" for none.
    """

    check: str
    severity: Severity
    says: str
    counts: Mapping[str, int | float | str | None] = field(default_factory=dict)
    witnesses: Sequence[Witness] = ()
    advice: str = ""

    def to_dict(self) -> dict[str, Any]:
        own = {"check": self.check, "severity": self.severity, "says": self.says, "advice": self.advice}
        return {**own, "counts": {**self.counts}, "witnesses": [each.to_dict() for each in self.witnesses]}


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """All findings about one tokenizer.

    Attributes:
        tokenizer: Its fingerprint, or the name that a program gave it.
        findings: In the order of the checks.
    """

    tokenizer: str
    findings: tuple[CheckFinding, ...]

    @property
    def severity(self) -> Severity:
        """The worst of all findings."""
        return min((each.severity for each in self.findings), key=ORDER.__getitem__)

    @property
    def failed(self) -> bool:
        """Whether a check failed; the command line then exits with 3."""
        return self.severity == "fail"

    def __getitem__(self, check: str) -> CheckFinding:
        """The finding of a check.

        Raises:
            UnknownName: There is no such check.
        """
        for each in self.findings:
            if each.check == check:
                return each
        raise UnknownName("check", check, [each.check for each in self.findings])

    def _parts(self) -> Iterator[str | Block]:
        yield f"Diagnosis: {self.severity}"
        yield Line(f"tokenizer {self._short}")
        rows: list[list[str | Cell]] = [
            [Cell(each.severity, TONES[each.severity]), each.check, each.says] for each in self.findings
        ]
        yield Table(("severity", "check", "finding"), rows, left=(0, 1, 2))
        for each in self.findings:
            yield from _details(each)

    @property
    def _short(self) -> str:
        """The beginning of a fingerprint, or all of a name."""
        return self.tokenizer[:12] if re.fullmatch("[0-9a-f]{64}", self.tokenizer) else self.tokenizer

    def to_dict(self) -> dict[str, Any]:
        """All findings as JSON values."""
        findings = [each.to_dict() for each in self.findings]
        return {"tokenizer": self.tokenizer, "severity": self.severity, "findings": findings}


def _details(finding: CheckFinding) -> Iterator[Block]:
    """The counts, the advice and the first witnesses of a finding."""
    if finding.counts and finding.severity != "not applicable":
        count_rows = [[name, _figure(count)] for name, count in finding.counts.items()]
        yield Table((finding.check, "count"), count_rows, left=(0,))
    if finding.advice:
        yield Line(finding.advice)
    if finding.witnesses:
        rows = [_row(each) for each in finding.witnesses[:SHOWN]]
        more = len(finding.witnesses) - SHOWN
        rest = f" (the first {SHOWN}; to_dict() has {more:,} more)" if more > 0 else ""
        heads = ("id", "token", "kind", "seen in", "figure")
        yield Table(heads, rows, f"{finding.check}: witnesses{rest}", left=(1, 2, 3))


def _row(witness: Witness) -> list[str]:
    id = "" if witness.id is None else str(witness.id)
    text = "" if witness.text is None else token_text(witness.text.encode("utf-8", "replace"))
    return [id, token_text(witness.token), witness.kind, text, _figure(witness.figure)]


def _figure(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
