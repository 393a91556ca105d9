"""Reports the result of a graft, or of a dry run, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._base.wording import number_of
from .._render import Block, Line, Shown, Table, one_line

SHOWN = 24


class GraftedTensor(NamedTuple):
    """One tensor that follows the vocabulary: its file, role and type, and its shape before and after."""

    name: str
    file: str
    role: str
    dtype: str
    before: tuple[int, ...]
    after: tuple[int, ...]


class SpecialRow(NamedTuple):
    """One special token of the new tokenizer, with the origin of its rows in words."""

    token: str
    id: int
    source: str


class GraftProof(NamedTuple):
    """The result of comparing both folders; `differences` is empty if all is as planned."""

    untouched: int
    kept: int
    made: int
    files: int
    differences: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class GraftReport(Shown):
    """The result of `graft`, or of a dry run.

    Attributes:
        source: The checkpoint.
        out: The new folder.
        written: Whether this call wrote the folder.
        tokenizer: The fingerprint of the new tokenizer.
        rows: The number of rows of the matrices, before and after.
        kept: The number of tokens that keep their row, bit for bit.
        new: The number of tokens with a new row.
        dropped: The number of old tokens that the new tokenizer lacks.
        empty: The number of new rows without a token: holes and padding.
        tied: Whether one matrix is for input and output.
        init: The applied rule for new rows.
        tensors: The tensors that follow the vocabulary.
        specials: The origin of the row of each special token.
        files: The names of the files that differ from the checkpoint's.
        left_out: The checkpoint's names that the new folder lacks.
        size: The bytes of all tensors.
        notes: Points that need attention.
        expect: The expected behaviour without further training; figures are
            published, not measured on this model.
        command: The command that verifies the new folder.
        proof: The result of verification; None without verification.
    """

    source: str
    out: str
    written: bool
    tokenizer: str
    rows: tuple[int, int]
    kept: int
    new: int
    dropped: int
    empty: int
    tied: bool
    init: str
    tensors: tuple[GraftedTensor, ...]
    specials: tuple[SpecialRow, ...]
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    size: int
    notes: tuple[str, ...]
    expect: tuple[str, ...]
    command: str
    proof: GraftProof | None

    @property
    def ok(self) -> bool:
        """Whether verification found no difference; True without verification."""
        return self.proof is None or not self.proof.differences

    def _parts(self) -> Iterator[str | Block]:
        yield f"Graft: {one_line(self.source)} -> {one_line(self.out)}"
        state = "written" if self.written else "checked" if self.proof else "nothing is written"
        figures = [
            ["rows", f"{self.rows[0]:,} -> {self.rows[1]:,}"],
            ["kept, bit for bit", f"{self.kept:,}"],
            ["new", f"{self.new:,}"],
            ["dropped", f"{self.dropped:,}"],
            ["holes and padding", f"{self.empty:,}"],
        ]
        yield Line(f"{state}; {'tied' if self.tied else 'untied'}; {self.size:,} bytes of tensors")
        yield Table(("tokens", "count"), figures)
        yield Line(f"new rows: {self.init}")
        rows = [
            [each.name, each.role, each.dtype, shape_text(each.before), shape_text(each.after)] for each in self.tensors
        ]
        yield Table(("tensor", "role", "type", "before", "after"), rows, left=(0, 1, 2))
        if self.specials:
            special_rows = [[one_line(each.token), str(each.id), each.source] for each in self.specials[:SHOWN]]
            hidden = len(self.specials) - SHOWN
            caption = (
                f"special tokens (the first {SHOWN}; to_dict() has {hidden:,} more)" if hidden > 0 else "special tokens"
            )
            yield Table(("token", "id", "row"), special_rows, caption, left=(0, 2))
        for note in self.notes:
            yield Line(f"note: {note}", "warn")
        for each in self.expect:
            yield Line(f"expect: {each}")
        if self.left_out:
            yield Line(f"left out: {', '.join(map(one_line, self.left_out))}")
        yield from self._proof_lines()

    def _proof_lines(self) -> Iterator[Block]:
        proof = self.proof
        if proof is not None:
            summary = (
                f"verified: {number_of(proof.untouched, 'untouched tensor')} equal by sha256, {number_of(proof.kept, 'kept row')} "
                f"equal bit for bit, {number_of(proof.made, 'other row')} computed again, {number_of(proof.files, 'file')} as planned"
            )
            yield Line(
                summary if not proof.differences else f"{number_of(len(proof.differences), 'difference')} found",
                "good" if self.ok else "bad",
            )
            for each in proof.differences[:SHOWN]:
                yield Line(each, "bad")
        yield Line(f"verify: {self.command}")

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return super().to_dict() | {"ok": self.ok}


def shape_text(sizes: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in sizes)
