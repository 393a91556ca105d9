"""A corpus to one file of ids (`encode_corpus`): the simplest case of a job, with no plan and no shards.

In reading order: `encode.py` reads, encodes and writes, and `manifest.py` records which files belong together, and reads
them.
"""
