# make docs: the documentation site in build/docs/site; a dead link fails. .venv-docs holds its tools (docs/site/requirements.txt).
# It has the engine for browsers where this machine can make it (make web).
# make docs-check: tests its pages in a headless Chromium. make docs-publish: commits the site as a version to the branch
# gh-pages, and does not push; DOCS_VERSION=0.2 and DOCS_BRANCH=name choose others.
.PHONY: docs docs-check docs-publish

STAGED := build/docs
DOCS_PY := PYTHONPATH=scripts $(PY) -m
DOCS_BRANCH := gh-pages
DOCS_VERSION = $(shell $(PY) -c 'import toksmith; print(*toksmith.__version__.split(".")[:2], sep=".")')

docs: .venv/.built .venv-docs/.made
	@if bash scripts/web.sh; then $(MAKE) web; fi
	$(DOCS_PY) docs_site.stage $(STAGED) $(DOCS_OPTIONS)
	PYTHONPATH=scripts .venv-docs/bin/zensical build --strict --clean --config-file $(STAGED)/zensical.toml

docs-check: docs .venv/.tools
	@TOKSMITH_SITE=$(STAGED)/site bash scripts/browser.sh $(PY) tests/project/test_site_pages.py tests/project/test_site_cells.py

docs-publish:
	$(MAKE) docs DOCS_OPTIONS="--version $(DOCS_VERSION)"
	$(DOCS_PY) docs_site.publish $(STAGED)/site $(DOCS_VERSION) --branch $(DOCS_BRANCH)

.venv-docs/.made: docs/site/requirements.txt scripts/venv.sh
	@bash scripts/venv.sh .venv-docs -r $<
	@touch $@
