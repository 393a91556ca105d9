#!/usr/bin/env bash
# Usage: scripts/newest_peers.sh [PEER...]
# Compares toksmith with the newest published version of each peer that defines exactness (or the named peers), one at a time:
# the others keep their pinned versions. Prints a table in Markdown with a row for each, then the failing tests. It exits with 1 if
# a peer differs. Needs `make build`, and the network for .venv-newest.
set -euo pipefail
cd "$(dirname "$0")/.."

# A peer, and the test files that compare toksmith with it.
peers='
regex           test_reference test_reference_steps test_core_equals_reference
rustbpe         test_compat_rustbpe test_peer_training
sentencepiece   test_format_sentencepiece test_format_hf_sentencepiece test_compat_sentencepiece test_character_training
tiktoken        test_peer_tiktoken test_compat_tiktoken test_exported
tokenizers      test_hf_load test_hf_steps test_compat_tokenizers test_kinds test_peer_training test_marked_training
transformers    test_fast_class test_chat_transformers test_exported
'
alone=tests/requirements-alone.txt  # what is installed without what it asks for
python=.venv-newest/bin/python
export PIP_DISABLE_PIP_VERSION_CHECK=1

install() { "$python" -m pip install "$@" >&2; }
version() { "$python" -c 'import importlib.metadata as found, sys; print(found.version(sys.argv[1]))' "$1"; }
# Old versions of Python have separate rows.
pins() { grep -hE "^($1)==" tests/requirements.txt "$alone" | grep -v 'python_version <' | cut -d ';' -f 1; }
row() { echo "| $peer | ${pin#*==} | $1 | $2 |"; }

[ -x .venv/bin/python ] || { echo "toksmith: there is no .venv; run: make build" >&2; exit 1; }
PYTHON=.venv/bin/python UV='' bash scripts/venv.sh .venv-newest -r tests/requirements.txt >&2
read -ra few < <(pins 'transformers|safetensors' | xargs)
install --quiet --no-deps "${few[@]}"

failures=$(mktemp) log=$(mktemp)
trap 'rm -f "$failures" "$log"' EXIT
echo '| peer | pinned | newest | result |'
echo '|---|---|---|---|'
while read -r peer files; do
    [ -n "$peer" ] && { [ $# -eq 0 ] || [[ " $* " == *" $peer "* ]]; } || continue
    pin=$(pins "$peer")
    options=(--quiet)
    if grep -q "^$peer==" "$alone"; then options+=(--no-deps); fi
    if ! install --upgrade "${options[@]}" "$peer"; then
        row – 'cannot be installed' | tee -a "$failures"
        continue
    fi
    newest=$(version "$peer")
    if [ "$newest" = "${pin#*==}" ]; then
        row "$newest" 'is the pinned version'
        continue
    fi
    # A warning of a newer version is not a difference.
    code=0
    read -ra names <<<"$files"
    names=("${names[@]/#/tests/}")
    PYTHONPATH=python "$python" -m pytest -q -p no:cacheprovider -W default --tb=line --numprocesses=auto --dist=loadfile \
        "${names[@]/%/.py}" >"$log" 2>&1 </dev/null || code=$?
    counts=$(tail -n 1 "$log")
    if [ "$code" -eq 0 ] && [[ "$counts" =~ [0-9]+\ passed ]]; then
        row "$newest" "the same ids: $counts"
    else
        row "$newest" "differs: $counts"
        { echo; echo "$peer $newest:"; grep -aE '^(FAILED|ERROR) ' "$log" || tail -n 20 "$log"; } >>"$failures"
    fi
    install "${options[@]}" "$pin"
done <<<"$peers"

[ ! -s "$failures" ] || { echo; echo '```text'; cat "$failures"; echo '```'; exit 1; }
