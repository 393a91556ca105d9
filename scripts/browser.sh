#!/usr/bin/env bash
# Usage: scripts/browser.sh PYTHON TESTS [pytest argument ...]
# Runs tests that drive pages in a real headless browser. Installs Playwright from PyPI into the environment, and Debian's Chromium
# and fonts if there is no browser and it has the rights (root, apt-get). TOKSMITH_BROWSER names another Chromium.
# TOKSMITH_PICTURES=1 renews the screenshots of docs/playground; TOKSMITH_SPEED=1 measures.
set -euo pipefail

python=$1
shift
browser=${TOKSMITH_BROWSER:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$browser" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        chromium fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-dejavu-core
fi
"$python" -c 'import playwright' 2>/dev/null || bash scripts/venv.sh "$(dirname "$(dirname "$python")")" -r tests/browser-requirements.txt
exec "$python" -m pytest "$@"
