#!/usr/bin/env bash
# Usage: NEEDS=JSON scripts/warn.sh FOLDER
# Opens an issue for each job that failed or took too long, or adds a comment to the one that is open. NEEDS is the context `needs` of a workflow:
# {"peers": {"result": "failure"}, …}. FOLDER/peers.md, if the job wrote it, has the failures. It needs `gh` with GH_TOKEN and
# GH_REPO, and jq; RUN_URL is the page of the run.
set -euo pipefail

folder=$1
body=$(mktemp)
trap 'rm -f "$body"' EXIT

jobs=$(jq -r 'to_entries[] | select(.value.result | . == "failure" or . == "cancelled") | .key' <<<"$NEEDS")
for job in $jobs; do
    title="nightly: $job failed"
    {
        echo "The job \`$job\` failed: ${RUN_URL:-see the last run of this workflow}"
        echo
        # An issue has at most 65,536 characters.
        if [ -f "$folder/$job.md" ]; then head -c 60000 "$folder/$job.md"; fi
    } >"$body"
    number=$(gh issue list --state open --search "in:title \"$title\"" --json number,title |
        jq -r --arg title "$title" '[.[] | select(.title == $title).number] | first // empty')
    if [ -n "$number" ]; then
        gh issue comment "$number" --body-file "$body"
    else
        gh issue create --title "$title" --body-file "$body"
    fi
done
