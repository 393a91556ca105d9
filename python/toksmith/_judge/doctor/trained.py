"""Under-trained tokens, from a model's embeddings: rows that training hardly ever moved.

A row that is never updated only decays, so a small norm is suspicious. Rows of unused ids point in one direction, so a
small angle to their mean is suspicious. Unused are ids without a token, and bytes that never occur in UTF-8. Left out:
asking the model, the only proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._graft.weights import Matrix
from .diagnosis import CheckFinding, Witness
from .subject import Subject

SHOWN, FEWEST, PASSES = 50, 2, 24
AGREE = 0.5  # lower bound of the mean cosine of unused rows with their mean; above it they share a direction
FAR = -4.0  # standard deviations (robust) below the median that make a token suspect


class Indicator(NamedTuple):
    """A figure for each row; smaller means less trained."""

    name: str
    figures: NDArray[np.float64]


def under_trained(subject: Subject) -> CheckFinding:
    """Tokens with embeddings of tokens that a model hardly met in training."""
    if not subject.matrices:
        return CheckFinding("under_trained", "not applicable", "no embeddings were given")
    tested = subject.facts.ids[~subject.facts.special & ~subject.facts.impossible]
    if not len(tested):
        return CheckFinding("under_trained", "not applicable", "there is no ordinary token")
    source, *others = subject.matrices
    judged = others[0] if others else source
    unused = reference_ids(subject, len(judged))
    indicators = [Indicator(f"norm ({source.name})", norms(source)), *direction_indicators(judged, unused)]
    counts: dict[str, int | float | str | None] = {"tokens": len(tested), "unused ids to compare with": len(unused)}
    witnesses: list[Witness] = []
    for name, figures in indicators:
        own = figures[tested]
        counts[f"suspect by {name}"] = count_suspects(own)
        first = tested[np.argsort(own, kind="stable")[:SHOWN]]
        witnesses += [
            Witness(int(id), subject.tok.token_bytes(int(id)), name, None, float(figures[id])) for id in first
        ]
    most = max((count for name, count in counts.items() if name.startswith("suspect")), key=lambda count: count or 0)
    left_out = "" if len(indicators) > 1 else "; too few unused ids share a direction for the other indicators"
    says = f"up to {most:,} tokens look under-trained by one of {len(indicators)} indicators{left_out}"
    advice = (
        f"The {SHOWN} lowest of each indicator are listed; ask the model to repeat them before you call them broken."
    )
    return CheckFinding("under_trained", "warn" if most else "pass", says, counts, witnesses, advice)


def reference_ids(subject: Subject, rows: int) -> NDArray[np.intp]:
    """The ids that no text gives: those without a token, and single bytes that never occur in UTF-8.

    Without such ids, the special tokens that the corpus never emitted are used.
    """
    facts = subject.facts
    unused = np.ones(rows, np.bool_)
    unused[facts.ids] = facts.impossible
    if unused.sum() < FEWEST and (sample := subject.sample) is not None:
        unused[facts.ids] |= facts.special & (sample.emitted == 0)
    return np.flatnonzero(unused)


def norms(matrix: Matrix) -> NDArray[np.float64]:
    """The Euclidean norm of each row."""
    return np.concatenate([np.linalg.norm(rows.astype(np.float64), axis=1) for _, rows in matrix.blocks()])


def direction_indicators(matrix: Matrix, unused: NDArray[np.intp]) -> Iterator[Indicator]:
    """Distances from the mean of the unused rows; none unless these rows share a direction."""
    if len(unused) < FEWEST:
        return
    rows = matrix.rows(unused).astype(np.float64)
    target = rows.mean(axis=0)
    if (1 - cosine_distance(rows, target)).mean() < AGREE:
        return
    mean, axis = principal_axis(matrix)
    yield Indicator(f"cosine ({matrix.name})", figure_of_rows(matrix, lambda x: cosine_distance(x, target)))
    without_mean = figure_of_rows(matrix, lambda x: cosine_distance(x - mean, target - mean))
    yield Indicator(f"cosine without the mean ({matrix.name})", without_mean)

    def flat(x: NDArray[np.float64]) -> NDArray[np.float64]:
        flattened: NDArray[np.float64] = x - np.outer(x @ axis, axis).reshape(x.shape)
        return flattened

    without_axis = figure_of_rows(matrix, lambda x: cosine_distance(flat(x), flat(target)))
    yield Indicator(f"cosine without the first principal component ({matrix.name})", without_axis)
    yield Indicator(f"distance ({matrix.name})", figure_of_rows(matrix, lambda x: np.linalg.norm(x - target, axis=1)))


def figure_of_rows(matrix: Matrix, figure: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> NDArray[np.float64]:
    """A figure for every row, computed block by block."""
    return np.concatenate([figure(rows.astype(np.float64)) for _, rows in matrix.blocks()])


def cosine_distance(rows: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - the cosine of each row with `target`; 0 for a row of zeros, which was never trained."""
    sizes = np.linalg.norm(rows, axis=-1) * np.linalg.norm(target, axis=-1)
    products = (rows * target).sum(axis=-1)
    cosines: NDArray[np.float64] = np.divide(products, sizes, out=np.ones_like(products), where=sizes > 0)
    return 1 - cosines


def principal_axis(matrix: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean row, and the direction in which the rows differ most from it, by power iteration."""
    mean = np.sum([rows.sum(axis=0, dtype=np.float64) for _, rows in matrix.blocks()], axis=0) / len(matrix)
    width = matrix.shape[1]
    axis = np.ones(width) + np.arange(width) / width
    axis /= np.linalg.norm(axis)
    for _ in range(PASSES):
        turned = np.zeros_like(axis)
        for _, rows in matrix.blocks():
            centred = rows - mean
            turned += (centred @ axis) @ centred
        size = np.linalg.norm(turned)
        if not size:
            break
        converged = np.linalg.norm(turned / size - axis) < 1e-4
        axis = turned / size
        if converged:
            break
    return mean, axis


def count_suspects(figures: NDArray[np.float64]) -> int:
    """The number of figures far below the median, in standard deviations estimated from the median deviation."""
    median = np.median(figures)
    spread = 1.4826 * np.median(np.abs(figures - median))
    return int((figures < median + FAR * spread).sum()) if spread > 0 else int((figures < median).sum())
