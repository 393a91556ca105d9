"""One shard: the plan and a number become files and a receipt.

In reading order: `_run_shard.py` makes a shard of the plan and the tokenizer in `_opened.py`. `_documents.py` reads its documents, `_encode_shard.py` makes rows of ids,
`_packing.py` packs them, `_shuffle.py` has the two rounds of a shuffle, and `_input_tally.py` counts what each input gives.
A sink of `../sinks/` writes the rows. `_count_shard.py` makes a shard of a job that counts.
"""
