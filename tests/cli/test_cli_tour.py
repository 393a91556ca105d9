"""The tour: every stop on texts of any kind, as text and as JSON, and the pause between stops on a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import refused, run
from test_tutorials import PARAGRAPH

import toksmith
from toksmith._cli import tour

TEXTS = ["a", "abc", "नमस्ते, आप कैसे हैं? " * 9, PARAGRAPH, "x" * 5000, "\x1b[31m\u202e\0 é\r\n", "<|endoftext|>"]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_stop_on_any_text(text: str) -> None:
    ran = run("tour", "--text", text)
    assert ran.exit_code == 0, ran.output
    titles = [tour.stop_title(stop) for stop in tour.STOPS]
    assert all(f"{number} of {len(titles)}: {name}" in ran.stdout for number, name in enumerate(titles, 1))
    assert "\x1b" not in ran.stdout and "\u202e" not in ran.stdout
    assert not ran.stderr


def test_the_tour_uses_the_given_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(f"{PARAGRAPH}\nanother line", encoding="utf-8")
    stops: list[dict[str, Any]] = json.loads(run("tour", path, "--json").stdout)
    assert [stop["stop"] for stop in stops] == [*range(1, len(tour.STOPS) + 1)]
    short = PARAGRAPH[: tour.SHORT_CHARS]
    assert stops[0]["views"] == [toksmith.explain.sizes(short).to_dict()]
    assert stops[2]["views"] == [toksmith.explain.steps(short, merges=3).to_dict()]
    tok = toksmith.train([path.read_text(encoding="utf-8")], min_count=2)
    assert stops[5]["views"][1] == toksmith.explain.text(tok, short).to_dict()
    assert json.loads(run("tour", path, "--stop", "3", "--json").stdout) == [stops[2]]


def test_the_last_stop_compares_the_named_tokenizers(tmp_path: Path) -> None:
    saved = tmp_path / "other.toksmith"
    toksmith.train("low lower", merges=2).save(saved)
    [stop] = json.loads(run("tour", "--text", "low lower", "-t", saved, "--stop", "10", "--json").stdout)
    assert [*stop["views"][1]["tokens"]] == ["yours", str(saved)]
    assert "-t gpt2" in run("tour", "--text", "low", "--stop", "10").stdout


def test_without_a_text_there_is_a_sample() -> None:
    ran = run("tour", stdin=" \n")
    assert ran.stdout.startswith("\nYour text is empty or white space, so the tour shows a sample.\n")
    assert "A language model does not read letters" in ran.stdout


def test_the_tour_reports_invalid_and_cut_texts(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"\xef\xbf\xbd low\xff lower\xfe\xff")
    assert "Your text is not UTF-8 in 3 places" in run("tour", path, "--stop", "1").stdout
    path.write_bytes(b"low " * 60_000)
    assert "looks at its first 200,000 characters" in " ".join(run("tour", path, "--stop", "1").stdout.split())
    path.write_text("low lower", encoding="utf-8")
    assert run("tour", path, "--stop", "1").stdout.startswith("\n1 of 11")


def test_a_long_piece_does_not_fill_the_screen() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦" * 2
    assert len(run("tour", "--text", family, "--stop", "6").stdout.splitlines()) < 100
    assert "1 byte becomes 1 id" in run("tour", "--text", "a", "--stop", "4").stdout


@pytest.mark.slow
def test_a_row_of_a_file_is_chosen(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"body": "low"}\n{"body": "lower lower"}\n', encoding="utf-8")
    chosen = ("--row", "1", "--field", "body")
    for command in (["tour"], ["explain", "steps"]):
        assert run(*command, rows, *chosen).stdout == run(*command, "--text", "lower lower").stdout
        assert run(*command, rows, "--raw").exit_code == 0


def test_a_stop_or_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert run("tour", "--text", "a", "--stop", "99").exit_code == 2
    refused(run("tour", tmp_path / "missing.txt"), "No such file")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("typed, stops", [("q\n", 1), ("\nq\n", 2), ("", 1), ("\n" * 20, len(tour.STOPS))])
def test_the_tour_waits_between_stops_on_a_terminal(typed: str, stops: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stdout", out)
    asked = {"text": "low lower lowest", "file": "-", "field": None, "row": None, "raw": False, "as_json": False}
    assert tour.tour.callback is not None
    tour.tour.callback(tokenizer=None, stop=None, **asked)
    assert out.getvalue().count(f" of {len(tour.STOPS)}: ") == stops
    assert out.getvalue().count("Enter goes on") == min(stops, len(tour.STOPS) - 1)
