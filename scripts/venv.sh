#!/usr/bin/env bash
# Usage: scripts/venv.sh DIR [requirement ...]
# Makes the virtual environment DIR and installs the requirements into it, with uv if available, else with pip.
# PYTHON names the interpreter; without it a working environment is kept, and a new one gets the first Python
# that is new enough. UV= (empty) disables uv.
set -euo pipefail

dir=$1
shift
uv=${UV-$(command -v uv || true)}

stop() {
    echo "toksmith: $1" >&2
    exit 1
}

# Ask the interpreter itself: a launcher on PATH can stand for a version that is not installed.
fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; }
version() { "$1" -c 'import sys; print(sys.base_prefix, sys.version)'; }

find_python() {
    local name
    for name in python3 python python3.14 python3.13 python3.12 python3.11 python3.10; do
        if fits "$name"; then
            command -v "$name"
            return
        fi
    done
    stop "needs Python 3.10 or newer and finds none on PATH; install one, or name one: make PYTHON=/path/to/python"
}

if [ -n "${PYTHON:-}" ]; then
    fits "$PYTHON" || stop "PYTHON=$PYTHON is not a Python 3.10 or newer that runs"
fi
if ! fits "$dir/bin/python" || { [ -n "${PYTHON:-}" ] && [ "$(version "$dir/bin/python")" != "$(version "$PYTHON")" ]; }; then
    python=${PYTHON:-$(find_python)}
    rm -rf "$dir"
    echo "toksmith: making $dir with $("$python" --version)"
    if [ -n "$uv" ]; then
        "$uv" venv --quiet --seed --python "$("$python" -c 'import sys; print(sys.executable)')" "$dir"
    else
        "$python" -m venv "$dir" || stop "$python cannot make environments; install its venv package (python3-venv) or uv"
    fi
fi
# On Windows the folder of programs is Scripts. A junction adds the usual name, which every command uses.
if [ -d "$dir/Scripts" ] && [ ! -e "$dir/bin" ]; then
    powershell -NoProfile -Command "New-Item -ItemType Junction -Path '$dir/bin' -Target '$dir/Scripts' | Out-Null"
fi
if [ $# -gt 0 ]; then
    if [ -n "$uv" ]; then
        "$uv" pip install --quiet --python "$dir/bin/python" "$@"
    else
        "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    fi
fi
