#!/usr/bin/env bash
# Usage: scripts/release/stable_abi.sh PYTHON [ROUNDS]
# What the stable ABI costs: builds the wheel for PYTHON and a variant for the stable ABI of CPython 3.10, in which the calls
# that this ABI lacks are replaced by those that it has, and measures both by turns, beside them the first with itself.
# docs/architecture/choices.md has the answer. It needs a quiet machine, and .venv-release (make wheel makes it).
set -euo pipefail
cd "$(dirname "$0")/../.."

root=$PWD
python=$(realpath -s "$1")
rounds=${2:-9}
room=$root/build/abi
tools=$root/.venv-release/bin
rm -rf "$room"
mkdir -p "$room/own" "$room/stable"
git archive HEAD | tee >(tar -xm -C "$room/own") | tar -xm -C "$room/stable"
sed -i 's/PyList_SET_ITEM(/PyList_SetItem(/; s/PyList_GET_ITEM(/PyList_GetItem(/' "$room/stable/crates/py/src/objects.rs"
sed -i 's/^pyo3 = .*/pyo3 = { version = "0.30", features = ["abi3-py310"] }/' "$room/stable/crates/py/Cargo.toml"
unset PYO3_PYTHON VIRTUAL_ENV
for each in own stable; do
    (cd "$room/$each" && CARGO_TARGET_DIR=$root/target/abi-$each "$tools/maturin" build --release --strip --locked \
        --out "$room/wheels-$each" --interpreter "$python")
    bash scripts/venv.sh "$room/venv-$each" "$(ls "$room/wheels-$each"/*.whl)"
done
"$room/venv-own/bin/python" scripts/release/stable_abi.py "$rounds" "$room"/venv-{own,own,stable}/bin/python
