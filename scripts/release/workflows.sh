#!/usr/bin/env bash
# Usage: scripts/release/workflows.sh
# Checks .github/ without the network: the published schemas of workflows, actions and Dependabot, then zizmor, which looks
# for security problems.
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PWD/.venv-release/bin:$PATH

some() { compgen -G "$1" >/dev/null; }

some '.github/workflows/*.yml' || { echo "there is no .github/workflows/*.yml" >&2; exit 1; }
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
if some '.github/actions/*/action.yml'; then
    check-jsonschema --builtin-schema vendor.github-actions .github/actions/*/action.yml
fi
if some '.github/dependabot.yml'; then
    check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
fi
zizmor --offline --pedantic --no-progress .github
