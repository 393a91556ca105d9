# make bench | bench-train: toksmith beside its peers, in an environment of their own. They measure the wheel.
.PHONY: bench bench-train

bench bench-train: .venv-bench/.made
	.venv-bench/bin/python -m $(subst bench-train,bench.training,$@)

.venv-bench/.made: bench/requirements.txt dist/.built
	@PYTHON=$(PY) scripts/venv.sh .venv-bench -r $< dist/*.whl
	@PYTHON=$(PY) scripts/venv.sh .venv-bench --force-reinstall --no-deps dist/*.whl
	@touch $@
