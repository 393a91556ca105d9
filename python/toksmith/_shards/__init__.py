"""Corpora to files of ids: one file (`encode_corpus`), or a job of many shards.

One file: `_encode.py` encodes, `_npy.py` writes the arrays, `_manifest.py` records which files belong together.

A job, in reading order: `_make_plan.py` plans it (`_plan.py` is the value), `_job.py` runs it, `_run_shard.py` makes a shard
of `_documents.py`, `_encode_shard.py`, `_packing.py`, `_shuffle.py` and a sink of `sinks/`, `_receipts.py` says so,
`_finish.py` completes the folder, `_verify.py` checks it. A job may also count pieces: `_plan_counts.py` plans it, and
`_count_shard.py` makes a shard. What a folder has is read by `_shard_folder.py`: `_merge_shards.py` makes one shard of many,
and `_contents.py` says what is there. `_cost.py` says what a job will cost. `_room.py` says how many threads and how long
documents a limit of memory allows, `_durable.py` gives files their names, and `_job_files.py` knows which names are a job's
own. `_watch.py` tells what is seen while shards run. Left out: where they run (`_runners/`), and where folders are
(`../_folders.py`).
"""

from __future__ import annotations

from ._contents import FirstDocument, LengthBin, ShardContents, SourceSums, shards
from ._cost import CostRow, JobCost
from ._encode import EncodedCorpus, encode_corpus
from ._finish import Tokenized
from ._job import Job, JobStatus
from ._make_plan import plan
from ._merge_shards import merge_shards
from ._plan_counts import plan_counts
from ._receipts import Receipt
from ._run_shard import run_shard
from ._verify import Verified, verify
from ._watch import JobEvent

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
