#!/usr/bin/env bash
# Usage: scripts/fuzz.sh [SECONDS] [TARGET...]
# Runs each fuzz target of crates/core/fuzz and of tests/fuzz (or the named ones) for SECONDS (600), from the committed inputs
# and from seeds of hard and real texts, and prints a line for each: the number of inputs and the findings. Needs
# a nightly toolchain and `cargo install cargo-fuzz`; the test data for encode_published; `make`, and a Python with a wheel of
# atheris. A finding fails, and stays in crates/core/fuzz/artifacts.
# TOKSMITH_ROW=o200k limits the target `scan` to that row of the pattern table.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-600}
targets=("${@:2}")
python=$PWD/${PYTHON:-.venv/bin/python}
fuzz=crates/core/fuzz
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target/fuzz}  # out of the way of what reads crates/
export TOKSMITH_TEST_DATA=${TOKSMITH_TEST_DATA:-$(realpath ../shared)}
mapfile -t in_rust < <(cd crates/core && cargo +nightly fuzz list)
mapfile -t in_python < <(PYTHONPATH=tests "$python" -c 'import fuzz; print(*fuzz.TARGETS, sep="\n")')
[ ${#targets[@]} -gt 0 ] || targets=("${in_rust[@]}" "${in_python[@]}")

wanted() { [[ " ${targets[*]} " =~ \ ($(IFS='|'; echo "$*"))\  ]]; }

if wanted "${in_rust[@]}"; then (cd crates/core && cargo +nightly fuzz build); fi
if wanted "${in_python[@]}"; then
    PYTHON=$python bash scripts/venv.sh .venv-fuzz -r tests/requirements-fuzz.txt
    # The packages of .venv, toksmith included, are found from here as well.
    here=$(.venv-fuzz/bin/python -c 'import site; print(site.getsitepackages()[0])')
    there=$("$python" -c 'import site; print(site.getsitepackages()[0])')
    echo "import site; site.addsitedir('$there')" >"$here/toksmith.pth"
fi

failed=()
for target in "${targets[@]}"; do
    corpus=$PWD/$fuzz/corpus/$target seeds=$PWD/$fuzz/seeds/$target artifacts=$PWD/$fuzz/artifacts/$target
    mkdir -p "$corpus" "$artifacts"
    given=(-max_total_time="$seconds" -timeout=60 -print_final_stats=1 -artifact_prefix="$artifacts/")
    log=$(mktemp)
    if [[ " ${in_rust[*]} " == *" $target "* ]]; then
        "$python" scripts/fuzz_seeds.py "$corpus" "$target"
        folders=("$corpus")
        [ ! -d "$seeds" ] || folders+=("$seeds")
        (cd crates/core && cargo +nightly fuzz run "$target" "${folders[@]}" -- "${given[@]}" -max_len=2048 \
            -rss_limit_mb=6000) >"$log" 2>&1 || failed+=("$target")
    else
        "$python" scripts/fuzz_python.py "$target" --seeds "$corpus"
        .venv-fuzz/bin/python scripts/fuzz_python.py "$target" "${given[@]}" -max_len=40000 -rss_limit_mb=4000 \
            "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1 || failed+=("$target")
    fi
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, $(grep -ac ^SUMMARY "$log" || true) findings"
    [[ " ${failed[*]} " != *" $target "* ]] || tail -60 "$log" >&2
    rm "$log"
done
[ ${#failed[@]} -eq 0 ] || { printf 'FAILED: %s\n' "${failed[@]}" >&2; exit 1; }
