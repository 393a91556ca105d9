# make test-model: transformers and torch load models of `graft`, and compute the same logits; in a separate environment of
# 5 GB, because the package index has torch for Linux only with its GPU packages.
.PHONY: test-model

test-model: .venv-model/.made
	TOKSMITH_MODELS=1 PYTHONPATH=python .venv-model/bin/python -m pytest -rs --durations=0 -p no:cacheprovider tests/graft/test_graft_models.py

.venv-model/.made: tests/requirements-model.txt .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-model -r $<
	@touch $@
