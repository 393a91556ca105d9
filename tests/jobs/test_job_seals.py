"""`verify` finds every changed byte of a finished folder and names the file."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import TOK, content, job
from systems import needs

import toksmith
from toksmith import ToksmithError
from toksmith._cli import app
from toksmith.errors import JobError

BIG = {"shard_size": 1 << 20}
KINDS: dict[str, dict[str, Any]] = {
    "npy": {"sources": True, "errors": "quarantine"},
    "nanogpt": {"to": "nanogpt"},
    "hf": {"to": "hf"},
    "shuffled": {"to": "megatron", "shuffle": 5},
}


def finished(folder: Path, kind: str) -> Path:
    """The folder of a finished job."""
    if kind == "counts":
        (folder / "in").mkdir()
        (folder / "in" / "a.jsonl").write_bytes(b'{"text": "low lower"}\n' * 9)
        done = toksmith.corpus.plan_counts(folder / "in", folder / "out", shard_size=60)
    else:
        done = job(folder, **KINDS["npy" if kind == "merged" else kind])
    done.run(progress=False)
    if kind == "merged":
        toksmith.corpus.merge([done.folder], folder / "all")
        return folder / "all"
    return done.folder


def flips(data: bytes) -> set[int]:
    """Where to change a byte: at both ends, and at about twelve places between."""
    return {0, len(data) - 1, *range(0, len(data), max(len(data) // 12, 1))}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "counts", "merged"])
def test_every_changed_byte_is_found(kind: str, tmp_path: Path) -> None:
    """Not only in shards: in the plan, the tokenizer, the receipts, the manifest and the list of sums as well."""
    folder = finished(tmp_path, kind)
    names = {name for name, sha256 in content(folder).items() if sha256 != hashlib.sha256(b"").hexdigest()}
    assert len(names) >= 6 and toksmith.corpus.verify(folder).ok
    for name in sorted(names):
        path = folder / name
        good = path.read_bytes()
        for place in flips(good):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1 :])
            found = toksmith.corpus.verify(folder)
            assert not found.ok and name in str(found), f"{name} at {place}: {found}"
        path.unlink()
        if name not in ("manifest.json", "SHA256SUMS"):  # without one of these, the job is not finished
            assert f"{name}: is missing" in str(toksmith.corpus.verify(folder))
        path.write_bytes(good)
    assert toksmith.corpus.verify(folder).ok


@pytest.mark.parametrize("name", ["job.json", "receipts/00000.json", "manifest.json", "SHA256SUMS"])
def test_the_command_names_the_file_and_exits_3(name: str, tmp_path: Path) -> None:
    path = finished(tmp_path, "npy") / name
    path.write_bytes(path.read_bytes().replace(b"0", b"1", 1))
    for flags in ([], ["--decode", "--source"]):
        found = CliRunner().invoke(app, ["corpus", "verify", str(tmp_path / "out"), *flags])
        assert found.exit_code == 3 and name in found.stdout


@needs("sha256sum")
def test_sha256sum_reads_the_list(tmp_path: Path) -> None:
    for number, kind in enumerate(("npy", "merged")):
        (tmp_path / str(number)).mkdir()
        folder = finished(tmp_path / str(number), kind)
        done = subprocess.run(
            ["sha256sum", "-c", "SHA256SUMS"], cwd=folder, capture_output=True, text=True, check=False
        )
        listed = {line.rpartition(": ")[0] for line in done.stdout.splitlines()}
        assert done.returncode == 0 and listed == {*content(folder)} - {"SHA256SUMS"}


def test_interrupted_runs_have_equal_sums(tmp_path: Path) -> None:
    whole, parts = job(tmp_path, "whole", shuffle=3), job(tmp_path, "parts", shuffle=3)
    whole.run(progress=False)
    for part in ("1/2", "0/2", "1/2", "0/2"):
        parts.run(part=part, progress=False)
    parts.finish()
    assert content(whole.folder) == content(parts.folder)


def test_a_receipt_changed_before_the_end_is_named(tmp_path: Path) -> None:
    """The sums are of the bytes that the job wrote, not of the files at its end."""
    planned = job(tmp_path, **BIG)
    planned.run(part="0/1", progress=False)
    path = planned.folder / "receipts" / "00000.json"
    path.write_bytes(path.read_bytes().replace(b"{", b"{ ", 1))
    planned.finish()
    assert [each.file for each in toksmith.corpus.verify(planned.folder).differences] == ["receipts/00000.json"]


def test_records_of_wrong_types_are_named(tmp_path: Path) -> None:
    planned = job(tmp_path, **BIG)
    planned.run(progress=False)
    path = planned.folder / "manifest.json"
    good = json.loads(path.read_bytes())
    for records in (5, [5], [["../a", 1, "x"]], [["a", -1, "x"]], [["a", 1]], None):
        path.write_text(json.dumps({**good, "records": records}))
        assert [each.file for each in toksmith.corpus.verify(planned.folder).differences] == ["manifest.json"]


WRONG: tuple[Any, ...] = (None, True, 0.5, float("inf"), -1, 1 << 70, "", "x/../../../a", [], [[]], [5], {}, {"a": 1})


def changed(value: Any) -> Iterator[Any]:
    """The value with each of its parts, or all of it, changed to a wrong value."""
    yield from WRONG
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, part in parts:
        for other in changed(part):
            copy = dict(value) if isinstance(value, dict) else [*value]
            copy[name] = other
            yield copy


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npy", "hf"])
def test_a_hostile_manifest_raises_only_our_errors(kind: str, tmp_path: Path) -> None:
    """Whatever it contains, commands raise only our errors, and touch nothing outside of the folder."""
    folder = finished(tmp_path, kind)
    (tmp_path / "a.toksmith").write_bytes(b"precious")
    path = folder / "manifest.json"
    good = json.loads(path.read_bytes())
    count = 0
    for facts in changed(good):
        path.write_text(json.dumps(facts), encoding="utf-8")
        for call in (
            lambda: toksmith.corpus.show(folder),
            lambda: toksmith.corpus.verify(folder, decode=True),
            lambda: toksmith.corpus.merge([folder], tmp_path / "all"),
        ):
            with suppress(ToksmithError):
                call()
            count += 1
    assert (tmp_path / "a.toksmith").read_bytes() == b"precious" and count > 1000
    assert not (tmp_path / "all").exists()


def test_a_manifest_names_no_tokenizer_outside_of_its_folder(tmp_path: Path) -> None:
    planned = job(tmp_path, **BIG)
    planned.run(progress=False)
    TOK.save(tmp_path / "a.toksmith")
    (planned.folder / "tokenizer-x").mkdir()
    path = planned.folder / "manifest.json"
    facts = json.loads(path.read_bytes())
    path.write_text(json.dumps({**facts, "fingerprint": "x/../../../a"}), encoding="utf-8")
    with pytest.raises(JobError, match="is not the fingerprint of a tokenizer"):
        toksmith.corpus.show(planned.folder)
