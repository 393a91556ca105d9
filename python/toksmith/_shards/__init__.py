"""Corpora to files of ids: one file (`encode_corpus`), or a job of many shards.

The rooms, each of which imports only from rooms above it in this table; the docstring of a room says what is in it.

| room | holds |
|---|---|
| `_written/` | files that get their names when they are complete, receipts of shards, growing arrays |
| `sinks/` | the formats that a job writes, a file for each |
| `_one_file/` | one file: `encode_corpus`, the simplest case |
| `_plan/` | the plan of a job as a value, and what a process may use |
| `_make/` | one shard: documents, ids, packing, shuffle, counts |
| `_folder/` | a folder with shards that are done: finish it, verify it, say what is in it, merge it |
| `_job/` | plan a job, run it, watch it, say what it costs |

To follow a job, read `_plan/_plan.py`, `_job/_job.py`, `_make/_run_shard.py` and `_folder/_finish.py`. Left out: where shards
run (`../_runners/`), and where folders are (`../_folders.py`).
"""

from __future__ import annotations

from ._folder._contents import FirstDocument, LengthBin, ShardContents, SourceSums, shards
from ._folder._finish import Tokenized
from ._folder._merge_shards import merge_shards
from ._folder._verify import Verified, verify
from ._job._cost import CostRow, JobCost
from ._job._job import Job, JobStatus
from ._job._make_plan import plan
from ._job._plan_counts import plan_counts
from ._job._watch import JobEvent
from ._make._run_shard import run_shard
from ._one_file._encode import EncodedCorpus, encode_corpus
from ._written._receipts import Receipt

__all__ = [
    "CostRow",
    "EncodedCorpus",
    "FirstDocument",
    "Job",
    "JobCost",
    "JobEvent",
    "JobStatus",
    "LengthBin",
    "Receipt",
    "ShardContents",
    "SourceSums",
    "Tokenized",
    "Verified",
    "encode_corpus",
    "merge_shards",
    "plan",
    "plan_counts",
    "run_shard",
    "shards",
    "verify",
]
