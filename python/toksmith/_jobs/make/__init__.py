"""One shard: the plan and a number become files and a receipt.

In reading order: `run_shard.py` reads the plan and the tokenizer of a job, and makes a shard. `documents.py` reads its
documents, `encode_shard.py` makes rows of ids, `packing.py` packs them, and `shuffle.py` has the two rounds of a shuffle.
A sink of `../sinks/` writes the rows. `count_shard.py` makes a shard of a job that counts.
"""
