"""The runner's request to one fresh process: one training by one engine, as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ..texts import TextFile
from .cases import Case
from .lay import Source


@dataclass(frozen=True)
class Job:
    """One training; the fields are those of `Case`.

    Attributes:
        cpus: The processors that the process is pinned to; empty for any.
        check: Whether the worker encodes a sample with the learned tokens afterwards.
    """

    engine: str
    source: Source
    split: str
    size: int
    threads: int
    cpus: tuple[int, ...] = ()
    check: bool = True

    def dump(self) -> str:
        """The job as JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def parse(line: str) -> Job:
        """The job in a line of JSON."""
        fields: dict[str, Any] = json.loads(line)
        source = fields["source"] | {"laid": TextFile(**fields["source"]["laid"])}
        return Job(**fields | {"source": Source(**source), "cpus": tuple(fields["cpus"])})


def job(case: Case, engine: str, source: Source, cpus: tuple[int, ...]) -> Job:
    """The training of a case by one engine."""
    return Job(engine, source, case.split, case.size, case.threads, cpus)
