"""A job in a folder: planned once, run by any process that can write there, finished when all of its shards are done.

Runs share only the folder. No run waits for another: two runs that make the same shard write equal bytes.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._base.arguments import check_int
from ..._base.paths import printable_path
from ..._base.threads import thread_count
from ..._base.wording import close_names
from ..._render.progress import Progress
from ..._storage.folders import folder_at
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import InvalidOption, JobError, ToksmithError, UnknownName
from ..folder.finish import (
    TOTALS,
    Tokenized,
    finish_job,
    is_finished,
    is_whole,
    missing_units,
    read_finished_job,
    read_totals,
    remove_parts,
    sampled_units,
    units_done,
)
from ..folder.job_files import ANY_NAME, CLAIMS, FOLDERS, running_units
from ..make.run_shard import cached_plan, open_job, open_tokenizer
from ..plans.plan import JOB, Plan, check_memory, is_same_plan, read_plan, sizes_of_units
from ..runners import Workers, hand_out
from ..written import Receipt, read_receipts
from .claims import Claims, reopen_blocks
from .cost import JobCost, cost_of
from .watch import JobEvent, JobWatch, ids_unit

RUNNERS = ("local", "ray")  # modules of `runners/`, imported when a run asks for one
CLAIM = "claim"  # the part of a run that claims its shards


@dataclass(frozen=True)
class JobStatus:
    """The progress of a job.

    Attributes: `shards`, the number of shards to make (with a shuffle, in both
    rounds), and `done`, the number of finished shards; `documents`, `ids`,
    `text_bytes` and `bad_rows` of the finished shards; `finished`, whether the
    manifest is written; `bytes` of the inputs of all shards, and `done_bytes`
    of the finished shards; `running`, the shards that processes are making
    now, on any machine that shares the folder and its locks (unknown for a
    URL); `unit` of `ids`: "id", or "piece" if the job counts; `sampled`, the
    number of receipts from which the four sums are estimated, in a job of very
    many shards (0: they are exact).
    """

    shards: int
    done: int
    documents: int
    ids: int
    text_bytes: int
    bad_rows: int
    finished: bool
    bytes: int = 0
    done_bytes: int = 0
    running: tuple[int, ...] = ()
    unit: str = "id"
    sampled: int = 0


class Job:
    """A planned job that encodes a corpus into shards; made by `plan`, or by
    `Job.at` for a folder with a plan.

    Attributes: `folder` of the job, a URL as a path too; `place`, its name or
        URL.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        *,
        written: bool = True,
        tok: Tokenizer | None = None,
        max_memory: int | None = None,
    ) -> None:
        self.folder, self.place = folder, printable_path(folder)
        self._folder = folder_at(folder)
        self._plan, self._written, self._tok, self._max_memory = plan, written, tok, max_memory

    @staticmethod
    def at(folder: str | os.PathLike[str]) -> Job:
        """The job that was planned in a folder.

        Raises:
            JobError: The folder has no plan.
        """
        return Job(Path(folder), cached_plan(folder_at(folder), whole=False))

    @property
    def shards(self) -> int:
        """The number of shards of the result."""
        return len(self._plan.shards)

    @property
    def bytes(self) -> int:
        """The bytes of all input files."""
        return self._plan.size

    @property
    def files(self) -> int:
        """The number of input files."""
        return len(self._plan.inputs)

    @property
    def finished(self) -> bool:
        """Whether the job is finished."""
        return is_finished(self._folder)

    def missing(self, part: str | None = None) -> list[int]:
        """The numbers, for `run_shard`, of the shards that are not done: shards
        without a receipt, or without their files.

        With a shuffle, numbers from `shards` on belong to the second round,
        which needs all shards of the first. In a job of more than 16,384 shards
        without `part`, only some shards are compared with their files; `finish`
        compares all.

        Args:
            part: As in `run`; only its shards, and only they are looked at.
        Raises:
            InvalidOption: There is no such part.
            JobError: A receipt cannot be read.
        """
        seen = None if self.finished else self._sample_units(part)
        if seen is None:
            return self._missing_units(part)
        return sorted({*range(self._plan.units)} - {*seen[0]})

    def _missing_units(self, part: str | None) -> list[int]:
        return missing_units(self._folder, self._plan, self._units(part))

    def _sample_units(self, part: str | None) -> tuple[list[int], list[Receipt]] | None:
        return sampled_units(self._folder, self._plan) if self._units(part) is None else None

    def _units(self, part: str | None) -> list[int] | None:
        """The units of a part; None for all."""
        if part is None or part == CLAIM:
            return None
        index, count = parse_part(part)
        return [
            n
            for first in range(0, self._plan.units, self.shards or 1)
            for n in range(first + index, first + self.shards, count)
        ]

    def status(self, part: str | None = None) -> JobStatus:
        """The progress of the job.

        Args:
            part: As in `run`; the progress of its shards, whose cost does not
                depend on the other shards. `running` is then empty.
        Raises:
            InvalidOption: There is no such part.
            JobError: A receipt cannot be read.
        """
        own, plan, unit, finished = self._units(part), self._plan, ids_unit(self._plan), self.finished
        units = range(plan.units) if own is None else own
        if finished and own is None:
            sums, size = read_totals(self._folder, plan), self.bytes
            return JobStatus(len(units), len(units), **sums, finished=True, bytes=size, done_bytes=size, unit=unit)
        if (seen := None if finished else self._sample_units(part)) is not None:
            done, receipts = seen
        else:  # files that a finished job does not need are removed
            found = read_receipts(self._folder, units) if finished else units_done(self._folder, plan, own).values()
            receipts = [receipt for receipt in found if receipt is not None]
            done = [receipt.shard for receipt in receipts]
        sizes = sizes_of_units(plan, units)
        first = range(self.shards)

        def total(name: str, among: range) -> int:
            """The sum of all units of a round that are done, from the receipts that were read."""
            values: list[int] = [getattr(receipt, name) for receipt in receipts if receipt.shard in among]
            count = bisect_left(done, among.stop) - bisect_left(done, among.start)
            return sum(values) * count // max(len(values), 1)

        return JobStatus(
            shards=len(units),
            done=len(done),
            **{name: total(name, first if name == "bad_rows" else plan.final) for name in TOTALS},
            finished=finished,
            bytes=sum(sizes.values()),
            done_bytes=sum(map(sizes.__getitem__, done)),
            running=tuple(running_units(self._folder, plan)) if own is None and len(done) < len(units) else (),
            unit=unit,
            sampled=0 if seen is None else len(receipts),
        )

    def cost(self) -> JobCost:
        r"""Estimates the cost of the job: core-hours, bytes that are read and
        written, and disk space, also for 1 TB and 60 TB.

        Raises:
            CorpusError: An input cannot be read.
            InvalidOption: The job counts; only jobs of ids have a cost.
            JobError: A sample of the inputs has no text, or the tokenizer
                differs from the plan.
        Cost: encodes at most 16 MB of the inputs on one thread.

        >>> import tempfile, toksmith
        >>> tok = toksmith.train("low lower lowest", merges=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n' * 99)
        ...     cost = toksmith.corpus.plan(tok, Path(folder), f"{folder}/out", dry_run=True).cost()
        >>> [row.what for row in cost.rows], cost.rows[0].text_bytes
        (['this input', '1 TB', '60 TB'], 297)
        """
        tok = open_job(self._folder)[1] if self._written else self._tok
        if tok is None:
            raise InvalidOption("job", self, "a job of ids; the cost of counting is not measured")
        return cost_of(self._plan if self._plan.index is None else read_plan(self._folder), tok)

    @staticmethod
    def check_run(run: str = "local", *, part: str | None = None, workers: int = 1, threads: int | None = None) -> None:
        """Refuses the arguments that `run` would refuse; useful before `plan`
        with `force=True` removes a job.

        Args:
            run: As in `run`.
            part: As in `run`.
            workers: As in `run`.
            threads: As in `run`.
        Raises:
            ImportError: The library of the runner is not installed.
            InvalidOption: A value is not possible.
            UnknownName: There is no such runner.

        >>> import toksmith
        >>> toksmith.corpus.Job.check_run(workers=8, part="0/4")
        """
        check_runner(run, part, workers=workers, threads=threads)

    def run(
        self,
        run: str = "local",
        *,
        part: str | None = None,
        workers: int = 1,
        threads: int | None = None,
        max_memory: int | None = None,
        progress: Callable[[Progress], object] | bool | None = None,
        events: Callable[[JobEvent], object] | None = None,
    ) -> Tokenized | None:
        r"""Makes the shards that are missing, and finishes the job.

        A run that was stopped or killed leaves only whole shards; the next run
        makes the others. Several runs can work in one folder at once.

        Args:
            run: "local" for processes of this machine, "ray" for tasks of Ray,
                which is started or joined, or an address "ray://HOST:PORT"
                (the extra `ray`).
            part: "I/N" makes every Nth shard from the Ith on, counted from 0,
                and does not finish the job. For arrays of a batch system: call
                `finish` when all parts are done. With `Job.at` its cost does
                not depend on the other shards, except with a shuffle. "claim"
                makes shards that no other process has claimed, until all are
                made, or enough processes wait for the last ones: for any number
                of processes that start and stop at any time. The claims are
                files in the folder.
            workers: The number of processes; 1 works in this process. More
                start with `spawn`, so a script needs
                `if __name__ == "__main__":`. With Ray, the number of tasks at
                once; 1 leaves that to Ray.
            threads: The threads of each process, at least 1; None for all
                processors, which the processes share.
            max_memory: As in `plan`, for each process; None for the value that
                `plan` got.
            progress: None draws the job and each worker on a terminal, and
                elsewhere writes a line a minute to the log; False does
                nothing; a callable gets `Progress` values.
            events: Gets a `JobEvent` at the start, for each shard that is
                started, finished or failed, and at the end. With it, None as
                `progress` does nothing.
        Returns: the content of the job; None with `part`.
        Raises:
            CorpusError: A file cannot be read or was changed after the plan, a
                row has no text and the job stops there, or a document is too
                long for `max_memory`.
            FormatError: A file cannot be written.
            InvalidOption: `max_memory` is too little for one thread and the
                longest known document.
            JobError: The process of a shard died four times, or a library or
                the tokenizer differs from the plan.

        >>> import tempfile, toksmith
        >>> tok = toksmith.train("low lower lowest", merges=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low"}\n' * 99)
        ...     job = toksmith.corpus.plan(tok, toksmith.files(f"{folder}/*.jsonl"), f"{folder}/out", to="megatron")
        ...     done = job.run(progress=False)
        >>> done.documents, done.ids, done.files
        (99, 99, ('00000_text_document.bin', '00000_text_document.idx'))
        """
        if not self._written:
            raise JobError(self.place, "the plan was a dry run and is not written; plan it without dry_run")
        runner = check_runner(run, part, workers=workers, threads=threads)
        index, count = (0, 1) if part is None or part == CLAIM else parse_part(part)
        threads = thread_count(None) // workers or 1 if threads is None else threads
        most = self._max_memory if max_memory is None else max_memory
        check_memory(read_plan(self._folder) if most is not None and part is None else self._plan, most)
        # It raises its errors before any process starts.
        open_tokenizer(self._folder, cached_plan(self._folder, whole=False))
        if part is None:
            self._folder.sweep(FOLDERS, ANY_NAME.fullmatch)
        address = run if "://" in run else None
        # The second round of a shuffle needs all shards of the first.
        looked_at = part if self._plan.options.shuffle is None else None
        missing, units = ([], []) if part == CLAIM else (self._missing_units(looked_at), self._units(part))
        own, still = self._own(missing, index, count), [n for n in missing if n % self.shards % count == index]
        watch = JobWatch(self._plan, still, progress, events, own=own, units=units)
        try:
            path = self._folder.at(JOB)
            with (
                watch,
                runner.start(path, workers=workers, threads=threads, max_memory=most, address=address) as makers,
            ):
                for numbers in () if part == CLAIM else self._rounds(looked_at, index, count):
                    watch.add_pending(numbers)
                    for receipt in hand_out(path, numbers, makers, watch):
                        watch.finished(receipt)
                if part == CLAIM:
                    self._run_claims(path, makers, watch)
                result = self._finish() if part is None else None
        except ToksmithError:
            if (result := self._done_by_another()) is None:
                raise
        watch.tell("finished")
        return result if part is None else None

    def _run_claims(self, path: str, makers: Workers, watch: JobWatch) -> None:
        """Makes shards that this run claims, round by round, until all are made, or held by others."""

        def missing(block: range) -> list[int]:
            units = [*block]
            if any(receipts := [*read_receipts(self._folder, block)]):  # a finished job has all receipts
                if self.finished:
                    raise JobError(self.place, "another process has finished the job")
                units = [
                    number
                    for number, receipt in zip(block, receipts, strict=True)
                    if not is_whole(self._folder.size, receipt)
                ]
            watch.add_pending(units)
            return units

        for units in self._units_of_rounds():
            with Claims(self._folder, units, missing) as claims:
                while not self.finished:
                    for receipt in hand_out(path, claims.numbers(), makers, watch):
                        claims.record_made(receipt.shard)
                        watch.finished(receipt)
                    if not claims.wait():
                        break
            if claims.busy:  # others make the rest
                return

    def _units_of_rounds(self) -> list[range]:
        """The units of each round, first those of the shards."""
        return [range(first, first + self.shards) for first in range(0, self._plan.units, max(self.shards, 1))]

    def _done_by_another(self) -> Tokenized | None:
        """The content of this job, if another run has finished it and removed files that this run was reading."""
        if not is_finished(self._folder) or not is_same_plan(read_plan(self._folder), self._plan):
            return None
        remove_parts(self._folder, self._plan)  # this run may have made them again
        return read_finished_job(self._folder)

    def _rounds(self, looked_at: str | None, index: int, count: int) -> Iterator[list[int]]:
        """The missing shards of a part, round by round; the second round needs all of the first."""
        for units in self._units_of_rounds():
            missing = self._missing_units(looked_at)
            if any(number < units.start for number in missing):
                return
            yield [n for n in missing if n < units.stop and n % self.shards % count == index]

    def _own(self, missing: list[int], index: int, count: int) -> list[int]:
        """The missing shards that this run will make, without the second round of a shuffle if others make some of its first."""
        waits = any(n < self.shards and n % count != index for n in missing)
        return [n for n in missing if n % self.shards % count == index and (n < self.shards or not waits)]

    def finish(self) -> Tokenized:
        """Writes the files that a job has once (`manifest.json`, `SHA256SUMS`,
        and the joined files of some formats) if no shard is missing.

        Raises:
            FormatError: A file cannot be written.
            JobError: Shards are missing, or there are more bad rows than
                `max_errors`.
        """
        if not self.finished:
            self._folder.sweep(FOLDERS, ANY_NAME.fullmatch)
        return self._finish()

    def _finish(self) -> Tokenized:
        plan, tok = open_job(self._folder)
        try:
            return finish_job(self._folder, plan, tok)
        except ToksmithError:
            if (result := self._done_by_another()) is None:
                if self._folder.has_folder(CLAIMS):
                    missing = {*missing_units(self._folder, plan)}
                    for units in self._units_of_rounds():
                        reopen_blocks(self._folder, units, missing)
                raise
            return result

    def __repr__(self) -> str:
        return f"<Job {self.place!r}: {self.shards} shards of {self.files} files, {self.bytes:,} bytes>"


