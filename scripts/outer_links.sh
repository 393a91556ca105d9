#!/usr/bin/env bash
# Usage: scripts/outer_links.sh < FILE
# Requests each address of the lines, eight at a time, and prints addresses without an answer and removed ones (404, 410). A site
# that refuses programs (401, 403, 429) counts as alive. It exits with 1 if an address is dead. Needs curl and the network.
set -euo pipefail

ask() {
    code=$(curl --silent --location --output /dev/null --write-out '%{http_code}' --max-time 30 --retry 3 --retry-all-errors \
        --user-agent 'Mozilla/5.0 (link check)' "$1" || true)
    case $code in
        000 | 404 | 410 | 5??) echo "$1: ${code/000/no answer}" ;;
    esac
}
export -f ask

asked=$(sort -u)
[ -n "$asked" ] || { echo "toksmith: expected addresses, one a line, and found none" >&2; exit 1; }
dead=$(tr '\n' '\0' <<<"$asked" | xargs -0 -n 1 -P 8 bash -c '[ -z "$1" ] || ask "$1"' _)
echo "$(grep -c . <<<"$asked") addresses, $(grep -c . <<<"$dead" || true) dead"
[ -z "$dead" ] || { echo "$dead"; exit 1; }
