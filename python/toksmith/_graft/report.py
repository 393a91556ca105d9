"""What a graft did or would do, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._base.errors import number_of
from .._render import Block, Line, Shown, Table, one_line

__all__ = ["GraftProof", "GraftReport", "GraftedTensor", "SpecialRow"]

SHOWN = 24


class GraftedTensor(NamedTuple):
    """One tensor that follows the vocabulary: where it is, what it is, and its shape before and after."""

    name: str
    file: str
    role: str
    dtype: str
    before: tuple[int, ...]
    after: tuple[int, ...]


class SpecialRow(NamedTuple):
    """One special token of the new tokenizer, and where its rows come from."""

    token: str
    id: int
    source: str


class GraftProof(NamedTuple):
    """What a comparison of both folders found; `differences` is empty where all is as planned."""

    untouched: int
    kept: int
    made: int
    files: int
    differences: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class GraftReport(Shown):
    """What `graft` wrote, or would write.

    Attributes:
        source: The checkpoint.
        out: The new folder.
        written: Whether it was written by this call.
        tokenizer: The fingerprint of the new tokenizer.
        rows: How many rows the matrices had, and how many they have.
        kept: Tokens that keep their row, bit for bit.
        new: Tokens with a new row.
        dropped: Old tokens that are gone.
        empty: New rows without a token: holes and padding.
        tied: Whether one matrix is for input and output.
        init: The rule for new rows, as it was applied.
        tensors: What follows the vocabulary.
        specials: Where the row of each special token comes from.
        files: The names of the files that differ from the checkpoint's.
        left_out: What the checkpoint's folder holds and the new one does not.
        size: The bytes of all tensors.
        notes: What needs attention.
        expect: What a model without further training does; figures are
            published ones, not measured on this model.
        command: The command that verifies the new folder.
        proof: What verification found; None if nobody asked.
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
        """Whether verification found no difference, or was not asked for."""
        return self.proof is None or not self.proof.differences

    def _parts(self) -> Iterator[str | Block]:
        yield f"Graft: {one_line(self.source)} -> {one_line(self.out)}"
        done = "written" if self.written else "checked" if self.proof else "nothing is written"
        figures = [
            ["rows", f"{self.rows[0]:,} -> {self.rows[1]:,}"],
            ["kept, bit for bit", f"{self.kept:,}"],
            ["new", f"{self.new:,}"],
            ["dropped", f"{self.dropped:,}"],
            ["holes and padding", f"{self.empty:,}"],
        ]
        yield Line(f"{done}; {'tied' if self.tied else 'untied'}; {self.size:,} bytes of tensors")
        yield Table(("tokens", "count"), figures)
        yield Line(f"new rows: {self.init}")
        rows = [[each.name, each.role, each.dtype, shape(each.before), shape(each.after)] for each in self.tensors]
        yield Table(("tensor", "role", "type", "before", "after"), rows, left=(0, 1, 2))
        if self.specials:
            listed = [[one_line(each.token), str(each.id), each.source] for each in self.specials[:SHOWN]]
            more = len(self.specials) - SHOWN
            caption = (
                f"special tokens (the first {SHOWN}; to_dict() has {more:,} more)" if more > 0 else "special tokens"
            )
            yield Table(("token", "id", "row"), listed, caption, left=(0, 2))
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
            said = (
                f"verified: {number_of(proof.untouched, 'untouched tensor')} equal by sha256, {number_of(proof.kept, 'kept row')} "
                f"equal bit for bit, {number_of(proof.made, 'other row')} computed again, {number_of(proof.files, 'file')} as planned"
            )
            yield Line(
                said if not proof.differences else f"{number_of(len(proof.differences), 'difference')} found",
                "good" if self.ok else "bad",
            )
            for each in proof.differences[:SHOWN]:
                yield Line(each, "bad")
        yield Line(f"verify: {self.command}")

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return super().to_dict() | {"ok": self.ok}


def shape(sizes: tuple[int, ...]) -> str:
    return " x ".join(f"{size:,}" for size in sizes)
