#!/usr/bin/env bash
# Usage: scripts/release/wheel.sh DIR PYTHON...
# Makes DIR anew: a source distribution and, built from it, a wheel for each interpreter. On Linux with glibc, Zig compiles C
# and links, so that a wheel needs no newer glibc than that of manylinux2014, wherever it is built.
set -euo pipefail
cd "$(dirname "$0")/../.."

root=$PWD
out=$root/$1
shift
tools=$root/.venv-release/bin
pythons=()
for python in "$@"; do
    pythons+=(--interpreter "$(realpath -s "$python")")
done
portable=()
if [ "$(uname -s)" = Linux ] && getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
    portable=(--zig --compatibility manylinux2014)
fi

rm -rf "$out" build/source
mkdir -p "$out" build/source
"$tools/maturin" sdist --out "$out"
# -m: gives the files new times, which cargo compares.
tar -xzmf "$out"/toksmith-*.tar.gz -C build/source --strip-components=1
cd build/source
export CARGO_TARGET_DIR=$root/target/wheel CARGO_ZIGBUILD_PYTHON_PATH=$tools/python PATH=$tools:$PATH
# The interpreters are those of the command line.
unset PYO3_PYTHON VIRTUAL_ENV
"$tools/maturin" build --release --strip --locked --out "$out" "${portable[@]}" "${pythons[@]}"
