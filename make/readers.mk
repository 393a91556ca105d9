# make test-readers: the real readers of each format, torch included, read the output of a job; in a separate environment of
# several GB. TOKSMITH_MEGATRON=/path/to/Megatron-LM, a checkout, also compares its scripts. `make bench-corpus` uses its peers.
.PHONY: test-readers

READERS := tests/requirements-readers.txt tests/requirements-readers-alone.txt

test-readers: .venv-readers/.made
	TOKSMITH_READERS=1 PYTHONPATH=python .venv-readers/bin/python -m pytest -rs --durations=0 -p no:cacheprovider tests/jobs/test_readers.py

.venv-readers/.made: $(READERS) .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-readers -r $<
	@PYTHON=$(PY) bash scripts/venv.sh .venv-readers --no-deps -r tests/requirements-readers-alone.txt
	@touch $@
