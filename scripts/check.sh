#!/usr/bin/env bash
# Usage: scripts/check.sh PYTHON
# Runs every check of style and types. All of them run, so that one report lists everything to fix.
# ONLY=clippy runs the checks whose command has this word in it; `make check ONLY=clippy` passes it on.
set -uo pipefail

python=$1
failed=()
ran=0
# Tests pass wrong values on purpose, and use peers without types.
loose=(--allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-untyped-decorators
    --no-warn-return-any --no-warn-unused-ignores --no-strict-equality
    --disable-error-code=arg-type --disable-error-code=import-untyped --disable-error-code=var-annotated
    --disable-error-code=union-attr --disable-error-code=operator --disable-error-code=dict-item --implicit-reexport)

step() {
    [[ "$*" == *"${ONLY:-}"* ]] || return 0
    ran=$((ran + 1))
    echo "== $*"
    "$@" || failed+=("$*")
}

step "$python" -m ruff check
step "$python" -m ruff format --check
step "$python" -m mypy
step "$python" -m mypy "${loose[@]}" tests
step "$python" -m mypy.stubtest toksmith._core --mypy-config-file pyproject.toml --allowlist scripts/stubtest_allow.txt
step cargo fmt --check
# A macro names these files, so cargo does not find them.
step rustfmt --check --edition 2024 $(find crates -path '*/scan/rows/*.rs')
step cargo clippy --quiet --workspace --all-targets -- -D warnings
# Without C code.
step cargo clippy --quiet --package toksmith-core --no-default-features -- -D warnings
step env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --package toksmith-core

if [ $ran -eq 0 ]; then
    echo "toksmith: no check has '$ONLY' in its command; expected a word such as ruff, mypy or clippy" >&2
    exit 1
fi
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "all checks pass"
