"""Plans a job once, and runs it until all of its shards are done.

In reading order: `make_plan.py` plans a job of ids, or a job that counts pieces. `job.py` has the job, and runs it.
`watch.py` reports progress, and `cost.py` estimates the cost of a job. Left out: the workers (`../runners/`).
"""
