"""Corpora to files of ids: one file (`encode_corpus`), or a job of many shards.

The rooms, each of which imports only from rooms above it in this table; the docstring of a room says what is in it.

| room | holds |
|---|---|
| `written/` | files that get their names when they are complete, receipts of shards, growing arrays |
| `sinks/` | the formats that a job writes, a file for each |
| `one_file/` | one file: `encode_corpus`, the simplest case |
| `plan/` | the plan of a job as a value, and what a process may use |
| `make/` | one shard: documents, ids, packing, shuffle, counts |
| `folder/` | a folder with shards that are done: finish it, verify it, say what is in it, merge it |
| `job/` | plan a job, run it, watch it, say what it costs |

To follow a job, read `plan/plan.py`, `job/job.py`, `make/run_shard.py` and `folder/finish.py`. Left out: where shards
run (`runners/`), and where folders are (`_storage/folders.py`).
"""

from __future__ import annotations

from .folder.contents import FirstDocument, LengthBin, ShardContents, SourceSums, shards
from .folder.finish import Tokenized
from .folder.merge_shards import merge_shards
from .folder.verify import Verified, verify
from .job.cost import CostRow, JobCost
from .job.job import Job, JobStatus
from .job.make_plan import plan
from .job.plan_counts import plan_counts
from .job.watch import JobEvent
from .make.run_shard import run_shard
from .one_file.encode import EncodedCorpus, encode_corpus
from .written.receipts import Receipt

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
