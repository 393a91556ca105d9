"""One shard: the plan and a number become files and a receipt.

In reading order: `run_shard.py` makes a shard of the plan and the tokenizer in `opened.py`. `documents.py` reads its documents, `encode_shard.py` makes rows of ids,
`packing.py` packs them, `shuffle.py` has the two rounds of a shuffle, and `input_tally.py` counts what each input gives.
A sink of `../sinks/` writes the rows. `count_shard.py` makes a shard of a job that counts.
"""
