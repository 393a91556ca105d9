"""Makes one shard: files and a receipt, from the plan and the number of the shard.

In reading order: `run_shard.py` reads the plan and the tokenizer of a job, and makes a shard. `documents.py` reads its
documents, `encode_shard.py` encodes them to rows of ids, `packing.py` packs the rows, and `shuffle.py` has the two rounds of
a shuffle. A sink of `../sinks/` writes the rows. `count_shard.py` makes a shard of a job that counts.
"""
