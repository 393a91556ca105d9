#!/usr/bin/env bash
# Usage: scripts/advisories.sh
# Looks for known vulnerabilities in toksmith's dependencies and its developers' tools: the crates of Cargo.lock, the packages
# of .venv (those of the package and of its tests), and the pinned packages of the other environments. It needs .venv (run
# `make check` once) and the network, compiles cargo-deny, runs every check, and exits with 1 if a check finds a vulnerability.
set -uo pipefail
cd "$(dirname "$0")/.."

pinned=(bench/requirements.txt docs/site/requirements.txt scripts/release/requirements.txt scripts/release/requirements-wheels.txt)
failed=0
step() {
    echo "== $*"
    "$@" || failed=1
}

make target/tools/.made >&2 || exit 1
PYTHON=.venv/bin/python bash scripts/venv.sh .venv-advisories -r tests/requirements-advisories.txt >&2 || exit 1
.venv/bin/python -m pip freeze --quiet --disable-pip-version-check --exclude-editable >.venv-advisories/installed.txt || exit 1
export PATH=$PWD/target/tools/bin:$PATH

step cargo deny --locked check advisories
# --strict: a package that cannot be looked up is a failure, not a line in a table.
for file in .venv-advisories/installed.txt "${pinned[@]}"; do
    step .venv-advisories/bin/pip-audit --strict --progress-spinner=off --no-deps --disable-pip --requirement "$file"
done
exit $failed
