"""Hostile texts, patterns, files and calls, against toksmith and the peers that have the same entry.

`python -m bench.robustness` runs every attack in a fresh process with limits, and writes the table of docs/robustness.md.
Read `attacks/` for what is tried, `subjects.py` for how each library is asked, `trial.py` for the process of one attack,
`runner.py` for what becomes of it, and `table.py` for how it is told.
"""
