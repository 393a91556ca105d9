#!/usr/bin/env bash
# Usage: scripts/release/notes.sh [TAG]
# Prints the section of CHANGELOG.md for the version in Cargo.toml, for the page of the release. With a TAG, which must be that version
# (v0.2.0), the section must have its date. With REPOSITORY, its URL, links to files lead to their state at the tag.
set -euo pipefail
cd "$(dirname "$0")/../.."

tag=${1:-}
version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
notes=$(awk -v head="## [$version]" 'index($0, "## ") == 1 { inside = index($0, head) == 1; next } inside' CHANGELOG.md)

if [ -n "$tag" ] && [ "$tag" != "v$version" ]; then
    echo "toksmith: the tag is $tag, and Cargo.toml has $version; expected the tag v$version (make bump VERSION=…)" >&2
    exit 1
fi
if [ -z "${notes//[[:space:]]/}" ]; then
    echo "toksmith: CHANGELOG.md says nothing of $version; expected a section '## [$version] - DATE' (make bump VERSION=…)" >&2
    exit 1
fi
if [ -n "$tag" ] && ! grep -qE "^## \[${version//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md; then
    echo "toksmith: the section of $version in CHANGELOG.md has no date; expected '## [$version] - 2026-01-31'" >&2
    exit 1
fi
if [ -n "$tag" ] && [ -n "${REPOSITORY:-}" ]; then
    # A link to a file has no colon, and does not begin with #.
    notes=$(sed -E "s|\]\(([^#:)][^:)]*)\)|](${REPOSITORY}/blob/${tag}/\1)|g" <<<"$notes")
fi
echo "$notes"
