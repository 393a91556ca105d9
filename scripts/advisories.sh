#!/usr/bin/env bash
# Usage: scripts/advisories.sh
# Looks for known vulnerabilities in what toksmith is built from and what its developers install: the crates of Cargo.lock, the
# packages of .venv (those of the package and of its tests), and the pinned packages of the other environments. Needs `make build`,
# the programs of `make release-check`, and the network. It runs every check and exits with 1 if one finds something.
set -uo pipefail
cd "$(dirname "$0")/.."

pinned=(bench/requirements.txt docs/site/requirements.txt scripts/release/requirements.txt scripts/release/requirements-wheels.txt)
failed=0
step() {
    echo "== $*"
    "$@" || failed=1
}

make target/tools/.made >&2 || exit 1
PYTHON=.venv/bin/python scripts/venv.sh .venv-advisories -r tests/requirements-advisories.txt >&2 || exit 1
audit=(.venv-advisories/bin/pip-audit --progress-spinner=off)

step target/tools/bin/cargo-deny --workspace --all-features check advisories
step "${audit[@]}" --path "$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')"
for file in "${pinned[@]}"; do
    step "${audit[@]}" --no-deps --disable-pip --requirement "$file"
done
exit $failed
