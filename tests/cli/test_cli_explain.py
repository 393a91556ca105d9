"""The commands that say why: show, explain and compare, as text, JSON, page and picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import misused, process, refused, run
from faults import Faults
from shown_results import check_page

import toksmith
from toksmith import explain
from toksmith._render import called


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    return toksmith.train(["the low lower lowest slow new newer"], merges=12, special_tokens=["<|end|>"])


@pytest.fixture(scope="module")
def saved(tok: toksmith.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("saved") / "tok.toksmith"
    tok.save(path)
    return str(path)


@pytest.mark.slow
def test_what_is_explained(tok: toksmith.Tokenizer, saved: str) -> None:
    low = str(tok.token_id(" low"))
    for arguments, result in (
        (["--text", "slow lower"], explain.pieces(tok, "slow lower")),
        (["--text", "<|end|>", "--special", "allow"], explain.pieces(tok, "<|end|>", special="allow")),
        (["--text", " lower", "--merges"], explain.merges(tok, " lower")),
        (["--id", low], explain.tree(tok, int(low))),
        (["--id", low, "--history"], explain.history(tok, int(low))),
        (["--text", "slow lower", "--context", "2"], explain.budget({saved: tok}, "slow lower", context=2)),
        (["--text", "lo\u200bw ", "--lint"], explain.lint(tok, "lo\u200bw ".encode())),
    ):
        result = called(result, saved)  # the name that was given, not what is known of its kind
        ran = run("explain", "-t", saved, *arguments)
        assert ran.stdout.rstrip("\n") == str(result).rstrip("\n"), ran.output
        assert json.loads(run("explain", "-t", saved, *arguments, "--json").stdout) == result.to_dict()


def test_pages_and_pictures(tok: toksmith.Tokenizer, saved: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "out.html", tmp_path / "out.svg"
    copy = tmp_path / "copy.toksmith"
    copy.write_bytes(Path(saved).read_bytes())
    for arguments in (
        ["show", "-t", saved, "--text", "slow <b>"],
        ["explain", "-t", saved, "--text", "slow <b>"],
        ["compare", "-t", saved, "-t", str(copy), "--text", "slow <b>"],
    ):
        assert run(*arguments, "--html", page, "--svg", picture).stdout.split() == [str(page), str(picture)]
        check_page(page.read_text(encoding="utf-8"))
        assert "▏s" in page.read_text(encoding="utf-8")
        assert picture.read_text(encoding="utf-8").startswith("<svg")
        page.unlink()
        picture.unlink()
    refused(run("show", "-t", saved, "--text", "x", "--html", tmp_path / "no" / "out.html"), "there is no folder")


def test_a_page_that_cannot_be_written_leaves_the_old_one(saved: str, tmp_path: Path) -> None:
    for option in ("--html", "--svg"):
        path = tmp_path / "out"
        path.write_text("old", encoding="utf-8")
        with Faults(tmp_path, 3, "full") as faults:
            result = run("show", "-t", saved, "--text", "slow", option, path)
        assert faults.fired
        refused(result, "No space left on device")
        assert path.read_text(encoding="utf-8") == "old"
        assert [found.name for found in tmp_path.iterdir()] == ["out"]


def test_compare(saved: str, tok: toksmith.Tokenizer, tmp_path: Path) -> None:
    other = tmp_path / "other.toksmith"
    toksmith.train("low", merges=2).save(other)
    ran = run("compare", "-t", saved, "-t", other, stdin="slow lower")
    toks = {saved: tok, str(other): toksmith.load(other)}
    assert ran.stdout.rstrip("\n") == str(explain.compare(toks, b"slow lower"))
    assert json.loads(run("compare", "-t", saved, "-t", other, "--text", "low", "--json").stdout)["bytes"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "--id", "97", "--lint"], "give only one of --id and --lint"),
        (["explain", "--history"], "requires --id"),
        (["explain", "--id", "97", "--text", "x"], "cannot be combined with a text"),
        (["explain", "x.txt", "--text", "x"], "not both"),
        (["compare", "--text", "x"], "two or more"),
    ],
)
def test_wrong_usage(arguments: list[str], said: str, saved: str) -> None:
    result = run(*arguments, "-t", saved)
    misused(result, said)


def test_what_is_refused(saved: str) -> None:
    refused(run("explain", "-t", saved, "--id", "100000"), "100000")
    misused(run("explain", "-t", saved, "--text", "x", "--context", "0"), "at least 1 token")
    refused(run("explain", "-t", saved, "--merges", stdin="x" * 1000), "1,000 symbols")
    refused(run("explain", "-t", saved, "--special", "raise", "--text", "<|end|>"), "<|end|>")


@pytest.mark.slow
def test_colour_only_where_it_is_wanted(saved: str) -> None:
    arguments = ("explain", "-t", saved, "--text", "slow")
    assert b"\x1b" not in process(*arguments).stdout
    for depth, code in (("truecolor", b"48;2;"), ("256color", b"48;5;")):
        names = {"COLORTERM": depth if depth == "truecolor" else "", "TERM": "xterm-256color"}
        assert code in process(*arguments, FORCE_COLOR="1", **names).stdout
    assert b"48;" not in process(*arguments, FORCE_COLOR="1", COLORTERM="truecolor", NO_COLOR="1").stdout
