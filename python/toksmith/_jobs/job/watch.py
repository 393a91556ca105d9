"""Reports the progress of a run: events for programs, lines for workers on a terminal, a line a minute in logs.

An event records what happened, and the progress of the run at that time. The input's bytes come from the plan, all other
numbers from receipts.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ... import _render
from ..._base.wording import number_of
from ..._render.progress import Progress, Reporter
from ..._render.streams import LOG
from ..plans.options import COUNTS
from ..plans.plan import Plan, sizes_of_units
from ..written import Receipt

if TYPE_CHECKING:
    from rich.console import Console

EVERY_S = 60.0
What = Literal["planned", "shard_started", "shard_finished", "shard_failed", "finished"]


@dataclass(frozen=True)
class JobEvent:
    """An event in a run of a job, with the progress of the run.

    Attributes:
        event: "planned" before the first shard, "shard_started",
            "shard_finished", "shard_failed", "finished" after the last.
        shard: The number of the shard; None for "planned" and "finished".
        worker: The worker of the shard: the number of a process from 1, or
            "task" with Ray.
        problem: For "shard_failed", the error.
        shards: The number of shards to make (with a shuffle, in both rounds;
            with `part`, those of the part), with `done`, the number of them
            that any run has finished.
        bytes: The bytes of the inputs of these shards, with `done_bytes` of the
            finished shards.
        documents: Made by this run so far, with `ids` (pieces, if the job
            counts), `text_bytes` and `bad_rows`.
        run_bytes: The bytes of the inputs of the shards that this run made.
        left_bytes: The bytes of the inputs of the shards that this run must
            still make.
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
        """Bytes of the inputs per second of this run; None at its beginning."""
        return self.run_bytes / self.elapsed_s if self.run_bytes and self.elapsed_s > 0 else None

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest of this run takes at this rate; None if
        unknown."""
        return None if not self.rate else self.left_bytes / self.rate

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON values."""
        return {**asdict(self), "rate": self.rate, "left_s": self.left_s}

    def __str__(self) -> str:
        line = f"{self.done:,} of {number_of(self.shards, 'shard')}, {self.done_bytes / 1e6:,.1f} of {self.bytes / 1e6:,.1f} MB"
        line += f" at {self.rate / 1e6:,.1f} MB/s" if self.rate else ""
        line += f", {number_of(self.ids, self.unit)}, {number_of(self.bad_rows, 'bad row')}"
        line += f" after {self.elapsed_s:,.0f} s"
        return line + (f", {self.left_s:,.0f} s to go" if self.left_s else "")


def ids_unit(plan: Plan) -> str:
    return "piece" if plan.options.to == COUNTS else "id"


class JobWatch:
    """Reports the events of a run to its listeners; a context for the time of the run.

    Args of the constructor: `missing` units, and `own`, the missing units that this run makes; `progress` and `events` as in
    `Job.run`; `units` of the part, None for all; `clock` in seconds.
    """

    def __init__(
        self,
        plan: Plan,
        missing: Collection[int],
        progress: Callable[[Progress], object] | bool | None,
        events: Callable[[JobEvent], object] | None,
        *,
        own: Collection[int],
        units: Sequence[int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sizes = sizes_of_units(plan, range(plan.units) if units is None else units)
        self._plan, self._clock, self._events = plan, clock, events
        self._start = self._said = clock()
        self._done = len(self._sizes) - len(missing)
        self._bytes = sum(self._sizes.values())
        self._done_bytes = self._bytes - sum(self._sizes[number] for number in missing)
        self._sums = dict.fromkeys(("documents", "ids", "text_bytes", "bad_rows", "run_bytes"), 0)
        self._left: set[int] = set()
        self._left_bytes = 0
        self._workers: dict[int, int | str] = {}
        self._unit = ids_unit(plan)
        self._call = progress if callable(progress) else None
        self._bar = JobBar() if progress is None and events is None and sys.stderr.isatty() else None
        self._logs = progress is None and events is None and self._bar is None
        self._reporter = Reporter(self._call or False)
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._final = plan.final
        self.add_pending(own)

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

    def add_pending(self, numbers: Iterable[int]) -> None:
        """Registers shards that the run makes now. New among them are shards that had to wait for shards of other runs, and
        shards of blocks that the run has claimed since."""
        with self._lock:
            more = {*numbers} - self._left
            claimed = sizes_of_units(self._plan, sorted(more - self._sizes.keys()))
            self._sizes |= claimed
            self._bytes += sum(claimed.values())
            self._left |= more
            self._left_bytes += sum(self._sizes[number] for number in more)

    def started(self, shard: int, worker: int | str) -> None:
        self._workers[shard] = worker
        self.tell("shard_started", shard)

    def failed(self, shard: int, problem: str) -> None:
        """Reports that a worker has failed; the runner tries the shard again, or raises the error."""
        self.tell("shard_failed", shard, problem)
        if self._logs:
            LOG.info("shard %d: %s", shard, problem)

    def finished(self, receipt: Receipt) -> None:
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
        now = self.now(event, shard, problem)
        if self._events is not None:
            self._events(now)
        if self._bar is not None:
            self._bar.show(now)
        self.log_if_due()

    def now(self, event: What, shard: int | None = None, problem: str | None = None) -> JobEvent:
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

    def log_if_due(self) -> None:
        """Writes a line to the log, if the last line was a minute ago."""
        with self._lock:
            if not self._logs or self._clock() - self._said < EVERY_S:
                return
            self._said = self._clock()
        LOG.info("%s", self.now("planned"))

    def _say_each_minute(self) -> None:
        while not self._ended.wait(EVERY_S):
            self.log_if_due()


class JobBar:
    """Lines on a terminal: one for the job, and one for each worker with its shard.

    Attributes: `drawn`, the context that draws them.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.progress import BarColumn, TextColumn

        status = TextColumn("{task.fields[said]}", markup=False)  # it holds names of files
        kwargs = {} if console is None else {"console": console}
        self.drawn = _render.make_progress(
            TextColumn("{task.description}"), BarColumn(), status, transient=True, **kwargs
        )
        self._whole = self.drawn.add_task("job", total=None, said="")
        self._lines: dict[int | str, Any] = {}

    def show(self, now: JobEvent) -> None:
        self.drawn.update(self._whole, completed=now.done_bytes, total=now.bytes or 1, said=str(now))
        if now.worker is None:
            return
        if now.worker not in self._lines:
            name = f"worker {now.worker}" if isinstance(now.worker, int) else now.worker
            self._lines[now.worker] = self.drawn.add_task(name, total=1, said="")
        status = f"shard {now.shard}"
        status += {"shard_finished": " is done", "shard_failed": f": {_render.one_line(now.problem or '')}"}.get(
            now.event, ""
        )
        self.drawn.update(self._lines[now.worker], completed=int(now.event == "shard_finished"), said=status)
