#!/usr/bin/env bash
# Usage: scripts/release/notices.sh
# Prints the licences of all crates that are linked into a wheel, on any system, with their texts.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH=$PWD/target/tools/bin:$PATH

cargo about generate --config scripts/release/about.toml --manifest-path crates/py/Cargo.toml --offline --locked --fail \
    scripts/release/notices.hbs
