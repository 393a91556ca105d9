"""Corpora to files of ids: one file (`corpus.encode`), or a job of many shards.

A subpackage imports only from subpackages above it in this table. Its docstring lists its content.

| subpackage | holds |
|---|---|
| `written/` | files that get their names when they are complete, receipts of shards, growing arrays |
| `sinks/` | the formats that a job writes, one file per format |
| `one_file/` | one file: `corpus.encode`, the simplest case |
| `plans/` | the plan of a job as a value, and the threads and memory that a process can use |
| `make/` | one shard: documents, ids, packing, shuffle, counts |
| `folder/` | a folder of finished shards: finish it, verify it, report its content, merge it |
| `runners/` | runs shards: in processes, in tasks of Ray |
| `job/` | plans a job, runs it, watches it, estimates its cost |

To follow a job, read `plans/plan.py`, `job/job.py`, `make/run_shard.py` and `folder/finish.py`. Left out: the places of
folders (`_storage/folders.py`). The public names of the package come from these files directly (`toksmith/__init__.py`).
"""
