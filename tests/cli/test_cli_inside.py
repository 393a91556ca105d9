"""The commands compare, doctor, extend and prune: their output and exit codes."""

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


def test_compare_prints_every_metric_of_files_and_of_stdin(saved: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("low lower\n", encoding="utf-8")
    shown = run("compare", path, "-t", saved)
    assert shown.exit_code == 0, shown.stderr
    assert all(name in shown.stdout for name in metrics.names())
    found = json.loads(run("compare", "-", "-t", saved, "--json", stdin="low lower\n").stdout)
    tok = toksmith.load(saved)
    report = metrics.measure(tok, [path.read_bytes()]).to_dict()
    assert found == {"metrics": metrics.names(), "reports": {saved: {"corpus": report}}}
    assert found == toksmith.compare({saved: tok}, [path.read_bytes()]).to_dict()
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"body": "low"}\n{"body": "lower"}\n', encoding="utf-8")
    found = json.loads(run("compare", rows, "-t", saved, "--field", "body", "--json").stdout)
    assert found["reports"][saved]["corpus"]["documents"] == 2
    page = tmp_path / "page.html"
    assert run("compare", path, "-t", saved, "--html", page).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_compare_of_nothing_has_undefined_metrics(saved: str) -> None:
    found = json.loads(run("compare", "-", "-t", saved, "--json", stdin="").stdout)
    assert found["reports"][saved]["corpus"]["metrics"]["bytes_per_token"]["value"] is None
    refused(run("compare", "missing.txt", "-t", saved), "missing.txt")


def test_compare_names_languages_and_warns(saved: str, tmp_path: Path) -> None:
    (tmp_path / "en.txt").write_text("low\nlower\n", encoding="utf-8")
    (tmp_path / "ko.txt").write_text("낮은\n", encoding="utf-8")
    en, korean = f"en={tmp_path / 'en.txt'}", f"korean={tmp_path / 'ko.txt'}"
    shown = run("compare", en, korean, "-t", saved)
    assert shown.exit_code == 0, shown.stderr
    assert "korean" in shown.stdout
    assert "en 2, korean 1" in " ".join(shown.stdout.split())
    found = run("compare", en, korean, "-t", saved, "--json")
    assert "warning: the numbers of lines differ" in found.stderr
    texts = {"en": "low\nlower", "korean": "낮은"}
    assert json.loads(found.stdout) == toksmith.compare({saved: toksmith.load(saved)}, texts).to_dict()
    assert [*json.loads(found.stdout)["reports"][saved]] == ["en", "korean"]
    misused(run("compare", en, f"en={tmp_path / 'ko.txt'}", "-t", saved), "'en' is given twice")
    misused(run("compare", tmp_path / "en.txt", korean, "-t", saved), "name all files as NAME=FILE, or none")
    misused(run("compare", en, "-t", saved, "--reference", "xx"), "one of the languages en")


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


def test_doctor_reads_texts_from_stdin(saved: str) -> None:
    found = json.loads(run("doctor", "-", "-t", saved, "--json", stdin="low").stdout)
    [needed] = [each for each in found["findings"] if each["check"] == "never_emitted"]
    assert needed["counts"]["bytes of text"] == 3


def test_extend_and_prune_write_the_results_of_the_functions(saved: str, tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "out.toksmith"
    text.write_text("slow slower slowest", encoding="utf-8")
    tok = toksmith.load(saved)
    more, _ = toksmith.add_special(toksmith.extend(tok, text, 2)[0], ["<|a|>"])
    ran = run("extend", text, "-t", saved, "--add", "2", "--add-special", "<|a|>", "-o", out)
    assert ran.stdout == f"{len(tok)} tokens before, {len(tok) + 3} tokens now; saved as {out}\n", ran.stderr
    assert toksmith.load(out) == more
    fewer, _ = toksmith.prune(tok, corpus=text)
    found = json.loads(run("prune", text, "-t", saved, "-o", out, "--json").stdout)
    assert toksmith.load(out) == fewer
    sizes = {"tokens_before": len(tok), "tokens": len(fewer), "vocab_size": fewer.vocab_size}
    assert found == {"file": str(out), **sizes} and len(fewer) < len(tok)
    misused(run("extend", text, "-t", saved, "-o", out), "--add is missing")
    misused(run("extend", "-t", saved, "--add", "2", "-o", out), "--add needs texts")
    misused(
        run("extend", "-t", saved, "--add-special", "end", "-o", out), "--add-special: expected contents that neither"
    )
    misused(run("prune", "-t", saved, "-o", out), "--remove: expected")
