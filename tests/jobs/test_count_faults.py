"""Whatever fails while counts and merged shards are written, the same call completes them, with the bytes of an untouched one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import job_corpus
import pytest
from systems import needs
from test_job_faults import REFUSALS, JobFaults, small

import toksmith
from toksmith._training.counts import merge
from toksmith.errors import JobError

pytestmark = [pytest.mark.slow, needs("posix", "links")]


def counted(folder: Path, out: Path, size: int = 40) -> None:
    """A job that counts, planned and run; or found finished."""
    try:
        job = toksmith.corpus.plan_counts(sorted((folder / "in").iterdir()), out, shard_size=size)
    except JobError as error:
        if "is finished" not in str(error):
            raise
        return
    job.run(progress=False, threads=1)


def merged_counts(folder: Path, out: Path) -> None:
    """In two rounds."""
    with mock.patch.object(merge, "MOST_OPEN", 2):
        toksmith.corpus.merge_counts([folder / "counts"], out / "all.parquet", spill_to=out / "rounds")


def written(folder: Path) -> dict[str, str]:
    """The files of a folder, except those that a call leaves in the folder for its rounds."""
    return {name: sha256 for name, sha256 in job_corpus.content(folder).items() if not name.startswith("rounds/")}


def merged_shards(to: str) -> Callable[[Path, Path], None]:
    def merged(folder: Path, out: Path) -> None:
        try:
            toksmith.corpus.merge([folder / "ids"], out, to=to)
        except JobError as error:
            if "merged here already" not in str(error):
                raise

    return merged


CALLS: dict[str, Any] = {
    "counts": counted,
    "merge_counts": merged_counts,
    "merge_shards": merged_shards("megatron"),
    "joined": merged_shards("nanogpt"),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_fails_in_turn(name: str, tmp_path: Path) -> None:
    small(tmp_path)
    counted(tmp_path, tmp_path / "counts", 1)
    job_corpus.job(tmp_path, "ids", shard_size=40).run(progress=False)
    (tmp_path / "untouched" / "rounds").mkdir(parents=True)
    CALLS[name](tmp_path, tmp_path / "untouched")
    expected = written(tmp_path / "untouched")
    for n in range(1, 1000):
        out = tmp_path / f"out {n}"
        (out / "rounds").mkdir(parents=True)
        with JobFaults(out, n, "once") as found:
            try:
                CALLS[name](tmp_path, out)
                refused = None
            except REFUSALS as error:
                refused = error
        said = f"call {n} ({found.calls[-1]}): {refused!r}"
        seen = written(out)
        assert "SHA256SUMS" not in seen or seen["manifest.json"] == expected["manifest.json"], said
        assert seen.get("all.parquet") in (None, expected.get("all.parquet")), said
        CALLS[name](tmp_path, out)
        assert written(out) == expected, said
        if not found.fired:
            assert refused is None and n > 4
            return
    raise AssertionError("a call never ended untouched")
