"""Folders with finished shards: completes, verifies, describes and merges them.

In reading order: `job_files.py` has the names of a job's files, `finish.py` writes `manifest.json` and `SHA256SUMS`,
`verify.py` compares the files with them. `shard_folder.py` reads any folder of shards: `contents.py` describes it (`shards`),
and `merge_shards.py` merges shards into one.
"""
