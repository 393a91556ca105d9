# make test-readers: the real readers of each format, torch included, read what a job writes; in an environment of their own, of
# several GB. TOKSMITH_MEGATRON=/path/to/Megatron-LM, a checkout, also compares its scripts. `make bench-corpus` takes its peers from here.
.PHONY: test-readers

READERS := tests/requirements-readers.txt tests/requirements-readers-alone.txt

test-readers: .venv-readers/.made
	TOKSMITH_READERS=1 PYTHONPATH=python .venv-readers/bin/python -m pytest -rs --durations=0 -p no:cacheprovider tests/jobs/test_readers.py

.venv-readers/.made: $(READERS) .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-readers -r $<
	@PYTHON=$(PY) bash scripts/venv.sh .venv-readers --no-deps -r tests/requirements-readers-alone.txt
	@touch $@
