"""Runners: each maps `toksmith.run_shard` over the numbers of a job's shards, and does nothing else.

A runner is a module with `run`, and a row in `RUNNERS` (`_jobs/job/job.py`). What it yields are receipts, in any order. Its
file says only how a worker is started and asked (`Workers`); `hand_out.py` has what all runners share: which shard is
next, what is tried again, and who is told. `processes.py` has the processes of a local run, `ray_tasks.py` the tasks of Ray, and `work.py` what a worker
does that is not the process of the run.
"""
