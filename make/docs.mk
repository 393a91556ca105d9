# make docs: the documentation site in build/docs/site; .venv-docs holds what builds it (docs/site/requirements.txt).
.PHONY: docs

STAGED := build/docs
DOCS_PY := PYTHONPATH=scripts $(PY) -m

docs: .venv/.built .venv-docs/.made
	$(DOCS_PY) docs_site.stage $(STAGED)
	PYTHONPATH=scripts .venv-docs/bin/zensical build --strict --clean --config-file $(STAGED)/zensical.toml
	$(DOCS_PY) docs_site.dead_links $(STAGED)/site

.venv-docs/.made: docs/site/requirements.txt scripts/venv.sh
	@scripts/venv.sh .venv-docs -r $<
	@touch $@
