"""The plan of a job as a value, and what a process may use that works on it.

In reading order: `_options.py` has the options, and says which fit together; `_plan.py` has the inputs and what each shard reads; `_room.py` says how many threads and how
long documents a limit of memory allows. Left out: who makes a plan and writes it (`_job/_make_plan.py`).
"""
