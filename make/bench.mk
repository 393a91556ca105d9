# make bench | bench-quick | bench-train | bench-corpus: toksmith and its peers, in a separate environment. They measure the wheel.
# make bench-quick measures the dozen most important cells, in five minutes on two quiet processors.
# OPTIONS="--only megatron" is passed on. make bench-corpus measures files to files of ids; its peers are programs of .venv-readers
# and .venv-ray, and of TOKSMITH_MEGATRON=/path, a checkout. It skips missing programs, and prints how to add them.
.PHONY: bench bench-quick bench-train bench-corpus

bench-quick: .venv-bench/.made
	.venv-bench/bin/python -m bench --quick $(OPTIONS)

bench bench-train bench-corpus: .venv-bench/.made
	.venv-bench/bin/python -m $(subst bench-train,bench.training,$(subst bench-corpus,bench.corpus,$@)) $(OPTIONS)

.venv-bench/.made: bench/requirements.txt dist/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-bench -r $< dist/*.whl
	@PYTHON=$(PY) bash scripts/venv.sh .venv-bench --force-reinstall --no-deps dist/*.whl
	@touch $@
