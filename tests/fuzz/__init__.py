"""Fuzz targets that go through Python: functions of bytes that raise where a rule does not hold.

`scripts/fuzz.sh` runs each with atheris, and `test_fuzz_corpus.py` replays the inputs in `corpus/` without it. A target is a
module with `run`; a new one needs its name in `TARGETS`, and some inputs.
"""

TARGETS = ("calls", "formats", "mutants", "tokenizer_json")
