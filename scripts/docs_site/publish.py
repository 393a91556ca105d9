"""Usage: python -m docs_site.publish SITE VERSION [--branch NAME]: commits the built site to the branch as a version.

The branch holds each version in a separate folder, the newest release also in `latest/`, `versions.json` for the list
of versions in the header, and a first page that redirects to `latest/`: the layout of mike, which builds with MkDocs
only. An existing version is replaced. The work tree and the index of the repository are not touched, and nothing is
pushed. Hosting is not part of this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .pages import ROOT

__all__ = ["publish"]

LATEST = "latest"
FIRST_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>toksmith</title>
<link rel="icon" href="latest/assets/favicon.svg">
<meta http-equiv="refresh" content="0; url=latest/">
<a href="latest/">The documentation of toksmith</a>
</html>
"""


def git(*words: str, repository: Path, **environment: str) -> str:
    """The output of a git command, without the last line end.

    Raises:
        SystemExit: The command failed; the message has its error output.
    """
    ran = subprocess.run(
        ["git", *words],
        check=False,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=repository,
        env={**os.environ, **environment},
    )
    if ran.returncode:
        raise SystemExit(f"git {words[0]} failed: {ran.stderr.strip()}")
    return ran.stdout.strip()


def publish(site: Path, version: str, branch: str, repository: Path = ROOT) -> str:
    """Commit `site` as `version` on `branch`, which is created if needed; return the commit."""
    exists = git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}", repository=repository)
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "tree"
        folder.mkdir()
        variables = {"GIT_INDEX_FILE": str(Path(room) / "index"), "GIT_WORK_TREE": str(folder)}
        variables["GIT_DIR"] = git("rev-parse", "--absolute-git-dir", repository=repository)
        if exists:
            git("read-tree", exists, repository=folder, **variables)
            git("checkout-index", "--all", repository=folder, **variables)
        write_version(folder, site, version)
        git("add", "--all", "--force", ".", repository=folder, **variables)
        tree = git("write-tree", repository=folder, **variables)
    parents = ["-p", exists] if exists else []
    commit = git("commit-tree", tree, *parents, "-m", f"docs: version {version}", repository=repository)
    git("update-ref", f"refs/heads/{branch}", commit, exists or "0" * len(commit), repository=repository)
    return commit


def write_version(folder: Path, site: Path, version: str) -> None:
    """Write a version into the folder of all versions."""
    index = folder / "versions.json"
    rows = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    names = sorted({version, *(row["version"] for row in rows)}, key=version_key, reverse=True)
    replace(folder / version, site)
    replace(folder / LATEST, folder / names[0])
    entries = [{"version": name, "title": name, "aliases": [LATEST] if name == names[0] else []} for name in names]
    index.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    (folder / ".nojekyll").touch()  # a host with Jekyll must keep names with an underscore


def replace(target: Path, source: Path) -> None:
    """Replace a folder with a copy of another."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def version_key(version: str) -> list[int]:
    """The numbers of a version for comparison: 0.10 is newer than 0.9."""
    return [int(number) for number in version.split(".")]


def main() -> None:
    """Publish, and print the next step."""
    parser = argparse.ArgumentParser(description="Commit the built site as a version of a branch.")
    parser.add_argument("site", type=Path, help="the built site")
    parser.add_argument("version", help="the version, such as 0.2")
    parser.add_argument("--branch", default="gh-pages", help="the branch of all versions")
    options = parser.parse_args()
    if not re.fullmatch(r"\d+(\.\d+)*", options.version):
        raise SystemExit(f"VERSION: expected numbers and dots, such as 0.2, not {options.version!r}")
    if not (options.site / "index.html").is_file():
        raise SystemExit(f"{options.site} has no index.html; run: make docs")
    commit = publish(options.site, options.version, options.branch)
    print(
        f"{options.branch} has version {options.version} in commit {commit[:12]}; publish it with: git push REMOTE {options.branch}"
    )


if __name__ == "__main__":
    main()
