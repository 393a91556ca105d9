"""Hostile texts, patterns, files and calls, for toksmith and the peers with the same entry point.

`python -m bench.robustness` runs every attack in a fresh process with limits, and writes the table of docs/robustness.md.
`attacks/` has the attacks, `subjects.py` calls each library, `trial.py` is the process of one attack, `runner.py`
collects the outcomes, and `table.py` writes the table.
"""
