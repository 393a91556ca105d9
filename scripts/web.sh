#!/usr/bin/env bash
# Usage: scripts/web.sh FOLDER
# Builds two WebAssembly modules and writes them, with the ES module around them, into FOLDER: a small one without a regex
# engine, which pages load, and a full one for patterns that have no scanner.
# Uses Rust's target wasm32-unknown-unknown if it is installed, else compiles the standard library with Debian's toolchain.
set -euo pipefail

folder=$1
target=wasm32-unknown-unknown
build=(--package toksmith-web --profile web --target $target)
if [ -d "$(rustc --print target-libdir --target $target 2>/dev/null || true)" ]; then
    cargo=(cargo build "${build[@]}")
elif [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust/library ] && command -v wasm-ld-19 >/dev/null; then
    # Cargo allows this on a release only with the first variable.
    cargo=(env RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19
        /usr/bin/cargo build -Zbuild-std=std,panic_abort "${build[@]}")
else
    echo "toksmith: make web needs Rust's target $target; install it with: rustup target add $target" >&2
    echo "  or, on Debian: apt-get install rustc-web cargo-web rust-web-src lld-19" >&2
    exit 1
fi
command -v wasm-opt >/dev/null || { echo "toksmith: make web needs wasm-opt; install binaryen" >&2; exit 1; }

mkdir -p "$folder"
make_module() {
    local name=$1
    shift
    CARGO_TARGET_DIR=target/web "${cargo[@]}" "$@"
    wasm-opt -O3 --all-features --strip-debug --strip-producers -o "$folder/$name.wasm" \
        "target/web/$target/web/toksmith_web.wasm"
    echo "$name.wasm: $(wc -c <"$folder/$name.wasm") bytes, $(gzip -9 <"$folder/$name.wasm" | wc -c) with gzip"
}
make_module toksmith --no-default-features
make_module toksmith-full
cp crates/web/js/*.js crates/web/js/*.ts crates/web/js/README.md LICENSE NOTICES.txt "$folder"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
sed "s/@VERSION@/$version/" crates/web/js/package.json >"$folder/package.json"
