"""A job: it is planned once, and run until all of its shards are done.

In reading order: `_make_plan.py` plans a job of ids, and `_plan_counts.py` one that counts pieces. `_job.py` is the job, and
runs it. `_watch.py` tells what is seen while shards run, and `_cost.py` says what a job will cost. Left out: where shards
run (`../../_runners/`).
"""