def status(folder: str | os.PathLike[str]) -> JobStatus:
    """How far the job in a folder is, also while it runs elsewhere.

    Raises:
        JobError: The folder has no job.
    """
    return Job.at(folder).status()


def check_runner(run: str, part: str | None, *, workers: int, threads: int | None) -> Any:
    """The module of the runner; raises if `Job.run` cannot take these arguments."""
    name, _, host = run.partition("://")
    if name not in RUNNERS or (host and name != "ray"):
        raise UnknownName("runner", run, close_names(name, RUNNERS) or RUNNERS)
    if check_int(workers, "workers") < 1:
        raise InvalidOption("workers", workers, "at least 1")
    if part is not None and part != CLAIM:
        parse_part(part)
    thread_count(threads)
    runner = import_module(f"...runners.{name}", __name__)
    if name == "ray":
        runner.library()  # raises ImportError with advice
    return runner


def parse_part(text: str) -> tuple[int, int]:
    index, slash, count = text.partition("/")
    if not (slash and all(number.isascii() and number.isdigit() and len(number) < 10 for number in (index, count))):
        raise InvalidOption("part", text, f"I/N, such as 0/8 for the first of 8 parts, or {CLAIM}")
    if int(index) >= int(count):
        raise InvalidOption("part", text, f"I from 0 to {int(count) - 1}" if int(count) else "N of at least 1")
    return int(index), int(count)
