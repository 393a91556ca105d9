"""The scripts of the workflows: complete releases, their notes, and issues of failed nightly jobs.

Programs that need the network (`gh`) have a stand-in here, which logs its arguments.
"""

import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from release.collected import expected, problems, sbom
from systems import needs

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
PLATFORMS = {
    "manylinux_x86_64": "manylinux_2_28_x86_64",
    "manylinux_aarch64": "manylinux2014_aarch64.manylinux_2_17_aarch64",
    "musllinux_x86_64": "musllinux_1_2_x86_64",
    "musllinux_aarch64": "musllinux_1_2_aarch64",
    "macosx_arm64": "macosx_11_0_arm64",
    "macosx_x86_64": "macosx_10_12_x86_64",
}
RELEASE = [
    "toksmith-0.2.0.tar.gz",
    *(
        f"toksmith-0.2.0-{tag}-{PLATFORMS.get(place, place)}.whl"
        for tag, _, place in (each.rpartition("-") for each in expected())
    ),
]
shell = needs("posix")  # the workflow runs these on Linux


def run(
    *command: object, path: Path | None = None, text: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program, with a folder of stand-ins before all others."""
    found = os.environ["PATH"]
    env = {**os.environ, **environment, "PATH": f"{path}{os.pathsep}{found}" if path else found}
    # An unpacked source distribution does not keep the executable bits.
    words = [*(["bash"] if str(command[0]).endswith(".sh") else []), *map(str, command)]
    return subprocess.run(words, env=env, input=text, capture_output=True, text=True, check=False, encoding="utf-8")


def stand_in(folder: Path, name: str, lines: str) -> None:
    """Writes a shell program with that name."""
    program = folder / name
    program.write_text(f"#!/usr/bin/env bash\n{lines}\n", encoding="utf-8")
    program.chmod(0o755)


def release_folder(root: Path, changes: str) -> Path:
    """The scripts of a project with that changelog."""
    folder = root / "scripts" / "release"
    folder.mkdir(parents=True)
    shutil.copy(SCRIPTS / "release" / "notes.sh", folder)
    cargo = '[workspace.package]\nversion = "1.2.3"\nedition = "2024"\n\n[dependencies.other]\nversion = "9"\n'
    (root / "Cargo.toml").write_text(cargo, encoding="utf-8")
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n{changes}", encoding="utf-8")
    return folder


def test_a_complete_release_has_no_problem() -> None:
    assert len(RELEASE) == 48
    assert [*problems(RELEASE)] == []


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (RELEASE[1:], "expected one source distribution, found 0"),
        ([*RELEASE, "toksmith-0.2.1.tar.gz"], "expected files of one version, found 0.2.0, 0.2.1"),
        ([*RELEASE, "notes.md"], "notes.md: expected a wheel"),
        ([*RELEASE, "toksmith-0.2.0-cp39-cp39-win_amd64.whl"], "cp39-cp39-win_amd64: no release has this wheel"),
        (
            [*RELEASE, "toksmith-0.2.0-cp314-cp314t-manylinux_2_17_x86_64.whl"],
            "cp314-cp314t-manylinux_x86_64: expected one wheel, found 2",
        ),
        (
            [name for name in RELEASE if "cp313-cp313-musllinux_1_2_aarch64" not in name],
            "cp313-cp313-musllinux_aarch64: expected a wheel, found none",
        ),
    ],
)
def test_the_problem_of_an_incomplete_release_is_named(names: list[str], said: str) -> None:
    assert said in "\n".join(problems(names))


def test_the_list_of_crates_comes_from_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "toksmith-0.2.0-cp313-cp313-win_amd64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toksmith-0.2.0.dist-info/sboms/toksmith-py.cyclonedx.json", "{}")
        archive.writestr("toksmith/other.json", "[]")
    assert sbom(wheel) == b"{}"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toksmith/other.json", "[]")
    with pytest.raises(SystemExit, match=r"one list of crates \(CycloneDX\), found 0"):
        sbom(wheel)


@shell
@pytest.mark.parametrize(
    ("changes", "tag", "said"),
    [
        ("## [1.2.3] - 2026-01-31\n\nNew.\n\n## [1.2.2] - 2026-01-01\n\nOld.\n", "v1.2.3", "New."),
        ("## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n\nNew.\n", "", "New."),
        ("## [1.2.3] - 2026-01-31\n\nNew.\n", "v1.2.4", "the tag is v1.2.4, and Cargo.toml has 1.2.3"),
        ("## [1.2.30] - 2026-01-31\n\nOther.\n", "v1.2.3", "CHANGELOG.md says nothing of 1.2.3"),
        (
            "## [1.2.3] - 2026-01-31\n\n## [1.2.2] - 2026-01-01\n\nOld.\n",
            "v1.2.3",
            "CHANGELOG.md says nothing of 1.2.3",
        ),
        ("## [1.2.3]\n\nNew.\n", "v1.2.3", "has no date"),
    ],
)
def test_notes_are_the_section_of_the_version(changes: str, tag: str, said: str, tmp_path: Path) -> None:
    folder = release_folder(tmp_path, changes)
    ran = run(folder / "notes.sh", tag)
    if said == "New.":
        assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, said, "")
    else:
        assert (ran.returncode, ran.stdout) == (1, "")
        assert said in ran.stderr


@shell
def test_links_of_notes_lead_to_the_tag(tmp_path: Path) -> None:
    folder = release_folder(
        tmp_path, "## [1.2.3] - 2026-01-31\n\n[a](docs/a.md#b), [c](https://c.invalid/d), [e](#f)\n"
    )
    expected = "[a](https://x.invalid/toksmith/blob/v1.2.3/docs/a.md#b), [c](https://c.invalid/d), [e](#f)"
    ran = run(folder / "notes.sh", "v1.2.3", REPOSITORY="https://x.invalid/toksmith")
    assert (ran.returncode, ran.stdout.strip()) == (0, expected), ran.stderr


@pytest.mark.slow
@shell
def test_the_changelog_has_notes_for_the_version_now() -> None:
    assert "Ids change" in run(SCRIPTS / "release" / "notes.sh").stdout


@shell
@pytest.mark.skipif(shutil.which("jq") is None, reason="lacks jq")
def test_a_failed_job_gets_one_issue(tmp_path: Path) -> None:
    issues = [{"number": 7, "title": "nightly: peers failed"}, {"number": 8, "title": "nightly: peers failed twice"}]
    log, reports = tmp_path / "log", tmp_path / "reports"
    reports.mkdir()
    (reports / "peers.md").write_text("tokenizers differs\n", encoding="utf-8")
    lines = f"""
        printf '%s|' "$@" >>'{log}'
        case "$1 $2" in
            'issue list') echo '{json.dumps(issues)}' ;;
            *) cat "${{@: -1}}" >>'{log}' ;;
        esac
        echo >>'{log}'"""
    stand_in(tmp_path, "gh", lines)
    results = {"peers": "failure", "fuzz": "success", "proofs": "cancelled", "benchmark": "skipped"}
    needs = json.dumps({name: {"result": result} for name, result in results.items()})
    ran = run(SCRIPTS / "warn.sh", reports, path=tmp_path, NEEDS=needs, RUN_URL="https://run.invalid/1")
    assert ran.returncode == 0, ran.stderr
    written = log.read_text(encoding="utf-8")
    assert re.findall(r"^issue (?:comment|create)[^/]*", written.replace("|", " "), re.MULTILINE) == [
        "issue comment 7 --body-file ",
        "issue create --title nightly: proofs failed --body-file ",
    ]
    assert written.count("tokenizers differs") == 1
    assert written.count("https://run.invalid/1") == 2
