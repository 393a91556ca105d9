"""Corpora to files of ids: one file (`encode_corpus`), or a job of many shards.

The rooms, each of which imports only from rooms above it in this table; the docstring of a room says what is in it.

| room | holds |
|---|---|
| `written/` | files that get their names when they are complete, receipts of shards, growing arrays |
| `sinks/` | the formats that a job writes, a file for each |
| `one_file/` | one file: `encode_corpus`, the simplest case |
| `plans/` | the plan of a job as a value, and what a process may use |
| `make/` | one shard: documents, ids, packing, shuffle, counts |
| `folder/` | a folder with shards that are done: finish it, verify it, say what is in it, merge it |
| `runners/` | where shards are made: in processes, in tasks of Ray |
| `job/` | plan a job, run it, watch it, say what it costs |

To follow a job, read `plans/plan.py`, `job/job.py`, `make/run_shard.py` and `folder/finish.py`. Left out: where folders
are (`_storage/folders.py`). The public names of the package come from these files directly (`toksmith/__init__.py`).
"""
