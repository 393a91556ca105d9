# make test-servers: vLLM's and SGLang's own classes that load tokenizers, encode, stream and stop, with and without the switch; in
# a separate environment of 7 GB. No model runs, and no accelerator is needed.
.PHONY: test-servers

SERVERS := tests/requirements-servers.txt tests/requirements-servers-alone.txt

test-servers: .venv-servers/.made
	TOKSMITH_SERVERS=1 PYTHONPATH=python .venv-servers/bin/python -m pytest -rs -s -p no:cacheprovider tests/compat/test_model_servers.py

.venv-servers/.made: $(SERVERS) .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-servers -r $<
	@PYTHON=$(PY) bash scripts/venv.sh .venv-servers --no-deps -r tests/requirements-servers-alone.txt
	@touch $@
