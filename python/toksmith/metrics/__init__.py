"""Metrics of a tokenizer on a corpus, each with its parts, its unit, its
direction, and its limits.

`measure` encodes once and counts exactly; `METRICS` is the table of
metrics. There is no single score, because it is disputed which figure
predicts a model's quality. `toksmith.metrics.parity` compares languages
with one tokenizer, and `fairness` with several.
"""

from ._fairness import Fairness, fairness
from ._languages import LANGUAGES
from ._parity import Language, Parallel, Parity, parity
from ._report import Report, measure, names
from ._rows import METRICS, Metric, Parts
from ._sample import Sample, Tokens

__all__ = [
    "LANGUAGES",
    "METRICS",
    "Fairness",
    "Language",
    "Metric",
    "Parallel",
    "Parity",
    "Parts",
    "Report",
    "Sample",
    "Tokens",
    "fairness",
    "measure",
    "names",
    "parity",
]


def __dir__() -> list[str]:
    return [*__all__]
