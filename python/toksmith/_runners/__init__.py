"""Runners: each maps `toksmith.run_shard` over the numbers of a job's shards, and does nothing else.

A runner is a module with `run`, and a row in `RUNNERS` (`_shards/_job/_job.py`). What it yields are receipts, in any order. It tells
`seen` which shard it gives to which worker (`started`), and which one failed (`failed`).
"""
