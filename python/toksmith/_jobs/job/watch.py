"""What is seen of a job while it runs: events for programs, a line for each worker on a terminal, a line a minute in logs.

An event says what happened, and how far the run is then. The input's bytes come from the plan, all else from receipts.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _render
from ..._base.errors import number_of
from ..._render.progress import Progress, Reporter
from ..._render.streams import LOG
from ..plans.options import COUNTS
from ..plans.plan import Plan, sizes_of
from ..written import Receipt

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["JobEvent", "JobWatch", "unit_of"]

EVERY_S = 60.0
What = Literal["planned", "shard_started", "shard_finished", "shard_failed", "finished"]


@dataclass(frozen=True)
class JobEvent:
    """Something that happened in a run of a job, and how far the run is.

    Attributes:
        event: "planned" before the first shard, "shard_started",
            "shard_finished", "shard_failed", "finished" after the last.
        shard: The number of the shard that this is about; None for "planned"
            and "finished".
        worker: Who makes it: the number of a process from 1, or "task" with
            Ray.
        problem: Of "shard_failed": what went wrong.
        shards: How many there are to make (with a shuffle, in both rounds),
            and `done` how many are done by any run.
        bytes: The size of the inputs of all shards, and `done_bytes` of those
            that are done.
        documents: Made by this run so far, with `ids` (pieces, if the job
            counts), `text_bytes` and `bad_rows`.
        run_bytes: The size of the inputs of the shards that this run has made.
        left_bytes: The size of the inputs of the shards that this run has
            still to make: with `part`, those of its part.
        elapsed_s: Seconds since this run began.
    """

    event: What
    shard: int | None
    worker: int | str | None
    problem: str | None
    shards: int
    done: int
    bytes: int
    done_bytes: int
    documents: int
    ids: int
    text_bytes: int
    bad_rows: int
    run_bytes: int
    left_bytes: int
    elapsed_s: float
    unit: str = "id"

    @property
    def rate(self) -> float | None:
        """Bytes of the inputs in a second of this run; None at its beginning."""
        return self.run_bytes / self.elapsed_s if self.run_bytes and self.elapsed_s > 0 else None

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest of this run takes at this rate; None when
        nobody knows."""
        return None if not self.rate else self.left_bytes / self.rate

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON values."""
        return {**asdict(self), "rate": self.rate, "left_s": self.left_s}

    def __str__(self) -> str:
        said = f"{self.done:,} of {number_of(self.shards, 'shard')}, {self.done_bytes / 1e6:,.1f} of {self.bytes / 1e6:,.1f} MB"
        said += f" at {self.rate / 1e6:,.1f} MB/s" if self.rate else ""
        said += f", {number_of(self.ids, self.unit)}, {number_of(self.bad_rows, 'bad row')}"
        said += f" after {self.elapsed_s:,.0f} s"
        return said + (f", {self.left_s:,.0f} s to go" if self.left_s else "")


def unit_of(plan: Plan) -> str:
    """What the `ids` of a job are."""
    return "piece" if plan.options.to == COUNTS else "id"


class JobWatch:
    """Tells what happens in a run, to whoever wants to know; a context while the run goes on.

    Args of the constructor: `missing` units, and `own`, those of them that this run makes; `progress` and `events` as of `Job.run`; `clock` in seconds.
    """

    def __init__(
        self,
        plan: Plan,
        missing: Collection[int],
        progress: Callable[[Progress], object] | bool | None,
        events: Callable[[JobEvent], object] | None,
        *,
        own: Collection[int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sizes, self._clock, self._events = sizes_of(plan), clock, events
        self._start = self._said = clock()
        self._done = plan.units - len(missing)
        self._bytes = sum(self._sizes)
        self._done_bytes = self._bytes - sum(self._sizes[number] for number in missing)
        self._sums = dict.fromkeys(("documents", "ids", "text_bytes", "bad_rows", "run_bytes"), 0)
        self._left: set[int] = set()
        self._left_bytes = 0
        self._workers: dict[int, int | str] = {}
        self._unit = unit_of(plan)
        self._call = progress if callable(progress) else None
        self._bar = JobBar() if progress is None and events is None and sys.stderr.isatty() else None
        self._logs = progress is None and events is None and self._bar is None
        self._reporter = Reporter(self._call or False)
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._final = plan.final
        self.begins(own)

    def __enter__(self) -> JobWatch:  # noqa: PYI034 - `Self` came with Python 3.11
        self._open = ExitStack()
        if self._bar is not None:
            self._open.enter_context(self._bar.drawn)
        if self._logs:
            self._open.callback(self._ended.set)
            threading.Thread(target=self._say_each_minute, daemon=True).start()
        self.tell("planned")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def begins(self, numbers: Iterable[int]) -> None:
        """The run makes these shards now. What it did not count before are those for which others had to finish theirs."""
        with self._lock:
            more = {*numbers} - self._left
            self._left |= more
            self._left_bytes += sum(self._sizes[number] for number in more)

    def started(self, shard: int, worker: int | str) -> None:
        """A runner has given a shard to a worker."""
        self._workers[shard] = worker
        self.tell("shard_started", shard)

    def failed(self, shard: int, problem: str) -> None:
        """A worker has failed; the runner tries the shard again, or raises the error."""
        self.tell("shard_failed", shard, problem)
        if self._logs:
            LOG.info("shard %d: %s", shard, problem)

    def finished(self, receipt: Receipt) -> None:
        """A shard is done."""
        with self._lock:
            self._done += 1
            self._done_bytes += self._sizes[receipt.shard]
            if receipt.shard in self._left:
                self._left.remove(receipt.shard)
                self._left_bytes -= self._sizes[receipt.shard]
            self._sums["run_bytes"] += self._sizes[receipt.shard]
            self._sums["bad_rows"] += receipt.bad_rows
            if receipt.shard in self._final:
                for name in ("documents", "ids", "text_bytes"):
                    self._sums[name] += getattr(receipt, name)
        self.tell("shard_finished", receipt.shard)
        if self._unit == "piece":
            self._reporter.report("counting", self._sums["text_bytes"], None)
        else:
            self._reporter.report("encoding", self._sums["ids"], None)

    def tell(self, event: What, shard: int | None = None, problem: str | None = None) -> None:
        """Tells an event."""
        now = self.now(event, shard, problem)
        if self._events is not None:
            self._events(now)
        if self._bar is not None:
            self._bar.show(now)
        self.say_if_due()

    def now(self, event: What, shard: int | None = None, problem: str | None = None) -> JobEvent:
        """An event at this time."""
        with self._lock:
            return JobEvent(
                event=event,
                shard=shard,
                worker=None if shard is None else self._workers.get(shard),
                problem=problem,
                shards=len(self._sizes),
                done=self._done,
                bytes=self._bytes,
                done_bytes=self._done_bytes,
                left_bytes=self._left_bytes,
                elapsed_s=self._clock() - self._start,
                unit=self._unit,
                **self._sums,
            )

    def say_if_due(self) -> None:
        """Writes a line to the log, if the last one was a minute ago."""
        with self._lock:
            if not self._logs or self._clock() - self._said < EVERY_S:
                return
            self._said = self._clock()
        LOG.info("%s", self.now("planned"))

    def _say_each_minute(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.say_if_due()


class JobBar:
    """Lines on a terminal: the whole job, and each worker with its shard.

    Attributes: `drawn`, the context in which they are drawn.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.progress import BarColumn, TextColumn

        said = TextColumn("{task.fields[said]}", markup=False)  # which holds names of files
        given = {} if console is None else {"console": console}
        self.drawn = _render.make_progress(TextColumn("{task.description}"), BarColumn(), said, transient=True, **given)
        self._whole = self.drawn.add_task("job", total=None, said="")
        self._lines: dict[int | str, Any] = {}

    def show(self, now: JobEvent) -> None:
        """Draws an event."""
        self.drawn.update(self._whole, completed=now.done_bytes, total=now.bytes or 1, said=str(now))
        if now.worker is None:
            return
        if now.worker not in self._lines:
            name = f"worker {now.worker}" if isinstance(now.worker, int) else now.worker
            self._lines[now.worker] = self.drawn.add_task(name, total=1, said="")
        said = f"shard {now.shard}"
        said += {"shard_finished": " is done", "shard_failed": f": {_render.one_line(now.problem or '')}"}.get(
            now.event, ""
        )
        self.drawn.update(self._lines[now.worker], completed=int(now.event == "shard_finished"), said=said)
