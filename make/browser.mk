# make test-browser: the playground and snapshots in a headless Chromium, which it installs.
.PHONY: test-browser

test-browser: .venv/.tools
	@bash scripts/browser.sh $(PY) tests/test_browser.py tests/test_browser_views.py tests/test_browser_scripts.py tests/test_browser_walks.py tests/test_browser_bad_input.py tests/test_browser_everybody.py tests/test_browser_snapshot.py -s
