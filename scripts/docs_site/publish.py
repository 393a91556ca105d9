"""Usage: python -m docs_site.publish SITE VERSION [--branch NAME]: commits the built site as a version of the branch.

The branch holds each version in a folder of its own, the newest release once more in `latest/`, `versions.json` for the
list of versions in the header, and a first page that leads to `latest/`: the layout of mike, which builds with MkDocs only.
A version that is there already is replaced. The work tree and the index of the repository are not touched, and nothing is
pushed. Left out: hosting.
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
    """What a git command prints, without the line's end.

    Raises:
        SystemExit: The command failed; its own words say why.
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
    """Commit `site` as `version` on `branch`, which is made if it is not there; returns the commit."""
    known = git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}", repository=repository)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "tree"
        folder.mkdir()
        own = {"GIT_INDEX_FILE": str(Path(made) / "index"), "GIT_WORK_TREE": str(folder)}
        own["GIT_DIR"] = git("rev-parse", "--absolute-git-dir", repository=repository)
        if known:
            git("read-tree", known, repository=folder, **own)
            git("checkout-index", "--all", repository=folder, **own)
        write_version(folder, site, version)
        git("add", "--all", "--force", ".", repository=folder, **own)
        tree = git("write-tree", repository=folder, **own)
    parents = ["-p", known] if known else []
    commit = git("commit-tree", tree, *parents, "-m", f"docs: version {version}", repository=repository)
    git("update-ref", f"refs/heads/{branch}", commit, known or "0" * len(commit), repository=repository)
    return commit


def write_version(folder: Path, site: Path, version: str) -> None:
    """Put a version into the folder of all versions."""
    index = folder / "versions.json"
    rows = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    names = sorted({version, *(row["version"] for row in rows)}, key=order, reverse=True)
    replace(folder / version, site)
    replace(folder / LATEST, folder / names[0])
    told = [{"version": name, "title": name, "aliases": [LATEST] if name == names[0] else []} for name in names]
    index.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(FIRST_PAGE, encoding="utf-8")
    (folder / ".nojekyll").touch()  # a host that runs Jekyll must leave names with an underscore alone


def replace(target: Path, source: Path) -> None:
    """Make a folder the copy of another."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def order(version: str) -> list[int]:
    """The numbers of a version, to compare: 0.10 is newer than 0.9."""
    return [int(number) for number in version.split(".")]


def main() -> None:
    """Publish, and say what to do next."""
    parser = argparse.ArgumentParser(description="Commit the built site as a version of a branch.")
    parser.add_argument("site", type=Path, help="the built site")
    parser.add_argument("version", help="the version, such as 0.2")
    parser.add_argument("--branch", default="gh-pages", help="the branch of all versions")
    given = parser.parse_args()
    if not re.fullmatch(r"\d+(\.\d+)*", given.version):
        raise SystemExit(f"VERSION: expected numbers and dots, such as 0.2, not {given.version!r}")
    if not (given.site / "index.html").is_file():
        raise SystemExit(f"{given.site} has no index.html; run: make docs")
    commit = publish(given.site, given.version, given.branch)
    print(
        f"{given.branch} has version {given.version} in commit {commit[:12]}; publish it with: git push REMOTE {given.branch}"
    )


if __name__ == "__main__":
    main()
