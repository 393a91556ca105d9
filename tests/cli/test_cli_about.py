"""The command line itself: its imports, help, completion in real shells, manual page and defaults."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from command_line import misused, refused, run
from processors import LIMIT_S

import toksmith
from toksmith import _cli
from toksmith._cli import inputs, jobs
from toksmith._cli.inputs import PACKED, ROWS
from toksmith._corpus import TABLES
from toksmith._corpus.encode_files import PACKED as PACKED_FILES
from toksmith._formats import MODULES
from toksmith._jobs.sinks import SINKS

HEAVY = ("rich", "typer", "pydantic", "pyarrow", "matplotlib", "starlette", "logging.handlers", "asyncio")


def imported(code: str) -> set[str]:
    """The modules of a fresh process after some code."""
    code = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=LIMIT_S)
    return {*ran.stderr.decode().split()}


def called(*arguments: str) -> str:
    """Code that runs a command."""
    return (
        f"sys.argv = {['toksmith', *arguments]!r}\n"
        "from toksmith._cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


# Start


def test_the_version_imports_little() -> None:
    for flag in ("--version", "-V"):
        assert run(flag).stdout == f"toksmith {toksmith.__version__}\n"
        assert not imported(called(flag)) & {"numpy", "toksmith._cli.arguments", *HEAVY}


@pytest.mark.slow
def test_a_command_imports_what_it_uses(tmp_path: Path) -> None:
    toksmith.train("low lower", merges=2).save(tmp_path / "tok.toksmith")
    (tmp_path / "text.txt").write_text("low", encoding="utf-8")
    modules = imported(called("count", str(tmp_path / "text.txt"), "-t", str(tmp_path / "tok.toksmith")))
    assert not modules & {"tempfile", "secrets", "difflib", "click.shell_completion", *HEAVY}
    unused = ("_corpus", "_storage.remote", "_jobs", "_training", "metrics", "_cli.train")
    assert not modules & {f"toksmith.{name}" for name in unused}
    readers = {f"toksmith._formats.{name}" for name in MODULES.values()} & modules
    assert readers == {"toksmith._formats.native"}
    assert not imported(called("--help")) & {"numpy", "toksmith._cli.train", *HEAVY}
    assert not imported(called("list", "formats")) & {"rich", "toksmith._training"}


# Help


def commands() -> Iterator[tuple[Any, click.Command]]:
    context = _cli.app.make_context("toksmith", ["--help"], resilient_parsing=True)
    for row in _cli.COMMANDS:
        within = context
        command: click.Command | None = _cli.app
        for word in row.name.split(" "):
            assert isinstance(command, click.Group)
            command = command.get_command(within, word)
        assert command is not None
        yield row, command


@pytest.mark.parametrize("row", _cli.COMMANDS, ids=lambda row: str(row.name))
def test_help_shows_the_example_and_fits_a_terminal(row: Any) -> None:
    words = row.name.split(" ")
    said = run(*words, "--help").stdout
    assert run(*words, "-h").stdout == said
    assert all(len(line) <= 80 or line.startswith("  Example: ") for line in said.splitlines())
    assert f"Example: {row.example}" in " ".join(said.split()) and "--debug" in said
    assert ("--json" in said) == (row.name != "run")  # it has no result
    assert words[-1] in run(*words[:-1], "--help").stdout


def test_help_all_shows_what_help_leaves_out() -> None:
    short, long = (run("train", flag).stdout for flag in ("--help", "--help-all"))
    options = [re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE) for text in (short, long)]
    assert len(options[0]) <= 26 and {*options[0]} < {*options[1]}
    [command] = [command for row, command in commands() if row.name == "train"]
    assert {each.opts[0] for each in command.params if isinstance(each, click.Option)} <= {*options[1]}


def test_groups_list_and_complete_their_commands() -> None:
    assert completed("explain", "st") == ["steps"]
    assert completed("") == [*dict.fromkeys(row.name.split(" ")[0] for row in _cli.COMMANDS)]
    assert len(completed("")) <= 17
    assert "--merges" in completed("explain", "steps", "--")
    for group, help in _cli.GROUPS.items():
        said = run(group, "--help").stdout
        assert help in " ".join(said.split())
        assert all(word in said for word in completed(group, ""))


def completed(*words: str) -> list[str]:
    """The completions of the last word."""
    found = ShellComplete(_cli.app, {}, "toksmith", "_TOKSMITH_COMPLETE").get_completions([*words[:-1]], words[-1])
    return [each.value for each in found]


def test_every_option_shows_its_default() -> None:
    for row, command in commands():
        for each in command.params:
            if not isinstance(each, click.Option) or each.hidden or each.required or each.name == "help":
                continue
            plain_switch = each.is_flag and not each.secondary_opts
            record = each.get_help_record(click.Context(command, show_default=True))
            assert record is not None
            assert plain_switch or "[default: " in record[1] or "[env var: " in record[1], (row.name, each.opts)
            assert not plain_switch or "BOOLEAN" not in record[0]


FUNCTIONS = {
    "train": toksmith.train,
    "encode": toksmith.corpus.encode,
    "corpus count": toksmith.corpus.count,
    "corpus tokenize": toksmith.corpus.plan,
    "corpus show": toksmith.corpus.show,
}


def test_the_defaults_in_the_help_are_those_of_the_functions() -> None:
    checked = 0
    for row, command in commands():
        if row.name not in FUNCTIONS:
            continue
        known = inspect.signature(FUNCTIONS[row.name]).parameters
        arguments = {flag: name for name, flag in command.flags.items() if name in known}  # type: ignore[attr-defined]
        for each in command.params:
            name = arguments.get(each.opts[0], each.name)
            if not isinstance(each, click.Option) or name not in known or each.is_flag:
                continue
            default = known[name].default
            in_words = each.show_default if isinstance(each.show_default, str) else str(each.default)
            if isinstance(default, str) and default and name != "superword_pattern":
                assert in_words == default, (row.name, name)
                checked += 1
            elif isinstance(default, (int, float)) and not isinstance(default, bool) and name != "shard_size":
                assert in_words.startswith(str(default)), (row.name, name)
                checked += 1
    assert checked > 12


def test_a_variable_names_the_tokenizer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a tok.toksmith"
    toksmith.train("low lower", merges=2).save(path)
    monkeypatch.setenv("TOKSMITH_TOKENIZER", str(path))
    assert run("count", "--text", "low").stdout.split() == ["1", "--text"]
    assert "\n▏low\n" in run("explain", "text", "--text", "low").stdout
    misused(run("explain", "differences", "--text", "low"), "--tokenizer: give two or more")


# Formats


def test_formats_lists_every_format() -> None:
    said = run("list", "formats").stdout
    for name, row in toksmith.formats().items():
        assert re.search(rf"^{name} .*{re.escape(row.suffixes[0])}", said, re.MULTILINE)
    assert max(map(len, [*said.splitlines(), *run("--help").stdout.splitlines()])) <= 80
    assert [each["name"] for each in json.loads(run("list", "formats", "--json").stdout)] == [*toksmith.formats()]


@pytest.mark.parametrize(
    ("options", "name", "written"),
    [
        (["--unit", "char", "--to", "sentencepiece"], "m.model", "sentencepiece"),
        (["--pattern", "none", "--to", "minbpe"], "m.model", "minbpe"),
        (["--pattern", "none"], "merge_dict_taylor_swift.json", "merge_dict"),
        (["--to", "tokenizer_json"], "any name", "tokenizer_json"),
    ],
)
def test_train_saves_in_the_format_of_the_name_or_the_option(
    options: list[str], name: str, written: str, tmp_path: Path
) -> None:
    result = run("train", "--text", "low lower lowest", "--merges", "2", *options, "-o", tmp_path / name)
    assert result.exit_code == 0, result.stderr
    toksmith.load(tmp_path / name, format=written)
    assert "; 2 merges over " in result.stdout
    assert f"saved as {tmp_path / name} (" in result.stdout


def test_a_training_that_a_format_cannot_hold_is_saved(tmp_path: Path) -> None:
    options = ["--merges", "2", "--superwords", "1", "--special-token", "<|a|>"]
    result = run("train", "--text", "low lower lowest", *options, "-o", tmp_path / "stoi.json")
    assert (result.exit_code, result.stdout) == (1, "")
    saved_as = tmp_path / "stoi.trained.toksmith"
    assert f"the tokenizer is saved in {saved_as}" in result.stderr
    assert toksmith.load(saved_as).special_tokens
    assert os.listdir(tmp_path) == [saved_as.name]


# Rows of files


def report_of(printed: str) -> Any:
    """The one report in what `compare --json` prints."""
    [reports] = json.loads(printed)["reports"].values()
    return reports["corpus"]


def test_a_file_has_the_same_documents_in_every_command(tmp_path: Path) -> None:
    assert {*ROWS} == {".jsonl", *TABLES}
    assert PACKED == PACKED_FILES
    tok = toksmith.train("low lower lowest", merges=4)
    tok.save(tmp_path / "tok.toksmith")
    tokenizer = ("-t", tmp_path / "tok.toksmith")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "low"}\n{"text": "lower", "body": "x"}\n', encoding="utf-8")
    lines = [" ".join(map(str, tok.encode(text))) for text in ("low", "lower")]
    assert run("encode", rows, *tokenizer).stdout.splitlines() == lines
    found = json.loads(run("encode", rows, *tokenizer, "--json").stdout)
    assert [(each["document"], each["ids"]) for each in found] == [(0, tok.encode("low")), (1, tok.encode("lower"))]
    tokens = tok.count("low") + tok.count("lower")
    counted = json.loads(run("count", rows, *tokenizer, "--json").stdout)["total"]
    assert counted == {"tokens": tokens, "bytes": 8}
    measured = report_of(run("compare", rows, *tokenizer, "--json").stdout)
    assert (measured["documents"], measured["tokens"], measured["bytes"]) == (2, tokens, 8)
    assert run("encode", rows, *tokenizer, "-o", tmp_path / "ids.npy").stdout.startswith(f"{tokens} ids of 2 documents")
    assert (
        run("explain", "text", rows, *tokenizer, "--row", "1").stdout
        == run("explain", "text", "--text", "lower", *tokenizer).stdout
    )
    raw = json.loads(run("count", rows, *tokenizer, "--raw", "--json").stdout)["total"]
    assert raw == {"tokens": tok.count(rows.read_bytes()), "bytes": len(rows.read_bytes())}
    measured = report_of(run("compare", rows, *tokenizer, "--raw", "--json").stdout)
    assert (measured["documents"], measured["tokens"]) == (1, raw["tokens"])
    picture, folder = tmp_path / "p.png", tmp_path / "texts"
    picture.write_bytes(b"low")
    folder.mkdir()
    for text in ("low", "lower"):
        (folder / f"{text}.txt").write_text(text, encoding="utf-8")
    assert run("encode", folder, *tokenizer).stdout.splitlines() == lines
    assert json.loads(run("count", folder, *tokenizer, "--json").stdout)["total"] == counted
    assert report_of(run("compare", folder, *tokenizer, "--json").stdout)["tokens"] == tokens
    for command in (["encode"], ["count"], ["explain", "text"], ["compare"], ["doctor"]):
        refused(run(*command, picture, *tokenizer), f"{picture}: a file ending in .png is not text")
        assert run(*command, picture, *tokenizer, "--raw").exit_code in (0, 3), command
    assert [*toksmith.files(str(rows)).documents()] in (["low", "lower"], [b"low", b"lower"])


# Completion


def completes(shell: str, line: str, tmp_path: Path) -> list[str]:
    """The completions of a line in a real shell."""
    words, last = line.split(" "), len(line.split(" ")) - 1
    scripts = tmp_path / "toksmith"
    scripts.write_text(f'#!/bin/sh\nexec {sys.executable} -m toksmith "$@"\n', encoding="utf-8")
    scripts.chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in words)
    asked = {
        "bash": f'eval "$(toksmith --completion bash)"; COMP_WORDS=({quoted}); COMP_CWORD={last}; '
        '_toksmith_completion toksmith 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"',
        "fish": f'toksmith --completion fish | source; complete -C "{line}"',
        "zsh": f'autoload -U compinit; compinit -u -D; eval "$(toksmith --completion zsh)"; words=({quoted}); '
        f"CURRENT={last + 1}; _describe() {{ print -rl -- ${{completions_with_descriptions}} }}; "
        "compadd() { print -rl -- ${completions} }; _toksmith_completion",
    }[shell]
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [shell, *(["-f"] if shell == "zsh" else []), "-c", asked]
    ran = subprocess.run(
        command,
        capture_output=True,
        env=environment,
        check=False,
        timeout=LIMIT_S,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )
    return [re.split(r"[\t:]", each)[0] for each in ran.stdout.decode().splitlines() if each]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_names(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"lacks {shell}")
    assert completes(shell, "toksmith corpus tok", tmp_path) == ["tokenize"]
    assert "--vocab-size" in completes(shell, "toksmith train --vo", tmp_path)
    (tmp_path / "own.tiktoken").touch()
    assert completes(shell, "toksmith count -t o", tmp_path) == ["o200k_base", "o200k_harmony", "own.tiktoken"]
    assert completes(shell, "toksmith explain st", tmp_path) == ["steps"]
    assert {*completes(shell, "toksmith encode --special ", tmp_path)} == {"raise", "allow", "text"}


def test_completion_prints_a_script_for_each_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        result = run("--completion", shell)
        assert result.exit_code == 0
        assert "_TOKSMITH_COMPLETE" in result.stdout


# The manual page


def test_the_manual_page_has_every_command_and_option() -> None:
    page = run("--man").stdout
    assert page.startswith(".TH TOKSMITH 1 ")
    for row, command in commands():
        assert ".SS toksmith " + row.name.replace("-", "\\-") in page
        for each in command.params:
            if isinstance(each, click.Option) and not each.hidden:
                assert each.opts[0].replace("-", "\\-") in page
    assert not [line for line in page.splitlines() if line.startswith("'")]


def test_the_page_of_the_wheel_equals_the_page_of_the_command() -> None:
    page = Path(__file__).parents[2] / "make/wheel/data/share/man/man1/toksmith.1"
    assert page.read_text(encoding="utf-8") == run("--man").stdout, f"toksmith --man > {page}"


@pytest.mark.skipif(shutil.which("man") is None, reason="lacks man")
def test_man_shows_the_page_without_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "toksmith.1"
    page.write_text(run("--man").stdout, encoding="utf-8")
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    ran = subprocess.run(
        ["man", "--warnings", "-l", str(page)], capture_output=True, env=environment, check=False, timeout=LIMIT_S
    )
    assert (ran.returncode, ran.stderr) == (0, b""), ran.stderr
    said = ran.stdout.decode()
    assert "TOKSMITH_TOKENIZER" in said
    assert "--vocab-size" in re.sub(".\b", "", said).replace("\u2010", "-")


# Progress


def test_a_long_count_shows_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: dict[int, int] = {}

    def elapsed_s(watch: inputs.Watch) -> float:  # each reading of a watch is 40 s after the last
        looks[id(watch)] = looks.get(id(watch), 0) + 40
        return float(looks[id(watch)])

    monkeypatch.setattr(inputs.Watch, "elapsed_s", elapsed_s)
    tok = tmp_path / "tok.toksmith"
    toksmith.train("low lower", merges=2).save(tok)
    files = []
    for number in range(3):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text("low", encoding="utf-8")
    lines = run("count", *files, "-t", tok).stderr.splitlines()
    assert lines == [
        "toksmith: counting: 6 of 9 bytes after 80 s, 0 in a second, 40 s to go",
        "toksmith: 9 bytes in 160.0 s",
    ]
    looks.clear()
    assert run("count", *files, "-t", tok, "--quiet").stderr == ""
    looks.clear()
    [event] = [json.loads(line) for line in run("count", *files, "-t", tok, "--json").stderr.splitlines()]
    assert (event["event"], event["total"]) == ("progress", 9)
    looks.clear()
    measured = run("compare", *files, "-t", tok).stderr
    assert "bytes in " in measured


@pytest.mark.parametrize(
    ("function", "arguments", "summary"),
    [
        (("toksmith", "doctor"), ["doctor"], "258 tokens in "),
        (("toksmith", "compare"), ["compare", "en=text.txt"], "3 bytes in "),
        (("toksmith.explain", "text"), ["explain", "text", "text.txt"], "3 bytes in "),
        (("toksmith.explain", "token"), ["explain", "token", "97"], "258 tokens in "),
        (
            ("toksmith.explain", "differences"),
            ["explain", "differences", "text.txt", "-t", "tok.toksmith"],
            "3 bytes in ",
        ),
        (("toksmith", "convert"), ["convert", "tok.toksmith", "copy.toksmith"], "done in "),
    ],
)
def test_work_without_parts_reports_that_it_continues(
    function: tuple[str, str], arguments: list[str], summary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    toksmith.train("low lower", merges=2).save("tok.toksmith")
    (tmp_path / "text.txt").write_text("low", encoding="utf-8")
    options = [] if "convert" in arguments else ["-t", "./tok.toksmith"]
    looks, said = itertools.count(40, 40), threading.Event()
    module, name = function
    own, say = getattr(importlib.import_module(module), name), inputs.Meter.say

    def slow(*given: Any, **more: Any) -> Any:  # the work, which waits for a signal to continue
        assert said.wait(LIMIT_S) or "--quiet" in arguments
        return own(*given, **more)

    def heard(meter: inputs.Meter, elapsed: float) -> None:
        say(meter, elapsed)
        said.set()

    monkeypatch.setattr(importlib.import_module(module), name, slow)
    monkeypatch.setattr(inputs, "SOON_S", 0.0)
    monkeypatch.setattr(inputs.Watch, "elapsed_s", lambda _: float(next(looks)))
    monkeypatch.setattr(inputs.Meter, "say", heard)
    first, *more, last = run(*arguments, *options).stderr.splitlines()
    assert re.fullmatch("toksmith: at work for [0-9,]+ s", first), more
    assert last.startswith(f"toksmith: {summary}")
    said.clear()
    event = json.loads(run(*arguments, *options, "--json").stderr.splitlines()[0])
    assert (event["event"], event["phase"], event["done"]) == ("progress", "working", 0)
    assert run(*arguments, *options, "--quiet").stderr == ""


def test_a_conversion_whose_ids_differ_has_the_code_of_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    report = SimpleNamespace(equal=False, to_dict=lambda: {"equal": False})
    monkeypatch.setattr(toksmith, "convert", lambda *_, **__: report)
    assert run("convert", "gpt2", "x.json", "--json").exit_code == 3
    assert "exit code is 3" in run("convert", "--help").stdout


CHOICES = {
    "train": {"--kind": "w", "--unit": "b", "--ties": "f", "--digits": "3", "--errors": "s", "--pattern": "gpt"},
    "explain steps": {"--ties": "l"},
    "corpus tokenize": {"--to": "m", "--special": "a", "--dtype": "u", "--errors": "q", "--empty": "k", "--pack": "b"},
    "encode": {"--dtype": "u"},
    "corpus merge": {"--to": "me"},
}


def test_a_flag_with_few_values_completes_them_and_refuses_others() -> None:
    for command, flags in CHOICES.items():
        for flag, beginning in flags.items():
            assert completed(*command.split(" "), flag, beginning), (command, flag)
    assert completed("train", "--kind", "w") == ["wordpiece", "words"]
    assert completed("corpus", "tokenize", "--run", "r") == ["ray"]
    for command, flag in (("train", "--to"), ("convert", "--to"), ("convert", "--from")):
        assert completed(command, flag, "") == [*toksmith.formats()]
    assert completed("corpus", "tokenize", "--to", "") == [*jobs.SINKS]
    assert {*toksmith.encodings()} <= {*completed("train", "--base", "")}
    misused(run("train", "--text", "a", "--kind", "x"), "'--kind': 'x'")


def test_the_values_of_flags_are_those_of_the_library() -> None:
    assert {*jobs.SINKS} == {*SINKS}
    assert {*jobs.DTYPES[1:]} == {each for row in SINKS.values() for each in row.dtypes}
    functions = {
        "train": toksmith.train,
        "corpus tokenize": toksmith.corpus.plan,
        "explain steps": toksmith.explain.steps,
    }
    checked = 0
    for row, command in commands():
        known = inspect.signature(functions[row.name]).parameters if row.name in functions else {}
        for each in command.params:
            choices = getattr(each.type, "choices", ())
            if choices and each.name in known and "Literal[" in str(known[each.name].annotation):
                allowed = {*re.findall(r"[\"'](\w[\w-]*)[\"']", str(known[each.name].annotation))}
                assert {*choices} == allowed, (row.name, each.name)
                checked += 1
    assert checked >= 6


def test_a_word_of_another_program_names_the_command() -> None:
    for word, command in {
        "measure": "compare",
        "tokenize": "corpus tokenize",
        "detokenize": "decode",
        "trian": "train",
    }.items():
        misused(run(word), f"'toksmith {command}'")


def test_special_means_one_thing() -> None:
    for row, command in commands():
        for each in command.params:
            if "--special" in each.opts:
                assert "Special tokens in the text" in (each.help or ""), row.name  # type: ignore[attr-defined]
