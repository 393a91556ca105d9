"""What a job's folder has when shards are done: it is completed, checked, described and merged.

In reading order: `job_files.py` knows which names are a job's own, `finish.py` writes `manifest.json` and `SHA256SUMS`,
`verify.py` compares the files with them. `shard_folder.py` reads any folder of shards: `contents.py` says what is there
(`shards`), and `merge_shards.py` makes one shard of many.
"""
