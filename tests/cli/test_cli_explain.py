"""The commands below `explain`: as text, JSON, page and picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import misused, process, refused, run
from faults import Faults
from shown_results import check_page

import toksmith
from toksmith import explain
from toksmith._render import with_tokenizer_name


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    return toksmith.train(["the low lower lowest slow new newer"], merges=12, special_tokens=["<|end|>"])


@pytest.fixture(scope="module")
def saved(tok: toksmith.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("saved") / "tok.toksmith"
    tok.save(path)
    return str(path)


@pytest.mark.slow
def test_commands_print_what_the_functions_return(tok: toksmith.Tokenizer, saved: str) -> None:
    low = str(tok.token_id(" low"))
    for arguments, result in (
        (["text", "--text", "slow lower"], explain.text(tok, "slow lower")),
        (["text", "--text", "<|end|>", "--special", "allow"], explain.text(tok, "<|end|>", special="allow")),
        (["merges", "--text", " lower"], explain.merges(tok, " lower")),
        (["token", low], explain.token(tok, int(low))),
        (["token", low, "--history"], explain.history(tok, int(low))),
        (["budget", "--text", "slow lower", "--context", "2"], explain.budget({saved: tok}, "slow lower", context=2)),
        (["lint", "--text", "lo\u200bw "], explain.lint(tok, "lo\u200bw ".encode())),
        (["inference", "--text", "slow lower"], explain.inference(tok, "slow lower")),
        (["prompt", "--text", "slow lo"], explain.prompt(tok, "slow lo")),
    ):
        result = with_tokenizer_name(result, saved)  # the given name, not a description of its kind
        ran = run("explain", *arguments, "-t", saved)
        assert ran.stdout.rstrip("\n") == str(result).rstrip("\n"), ran.output
        assert json.loads(run("explain", *arguments, "-t", saved, "--json").stdout) == result.to_dict()


def test_views_are_saved_as_pages_and_pictures(tok: toksmith.Tokenizer, saved: str, tmp_path: Path) -> None:
    page, picture = tmp_path / "out.html", tmp_path / "out.svg"
    copy = tmp_path / "copy.toksmith"
    copy.write_bytes(Path(saved).read_bytes())
    for arguments in (
        ["explain", "text", "-t", saved, "--text", "slow <b>"],
        ["explain", "differences", "-t", saved, "-t", str(copy), "--text", "slow <b>"],
    ):
        assert run(*arguments, "--html", page, "--svg", picture).stdout.split() == [str(page), str(picture)]
        check_page(page.read_text(encoding="utf-8"))
        assert "▏s" in page.read_text(encoding="utf-8")
        assert picture.read_text(encoding="utf-8").startswith("<svg")
        page.unlink()
        picture.unlink()
    refused(
        run("explain", "text", "-t", saved, "--text", "x", "--html", tmp_path / "no" / "out.html"), "there is no folder"
    )


def test_a_page_that_cannot_be_written_leaves_the_old_one(saved: str, tmp_path: Path) -> None:
    for option in ("--html", "--svg"):
        path = tmp_path / "out"
        path.write_text("old", encoding="utf-8")
        with Faults(tmp_path, 3, "full") as faults:
            result = run("explain", "text", "-t", saved, "--text", "slow", option, path)
        assert faults.fired
        refused(result, "No space left on device")
        assert path.read_text(encoding="utf-8") == "old"
        assert [found.name for found in tmp_path.iterdir()] == ["out"]


def test_differences_compares_the_named_tokenizers(saved: str, tok: toksmith.Tokenizer, tmp_path: Path) -> None:
    other = tmp_path / "other.toksmith"
    toksmith.train("low", merges=2).save(other)
    ran = run("explain", "differences", "-t", saved, "-t", other, stdin="slow lower")
    toks = {saved: tok, str(other): toksmith.load(other)}
    assert ran.stdout.rstrip("\n") == str(explain.differences(toks, b"slow lower"))
    found = run("explain", "differences", "-t", saved, "-t", other, "--text", "low", "--json")
    assert json.loads(found.stdout) == explain.differences(toks, "low").to_dict()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "lowest", "--text", "x"], "There is no command 'explain lowest'"),
        (["explain", "token", "--history"], "Missing argument 'ID'"),
        (["explain", "token", "97", "--text", "x"], "No such option '--text'"),
        (["explain", "text", "--history", "--text", "x"], "No such option '--history'"),
        (["explain", "budget", "--text", "x"], "Missing option '--context'"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], said: str, saved: str) -> None:
    result = run(*arguments, "-t", saved)
    misused(result, said)


def test_values_out_of_range_are_refused(saved: str) -> None:
    refused(run("explain", "token", "100000", "-t", saved), "100000")
    misused(run("explain", "budget", "-t", saved, "--text", "x", "--context", "0"), "at least 1 token")
    refused(run("explain", "merges", "-t", saved, stdin="x" * 1000), "1,000 symbols")
    refused(run("explain", "text", "-t", saved, "--special", "raise", "--text", "<|end|>"), "<|end|>")


@pytest.mark.slow
def test_colours_follow_the_environment(saved: str) -> None:
    arguments = ("explain", "text", "-t", saved, "--text", "slow")
    assert b"\x1b" not in process(*arguments).stdout
    for depth, code in (("truecolor", b"48;2;"), ("256color", b"48;5;")):
        names = {"COLORTERM": depth if depth == "truecolor" else "", "TERM": "xterm-256color"}
        assert code in process(*arguments, FORCE_COLOR="1", **names).stdout
    assert b"48;" not in process(*arguments, FORCE_COLOR="1", COLORTERM="truecolor", NO_COLOR="1").stdout
