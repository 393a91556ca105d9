"""A job: it is planned once, and run until all of its shards are done.

In reading order: `make_plan.py` plans a job of ids, or one that counts pieces. `job.py` is the job, and
runs it. `watch.py` tells what is seen while shards run, and `cost.py` says what a job will cost. Left out: where shards
are made (`../runners/`).
"""
