"""What is written while a job runs, whatever it contains. It imports no other room.

In reading order: `durable.py` gives the files of a shard their names when all of them are complete, `receipts.py` is what a
shard says of itself, and `npy.py` writes arrays in numpy's format as they grow.
"""
