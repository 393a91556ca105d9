"""The plan of a job as a value, and what a process may use that works on it.

In reading order: `options.py` has the options, and says which fit together; `plan.py` has the inputs, what each shard reads, and
how many threads and how long documents a limit of memory allows. Left out: who makes a plan and writes it (`job/make_plan.py`).
"""
