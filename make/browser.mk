# make test-browser: tests the playground and snapshots in a headless Chromium, which it installs.
.PHONY: test-browser

test-browser: .venv/.tools
	@bash scripts/browser.sh $(PY) $(wildcard tests/playground/test_browser*.py) -s
