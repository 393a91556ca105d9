"""The commands measure, parity and doctor: what they print, and how they end."""

import json
from pathlib import Path

import pytest
from command_line import misused, refused, run

import toksmith
from toksmith import metrics


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("inside") / "low.toksmith"
    toksmith.train("low lower lowest 12 345", merges=6, special_tokens=["<|end|>"]).save(path)
    return str(path)


def test_measure_prints_every_metric_of_files_and_of_stdin(saved: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("low lower\n", encoding="utf-8")
    shown = run("measure", path, "-t", saved)
    assert shown.exit_code == 0, shown.stderr
    assert all(name in shown.stdout for name in metrics.names())
    found = json.loads(run("measure", "-t", saved, "--json", stdin="low lower\n").stdout)
    assert found == toksmith.metrics.measure(toksmith.load(saved), [path.read_bytes()]).to_dict()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"body": "low"}\n{"body": "lower"}\n', encoding="utf-8")
    assert json.loads(run("measure", rows, "-t", saved, "--field", "body", "--json").stdout)["documents"] == 2
    page = tmp_path / "page.html"
    assert run("measure", path, "-t", saved, "--html", page).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_measure_of_nothing_says_what_is_undefined(saved: str) -> None:
    found = json.loads(run("measure", "-t", saved, "--json", stdin="").stdout)
    assert found["metrics"]["bytes_per_token"]["value"] is None
    refused(run("measure", "no such file", "-t", saved), "no such file")


def test_parity_names_files_and_warns(saved: str, tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("low\nlower\n", encoding="utf-8")
    (tmp_path / "ko.txt").write_text("낮은\n", encoding="utf-8")
    shown = run("parity", tmp_path / "en.txt", f"korean={tmp_path / 'ko.txt'}", "-t", saved)
    assert shown.exit_code == 0, shown.stderr
    assert "korean" in shown.stdout
    assert "en 2, korean 1" in " ".join(shown.stdout.split())
    found = run("parity", tmp_path / "en.txt", f"korean={tmp_path / 'ko.txt'}", "-t", saved, "--json")
    assert "warning: the numbers of lines differ" in found.stderr
    assert [each["name"] for each in json.loads(found.stdout)["languages"]] == ["en", "korean"]
    twice = run("parity", tmp_path / "en.txt", f"en={tmp_path / 'ko.txt'}", "-t", saved)
    assert twice.exit_code == 2
    misused(run("parity", tmp_path / "en.txt", "-t", saved, "--reference", "xx"), "one of the languages en")


def test_doctor_exits_with_3_where_a_check_fails(saved: str, tmp_path: Path) -> None:
    healthy = run("doctor", "-t", saved)
    assert (healthy.exit_code, "Diagnosis: pass" in healthy.stdout) == (0, True), healthy.stderr
    ranks = tmp_path / "ranks.tiktoken"
    words = [f"word{letter}" for letter in "abcdefghijklmnop"]
    toksmith.train(" ".join(words) * 3, vocab_size=330, pattern="gpt2").save(tmp_path / "own.toksmith")
    toksmith.load(tmp_path / "own.toksmith").save(ranks, allow_loss=["metadata"])
    wrong = ("--pattern", r"[a-z]| ")
    sick = run("doctor", "-t", ranks, *wrong)
    assert (sick.exit_code, "Diagnosis: fail" in sick.stdout) == (3, True), sick.stdout
    found = run("doctor", "-t", ranks, *wrong, "--json")
    assert found.exit_code == 3
    [pattern] = [each for each in json.loads(found.stdout)["findings"] if each["check"] == "pattern"]
    assert pattern["severity"] == "fail"
    refused(run("doctor", "-t", saved, "--embeddings", tmp_path / "none.safetensors"), "none.safetensors")


def test_doctor_looks_with_texts(saved: str) -> None:
    found = json.loads(run("doctor", "-", "-t", saved, "--json", stdin="low").stdout)
    [needed] = [each for each in found["findings"] if each["check"] == "never_emitted"]
    assert needed["counts"]["bytes of text"] == 3
