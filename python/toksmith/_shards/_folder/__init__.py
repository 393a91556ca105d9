"""What a job's folder has when shards are done: it is completed, checked, described and merged.

In reading order: `_job_files.py` knows which names are a job's own, `_finish.py` writes `manifest.json` and `SHA256SUMS`,
`_verify.py` compares the files with them. `_shard_folder.py` reads any folder of shards: `_contents.py` says what is there
(`shards`), and `_merge_shards.py` makes one shard of many.
"""
