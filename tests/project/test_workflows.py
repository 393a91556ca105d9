"""The workflows call only goals and scripts that exist, and few jobs can write.

Schemas, zizmor and actionlint check their text (`.github/workflows/ci.yml`).
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from systems import lacking

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = sorted((GITHUB / "actions").glob("*/action.yml"))
# The jobs with write permissions. Every other job can at most read the repository.
MAY_WRITE = {
    ("nightly.yml", "warn"): {"issues"},
    ("release.yml", "attest"): {"attestations", "id-token"},
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "announce"): {"contents"},
    ("site.yml", "publish"): {"contents"},
}


PINNED = re.compile(r"uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)")


def read(path: Path) -> dict[Any, Any]:
    """A file of YAML."""
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job: the name of its file, its own name, and its definition."""
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield path.name, name, job


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Every step of a workflow or an action."""
    content = read(path)
    for part in content["jobs"].values() if "jobs" in content else [content["runs"]]:
        yield from part["steps"]


def commands() -> str:
    """The shell commands of all workflows and actions."""
    return "\n".join(step["run"] for path in (*WORKFLOWS, *ACTIONS) for step in steps(path) if "run" in step)


def test_only_the_jobs_of_the_table_can_write() -> None:
    writes = {}
    for file, name, job in jobs():
        granted = job["permissions"]
        assert {what: how for what, how in granted.items() if how != "write"} in ({}, {"contents": "read"}), (
            file,
            name,
        )
        if found := {what for what, how in granted.items() if how == "write"}:
            writes[file, name] = found
    assert writes == MAY_WRITE


@pytest.mark.slow
def test_every_goal_of_make_exists() -> None:
    called = re.findall(r"^(?:\w+=\S+ )*make(?: -C \S+)?((?: [\w./=-]+)+)", commands(), re.MULTILINE)
    goals = {word for words in called for word in words.split() if "=" not in word}
    assert {"quick", "check", "test", "docs", "bench-quick", "proofs-ci"} <= goals
    make = shutil.which("make")
    if make is None:
        pytest.skip("lacks make")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    # -n prints what would run.
    ran = subprocess.run(
        [make, "-n", *sorted(goals)], cwd=ROOT, env=clean, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert "No rule to make target" not in ran.stderr, ran.stderr
    assert ran.returncode == 0, ran.stderr


def test_every_script_exists() -> None:
    scripts = set(re.findall(r"(?<![\w/])(?:scripts/[\w./-]+\.(?:sh|py|txt)|\.ci/\w+)", commands()))
    assert len(scripts) > 5
    assert [name for name in sorted(scripts) if not (ROOT / name).is_file()] == []
    if not lacking("posix") and (ROOT / ".git").exists():  # a source distribution does not keep this
        programs = [name for name in sorted(scripts) if Path(name).suffix in (".sh", "")]
        assert [name for name in programs if not os.access(ROOT / name, os.X_OK)] == []
    modules = set(re.findall(r"PYTHONPATH=scripts \S+ -m (\S+)", commands()))
    assert "release.collected" in modules
    assert all((ROOT / "scripts" / f"{name.replace('.', '/')}.py").is_file() for name in modules), modules


def test_only_tags_are_published_and_only_with_every_wheel_and_the_source() -> None:
    release = read(GITHUB / "workflows" / "release.yml")["jobs"]

    def before(name: str) -> set[str]:
        needs = set(release[name].get("needs", []))
        return needs.union(*(before(each) for each in needs))

    for name in ("attest", "publish", "announce"):
        assert release[name]["if"] == "github.ref_type == 'tag'"
    assert before("publish") == {"attest", "collect", "notes", "sdist", "wheels"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_nothing_and_runs_once_at_a_time(path: Path) -> None:
    found = read(path)
    assert found["name"] == path.stem
    assert found["permissions"] == {}
    assert "github.workflow" in found["concurrency"]["group"]


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_action_is_pinned_by_a_commit_with_its_version(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r"\s*(- )?uses:", line)]
    assert lines
    for line in lines:
        local = line.strip().removeprefix("- ").removeprefix("uses: ")
        # $/ is this repository at the commit of the workflow.
        own = local.startswith("$/") and (ROOT / local.removeprefix("$/") / "action.yml").is_file()
        assert own or PINNED.search(line), line


def test_no_step_keeps_the_token_and_none_pastes_a_value_into_a_script() -> None:
    for path in (*WORKFLOWS, *ACTIONS):
        for step in steps(path):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}, path.name
            assert "${{" not in step.get("run", ""), (path.name, step["name"])
            assert step["name"], path.name
