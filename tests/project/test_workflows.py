"""The workflows: what they call is there, actions are pinned, a job may do little, and they agree with the package.

Their schemas, zizmor and actionlint run in the workflow itself (`.github/workflows/ci.yml`).
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from release.collected import LEFT_OUT, SYSTEMS, TAGS
from systems import lacking

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = sorted((GITHUB / "actions").glob("*/action.yml"))
# The jobs that may write, and what. Every other job may read the repository at most.
MAY_WRITE = {
    ("nightly.yml", "warn"): {"issues"},
    ("release.yml", "attest"): {"attestations", "id-token"},
    ("release.yml", "publish"): {"id-token"},
    ("release.yml", "announce"): {"contents"},
    ("site.yml", "publish"): {"contents"},
}
PINNED = re.compile(r"uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # (?P<version>v\d+\.\d+\.\d+)")
FREE_THREADED = "3.14t"  # the one version without a classifier of its own


def read(path: Path) -> dict[Any, Any]:
    """A file of YAML."""
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job: the name of its file, its own, and what it says."""
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield path.name, name, job


def steps(path: Path) -> Iterator[dict[str, Any]]:
    """Every step of a workflow or an action."""
    found = read(path)
    for part in found["jobs"].values() if "jobs" in found else [found["runs"]]:
        yield from part["steps"]


def commands() -> str:
    """All that workflows and actions run in a shell."""
    return "\n".join(step["run"] for path in (*WORKFLOWS, *ACTIONS) for step in steps(path) if "run" in step)


def matrix(workflow: str, job: str) -> list[dict[str, str]]:
    """The rows of a job's matrix."""
    rows: list[dict[str, str]] = read(GITHUB / "workflows" / workflow)["jobs"][job]["strategy"]["matrix"]["include"]
    return rows


def settings() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_workflows_are_those_of_the_documents() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml", "site.yml"]
    assert [path.parent.name for path in ACTIONS] == ["setup"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_nothing_and_runs_once_at_a_time(path: Path) -> None:
    found = read(path)
    assert found["name"] == path.stem
    assert found["permissions"] == {}
    assert "github.workflow" in found["concurrency"]["group"]


def test_only_the_jobs_of_the_table_may_write() -> None:
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


def test_a_job_ends_and_names_its_machine() -> None:
    for file, name, job in jobs():
        assert 0 < job["timeout-minutes"] < 360, (file, name)
        machines = [job["runs-on"]]
        if machines == ["${{ matrix.runner }}"]:
            machines = [row["runner"] for row in job["strategy"]["matrix"]["include"]]
        assert all(re.fullmatch(r"(ubuntu|macos|windows)-\d[\w.-]*", each) for each in machines), (file, name, machines)


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_action_is_pinned_by_a_commit_with_its_version(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if re.match(r"\s*(- )?uses:", line)]
    assert lines
    for line in lines:
        local = line.strip().removeprefix("- ").removeprefix("uses: ")
        # $/ is this repository at the commit of the workflow.
        own = local.startswith("$/") and (ROOT / local.removeprefix("$/") / "action.yml").is_file()
        assert own or PINNED.search(line), line


def test_an_action_has_one_version_everywhere() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (*WORKFLOWS, *ACTIONS))
    found = {match.group("action", "commit", "version") for match in PINNED.finditer(text)}
    assert len(found) == len({action for action, _, _ in found}) == len({commit for _, commit, _ in found}) >= 6


def test_no_step_keeps_the_token_and_none_pastes_a_value_into_a_script() -> None:
    for path in (*WORKFLOWS, *ACTIONS):
        for step in steps(path):
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}, path.name
            assert "${{" not in step.get("run", ""), (path.name, step["name"])
            assert step["name"], path.name


def test_every_goal_of_make_is_there() -> None:
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


def test_every_script_is_there() -> None:
    scripts = set(re.findall(r"(?<![\w/])(?:scripts/[\w./-]+\.(?:sh|py|txt)|\.ci/\w+)", commands()))
    assert len(scripts) > 5
    assert [name for name in sorted(scripts) if not (ROOT / name).is_file()] == []
    if not lacking("posix") and (ROOT / ".git").exists():  # a source distribution does not keep this
        programs = [name for name in sorted(scripts) if Path(name).suffix in (".sh", "")]
        assert [name for name in programs if not os.access(ROOT / name, os.X_OK)] == []
    modules = set(re.findall(r"PYTHONPATH=scripts \S+ -m (\S+)", commands()))
    assert {"docs_site.dead_links", "release.collected"} <= modules
    assert all((ROOT / "scripts" / f"{name.replace('.', '/')}.py").is_file() for name in modules), modules


