#!/usr/bin/env bash
# Usage: scripts/bench_before.sh COMMIT
# Builds that commit of toksmith into a separate environment and prints its interpreter, for `python -m bench --before`.
set -euo pipefail
cd "$(dirname "$0")/.."

commit=$(git rev-parse --short=12 "$1^{commit}")
dir=$PWD/.venv-before-$commit
if [ ! -e "$dir/.made" ]; then
    source=$(mktemp -d)
    trap 'rm -rf "$source"' EXIT
    git archive "$commit" | tar -x -C "$source"
    CARGO_TARGET_DIR=$PWD/target/before .venv/bin/maturin build --release --strip --interpreter .venv/bin/python \
        --manifest-path "$source/crates/py/Cargo.toml" --out "$source/dist" 1>&2
    bash scripts/venv.sh "$dir" "$(ls "$source"/dist/*.whl)[sentencepiece]" 1>&2
    touch "$dir/.made"
fi
echo "$dir/bin/python"
