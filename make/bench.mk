# make bench | bench-train | bench-corpus: toksmith beside its peers, in an environment of their own. They measure the wheel.
# make bench-corpus measures files to files of ids, beside the same texts in memory.
.PHONY: bench bench-train bench-corpus

bench bench-train bench-corpus: .venv-bench/.made
	.venv-bench/bin/python -m $(subst bench-train,bench.training,$(subst bench-corpus,bench.corpus,$@))

.venv-bench/.made: bench/requirements.txt dist/.built
	@PYTHON=$(PY) scripts/venv.sh .venv-bench -r $< dist/*.whl
	@PYTHON=$(PY) scripts/venv.sh .venv-bench --force-reinstall --no-deps dist/*.whl
	@touch $@
