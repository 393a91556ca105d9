"""Corpora to files of ids: one file (`encode_corpus`), or a job of many shards.

One file: `_encode.py` encodes, `_npy.py` writes the arrays, `_manifest.py` records which files belong together.

A job, in reading order: `_make_plan.py` plans it (`_plan.py` is the value), `_job.py` runs it, `_run_shard.py` makes a shard
of `_documents.py`, `_encode_shard.py`, `_packing.py`, `_shuffle.py` and a sink of `sinks/`, `_receipts.py` says so,
`_finish.py` completes the folder, `_verify.py` checks it. `_durable.py` gives files their names, and `_job_files.py` knows
which names are a job's own. Left out: where shards run (`_runners/`).
"""

from __future__ import annotations

from ._encode import EncodedCorpus, encode_corpus
from ._finish import Tokenized
from ._job import Job, JobStatus
from ._make_plan import plan
from ._receipts import Receipt
from ._run_shard import run_shard
from ._verify import Verified, verify

__all__ = [
    "EncodedCorpus",
    "Job",
    "JobStatus",
    "Receipt",
    "Tokenized",
    "Verified",
    "encode_corpus",
    "plan",
    "run_shard",
    "verify",
]
