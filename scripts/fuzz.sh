#!/usr/bin/env bash
# Usage: scripts/fuzz.sh [SECONDS] [TARGET...]
# Runs each fuzz target of crates/core/fuzz (or those named) for that long (600), from seeds of hard and real texts, and
# prints how many texts it tried. Needs a nightly toolchain, `cargo install cargo-fuzz`, and the test data for
# encode_published. A finding fails, and stays in crates/core/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
targets=("${@:2}")
python=${PYTHON:-.venv/bin/python}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/fuzz}  # out of the way of what reads crates/
export TOKSMITH_TEST_DATA=${TOKSMITH_TEST_DATA:-$(realpath ../shared)}
(cd crates/core && cargo +nightly fuzz build)
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(cd crates/core && cargo +nightly fuzz list)
fi

failed=()
for target in "${targets[@]}"; do
    corpus=crates/core/fuzz/corpus/$target
    "$python" scripts/fuzz_seeds.py "$corpus" "$target"
    log=$(mktemp)
    (cd crates/core && cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=2048 -timeout=60 \
        -rss_limit_mb=6000 -print_final_stats=1) >"$log" 2>&1 || failed+=("$target")
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") texts, $(grep -c ^SUMMARY "$log" || true) findings"
    [[ " ${failed[*]} " != *" $target "* ]] || tail -60 "$log" >&2
    rm "$log"
done
[ ${#failed[@]} -eq 0 ] || { printf 'FAILED: %s\n' "${failed[@]}" >&2; exit 1; }
