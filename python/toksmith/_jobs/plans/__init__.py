"""The plan of a job as a value, and the threads and memory that a worker can use.

In reading order: `options.py` has the options and checks that they fit together; `index.py` finds the lines of a shard in
`job.json`; `plan.py` has the inputs, the parts of each shard, and the number of threads and the length of documents that a
memory limit allows; `draft.py` cuts a corpus into shards, and writes a new plan. Left out: `job/make_plan.py`.
"""
