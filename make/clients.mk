# make test-clients: runs other libraries' tests on the drop-ins, and libraries that take a tokenizer, with their usual calls;
# in two separate environments of several GB. Source distributions are downloaded from the package index, once.
# TOKSMITH_SUITES=/path adds suites of other repositories (minbpe, rustbpe, nanochat).
.PHONY: test-clients

SUITES := tokenizers==0.23.3 transformers==5.23.0 sentencepiece==0.2.3 tiktoken==0.14.0

test-clients: .venv-clients/.suites .venv-programs/.made
	TOKSMITH_CLIENTS=$(CURDIR)/.venv-clients/suites PYTHONPATH=python .venv-clients/bin/python -m pytest -rs -s -p no:cacheprovider \
		-p no:asyncio tests/compat/test_clients.py tests/compat/test_client_conversions.py
	TOKSMITH_PROGRAMS=1 PYTHONPATH=python .venv-programs/bin/python -m pytest -rs -s -p no:cacheprovider tests/compat/test_client_programs.py

.venv-clients/.suites: .venv-clients/.made make/clients.mk
	@rm -rf .venv-clients/suites && mkdir -p .venv-clients/suites
	@for each in $(SUITES); do .venv-clients/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
		--no-binary $${each%%==*} --dest .venv-clients/suites $$each || exit 1; done
	@for each in .venv-clients/suites/*.tar.gz; do tar -xzf $$each -C .venv-clients/suites || exit 1; done
	@touch $@

.venv-%/.made: tests/requirements-%.txt .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-$* -r $<
	@touch $@

.venv-programs/.made: tests/requirements-programs.txt tests/requirements-programs-alone.txt .venv/.built
	@PYTHON=$(PY) bash scripts/venv.sh .venv-programs -r $<
	@PYTHON=$(PY) bash scripts/venv.sh .venv-programs --no-deps -r tests/requirements-programs-alone.txt
	@touch $@
