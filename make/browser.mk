# make test-browser: the playground in a headless Chromium, which it installs.
.PHONY: test-browser

test-browser: .venv/.tools
	@scripts/browser.sh $(PY) tests/test_browser.py -s
