#!/usr/bin/env bash
# Usage: scripts/try_wheel.sh DIR
# Installs the wheels of DIR, each for its interpreter, as a user does: in a fresh folder, with an empty home directory and
# only the package sources of the caller's environment. Then scripts/try_installed.py tests it there.
# PYTHON runs scripts/release/interpreters.py, which finds the interpreters.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(realpath "$1")
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
missing=()
tried=0
from=()
for name in "${!PIP_@}" "${!SSL_@}"; do
    from+=("$name=${!name}")
done

while read -r python tags; do
    wheel=$(compgen -G "$dir/toksmith-*-$tags-*.whl" || true)
    if [ -z "$wheel" ]; then
        missing+=("$tags")
        continue
    fi
    own=$room/$tags
    mkdir -p "$own/home" "$own/work"
    clean=(env -i HOME="$own/home" LANG=C.UTF-8 "PATH=$own/venv/bin:/usr/bin:/bin" "${from[@]}")
    "${clean[@]}" "$python" -m venv "$own/venv"
    "${clean[@]}" "$own/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
    echo "$(basename "$wheel") in $("$own/venv/bin/python" -VV)"
    (cd "$own/work" && "${clean[@]}" "$own/venv/bin/python" -I "$OLDPWD/scripts/try_installed.py")
    rm -rf "$own"
    tried=$((tried + 1))
done < <(PYTHONPATH=scripts "${PYTHON:-python3}" -m release.interpreters)

[ ${#missing[@]} -eq 0 ] || { echo "no wheel in $dir for: ${missing[*]}" >&2; exit 1; }
[ "$tried" -gt 0 ] || { echo "no interpreter was found to try a wheel in" >&2; exit 1; }
