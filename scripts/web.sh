#!/usr/bin/env bash
# Usage: [PYTHON=PYTHON] scripts/web.sh [FOLDER]
# Builds two WebAssembly modules and writes them, with the ES module around them, into FOLDER: a small one without a regex
# engine, which pages load, and a full one for patterns that have no scanner. FOLDER/classic has the same for pages that are
# opened as files. PYTHON has the package toksmith. Without FOLDER it only fails if a tool is missing.
# Uses Rust's target wasm32-unknown-unknown if it is installed, else compiles the standard library with Debian's toolchain.
set -euo pipefail

target=wasm32-unknown-unknown
build=(--package toksmith-web --profile web --target $target)
need() {
    echo "toksmith: make web needs $1" >&2
    exit 1
}
if [ -d "$(rustc --print target-libdir --target $target 2>/dev/null || true)" ]; then
    cargo=(cargo build "${build[@]}")
elif [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust/library ] && command -v wasm-ld-19 >/dev/null; then
    # Cargo allows this on a release only with the first variable.
    cargo=(env RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19
        /usr/bin/cargo build -Zbuild-std=std,panic_abort "${build[@]}")
else
    need "Rust's target $target: rustup target add $target, or apt-get install rustc-web cargo-web rust-web-src lld-19"
fi
command -v wasm-opt >/dev/null || need "wasm-opt: apt-get install binaryen"
[ $# -gt 0 ] || exit 0

folder=$1
rm -rf "$folder"
mkdir -p "$folder/classic"
make_module() {
    local name=$1
    shift
    CARGO_TARGET_DIR=target/web "${cargo[@]}" "$@"
    wasm-opt -O3 --all-features --strip-debug --strip-producers -o "$folder/$name.wasm" \
        "target/web/$target/web/toksmith_web.wasm"
    echo "$name.wasm: $(wc -c <"$folder/$name.wasm") bytes, $(gzip -9 <"$folder/$name.wasm" | wc -c) with gzip"
}
make_module toksmith --no-default-features
# Regexes take most of the time of the full module, so that the rest can be small.
make_module toksmith-full --config 'profile.web.package.toksmith-core.opt-level="z"'
cp -r crates/web/js/. LICENSE NOTICES.txt "$folder"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
sed "s/@VERSION@/$version/" crates/web/js/package.json >"$folder/package.json"
"${PYTHON:-python3}" scripts/classic_js.py "$folder" "$folder/classic"
