"""Plans a job that counts pieces: the same job as that of ids, with patterns in place of a tokenizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from ..._base.errors import InvalidOption
from ..._corpus import Corpus
from ..._model.patterns import splitters
from ..plans.options import counting_options, refused_counting
from .job import Job
from .make_plan import job_of

__all__ = ["plan_counts"]


def plan_counts(
    corpus: Corpus,
    folder: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = "o200k",
    max_piece_bytes: int | None = None,
    errors: Literal["stop", "skip"] = "stop",
    max_errors: int | None = None,
    shard_size: int = 1 << 28,
    max_memory: int | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> Job:
    r"""Plans a job that counts the pieces of a corpus, a file of counts for each
    shard.

    It is run, resumed and verified as a job of `plan`. `merge_counts` and
    `PieceCounts.load` take the folder of the finished job, and give what
    `count_pieces` gives of the whole corpus, first positions included.

    Args:
        corpus: As of `plan`.
        folder: Of the job; it is made if its parent exists. Or a URL, as of
            `plan`.
        pattern: As of `train`.
        max_piece_bytes: As of `count_pieces`.
        errors: What a row without a text is: "stop" ends the job, "skip" leaves
            it out and counts it. A file that cannot be read to its end always
            ends the job.
        max_errors: How many such rows the job may have.
        shard_size: In bytes of the files.
        max_memory: As of `plan`. Without it the table of a process may grow to
            1 GiB; what is more goes to temporary files.
        force: Replaces another or a finished job in this folder; its files are
            removed.
        dry_run: Writes nothing; the result says how many shards and bytes there
            are.
    Raises:
        CorpusError: A file cannot be read.
        FormatError: The folder cannot be written.
        InvalidOption: An argument is out of range, or pyarrow is not installed,
            which the files need.
        JobError: The folder has another job, or this one and it is finished; or
            files of other origin whose names the job writes.
        PatternError: A pattern is not a regex.

    >>> import tempfile, toksmith
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rows.jsonl").write_text('{"text": "low low"}\n{"text": "lower"}\n')
    ...     job = toksmith.plan_counts(Path(folder), f"{folder}/out", shard_size=20)
    ...     done = job.run(progress=False)
    ...     job.shards, toksmith.PieceCounts.load(f"{folder}/out").items()
    (2, [(b'low', 1), (b' low', 1), (b'lower', 1)])
    """
    patterns = [step["pattern"] for step in splitters(pattern)]
    options = counting_options(patterns, max_piece_bytes, errors=errors, max_errors=max_errors, shard_size=shard_size)
    for argument, value, allowed in refused_counting(options):
        raise InvalidOption(argument, value, allowed)
    return job_of(options, corpus, folder, tok=None, force=force, dry_run=dry_run, max_memory=max_memory)