def test_every_version_of_python_is_tested_and_released() -> None:
    classifiers = settings()["project"]["classifiers"]
    told = {name.rpartition(" ")[2] for name in classifiers if re.search(r":: 3\.\d+$", name)}
    tested = {row["python"] for job in ("quick", "whole") for row in matrix("ci.yml", job)}
    assert tested == told | {FREE_THREADED}
    assert settings()["project"]["requires-python"] == f">={min(told, key=lambda name: int(name[2:]))}"
    released = {f"3.{minor}{free}" for minor, free in (re.findall(r"-cp3(\d+)(t?)$", tag)[0] for tag in TAGS)}
    assert released == tested
    built = settings()["tool"]["cibuildwheel"]["build"].split()
    assert {name.removesuffix("-*") for name in built} == {f"cp{name.replace('.', '')}" for name in tested}
    (skipped,) = [
        step["env"]["CIBW_SKIP"]
        for step in steps(GITHUB / "workflows" / "release.yml")
        if "cibuildwheel" in step.get("run", "")
    ]
    assert {f"{tag}-{place}" for tag, _, place in (name.partition("-") for name in skipped.split())} == {
        re.sub(r"^(cp\d+)-cp\d+t?-", r"\1-", name) for name in LEFT_OUT
    }


def test_every_system_is_tested_and_released() -> None:
    tested = {row["system"]: row["runner"] for row in matrix("ci.yml", "quick")}
    assert tested == {row["system"]: row["runner"] for row in matrix("release.yml", "wheels")}
    assert tested.keys() == SYSTEMS.keys()
    assert {row["system"]: row["runner"] for row in matrix("ci.yml", "whole")}.items() <= tested.items()


def test_ci_runs_on_every_push_and_release_publishes_tags_only() -> None:
    ci, release = (read(GITHUB / "workflows" / name) for name in ("ci.yml", "release.yml"))
    assert ci[True] == {"push": {"branches": ["**"]}, "pull_request": None}  # YAML reads the key `on` as true
    assert release[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}
    for name in ("attest", "publish", "announce"):
        assert release["jobs"][name]["if"] == "github.ref_type == 'tag'"
    assert release["jobs"]["publish"]["environment"]["name"] == "pypi"
    assert "cache" not in {
        word for step in steps(GITHUB / "workflows" / "release.yml") for word in step.get("with", {})
    }


def test_publishing_waits_for_every_wheel_and_the_source() -> None:
    found = read(GITHUB / "workflows" / "release.yml")["jobs"]

    def before(name: str) -> set[str]:
        needs = set(found[name].get("needs", []))
        return needs.union(*(before(each) for each in needs))

    assert before("publish") == {"attest", "collect", "notes", "sdist", "wheels"}


def test_pull_requests_for_new_versions_look_into_every_folder_of_pins() -> None:
    (pip,) = [row for row in read(GITHUB / "dependabot.yml")["updates"] if row["package-ecosystem"] == "pip"]
    found = {*ROOT.glob("*/*requirements*.txt"), *ROOT.glob("*/*/*requirements*.txt")}
    folders = {path.parent.relative_to(ROOT) for path in found}
    made = {
        folder
        for folder in folders
        if folder.parts[0].startswith(".") or folder.parts[0] in ("build", "dist", "target")
    }
    assert {f"/{folder.as_posix()}" for folder in folders - made} == {*pip["directories"]}


def test_the_hooks_of_pre_commit_are_the_checks_of_make() -> None:
    hooks = read(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    checks = re.findall(r"^step (.*)", (ROOT / "scripts" / "check.sh").read_text(encoding="utf-8"), re.MULTILINE)
    entries = {hook["id"]: hook["entry"] for hook in hooks}
    assert entries.pop("check") == "make check"
    for name, entry in entries.items():
        match = re.fullmatch(r"env ONLY=(\w+) scripts/check\.sh \.venv/bin/python", entry)
        assert match, name
        assert any(match[1] in check for check in checks), name


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem)
def test_a_form_asks_for_each_thing_once(path: Path) -> None:
    found = read(path)
    assert found["name"] and found["description"] and found["labels"]
    asked = [part["id"] for part in found["body"] if part["type"] != "markdown"]
    assert len(asked) == len({*asked}) >= 3
    assert any(part.get("validations", {}).get("required") for part in found["body"])
