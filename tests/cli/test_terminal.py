"""No name, token or text controls the terminal: every command on a pty. Nothing moves the cursor, colours, hides or turns a line."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from model_folders import EXTENDED, checkpoint
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith import _cli, _render
from toksmith._render import streams

PACKAGE = Path(_cli.__file__).parent.parent
COLOUR = "\x1b[35;7m"  # toksmith never writes this
HOSTILE = f"{COLOUR}X\x1b[3A\x1b]0;t\x07\x1b[8m\x08\x7f\x9b2J\x85\u202e\u2066\u2069\u200e\u200f\u061c\u2028\u2029\r\n\t"
ESCAPED = "\\x1b[35;7mX\\x1b[3A\\x1b]0;t"
OURS = re.compile(r"\x1b\[[\d;]*m|\x1b\[\?25[lh]|\x1b\[1A|\x1b\[2K|\r")  # rich's colours and cursor moves for bars
REFUSED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# Runs commands in turn as `toksmith` does, on a given terminal, with bars from the start.
DRIVER = """
import json, logging, os, socket, sys, warnings
from toksmith import _cli, _playground
from toksmith._cli import inputs as _inputs

def serve(self):
    warnings.warn(sys.argv[2])
    with socket.create_connection(("127.0.0.1", self.port)) as asker:
        asker.sendall(sys.argv[2].encode() + b"\\r\\n\\r\\n")
        asker.recv(100)

_playground.Playground.wait = serve
_inputs.SOON_S = 0.0
streams = sys.stdout, sys.stderr
for words in json.load(open(sys.argv[1])):
    sys.argv = ["toksmith", *words]
    code = None
    try:
        _cli.main()
    except SystemExit as ended:
        code = ended.code
    sys.stdout.flush()
    os.write(1, f"\\n@@{code}\\n".encode())
    sys.stdout, sys.stderr = streams
    logging.getLogger("toksmith").handlers.clear()
"""


def shown_on_terminal(script: str, *words: str, folder: Path) -> str:
    """The output of a program to the terminal that is its stdout and stderr; it must be UTF-8."""
    import pty  # systems without terminals lack them
    import tty

    reading, writing = pty.openpty()
    tty.setraw(writing)  # newlines stay unchanged
    environment = os.environ | {
        "TERM": "xterm-256color",
        "COLUMNS": "2000",
        "COLORTERM": "truecolor",
        "FORCE_COLOR": "",
    }
    command = [sys.executable, "-c", script, *words]
    child = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=writing, stderr=writing, env=environment
    )
    os.close(writing)
    found = b""
    while data := read(reading):
        found += data
    os.close(reading)
    assert child.wait(LIMIT_S) == 0, found.decode(errors="replace")
    return found.decode()


def read(file: int) -> bytes:
    """The content of a terminal; on Linux its end is an error."""
    try:
        return os.read(file, 1 << 16)
    except OSError:
        return b""


def check(shown: str) -> None:
    assert COLOUR not in shown, ascii(shown)
    left = OURS.sub("", shown)
    assert not REFUSED.search(left), ascii(left)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the hostile name, and files with that name and text."""
    folder = tmp_path_factory.mktemp("terminal") / HOSTILE
    folder.mkdir()
    tok = toksmith.train("low lower", merges=2, pattern=None, special_tokens=[f"<{HOSTILE}>"], progress=False)
    text = f"low <{HOSTILE}> lower slow {HOSTILE}\n" * 3
    (folder / f"{HOSTILE}.txt").write_text(text, encoding="utf-8")
    (folder / f"{HOSTILE}.jsonl").write_text(f"{json.dumps({HOSTILE: text, 'id': HOSTILE})}\n" * 9, encoding="utf-8")
    talk = [{"role": HOSTILE, "content": text}, {"role": "user", "content": HOSTILE}]
    (folder / f"{HOSTILE}.json").write_text(json.dumps(talk), encoding="utf-8")
    (folder / f"{HOSTILE}.ids").write_text(json.dumps(tok.encode(text, special="text")), encoding="utf-8")
    for name in (f"{HOSTILE}.toksmith", f"{HOSTILE}.2.toksmith"):
        tok.save(folder / name)
    toksmith.corpus.count(text).save(folder / f"{HOSTILE}.parquet")
    for name in ("model", "no model"):
        checkpoint(folder / f"{HOSTILE}.{name}")
    (folder / f"{HOSTILE}.no model" / "config.json").write_text(json.dumps({"vocab_size": HOSTILE}), encoding="utf-8")
    EXTENDED.save(folder / f"{HOSTILE}.more.toksmith")
    return folder


def named(words: str) -> list[str]:
    """The words of a command, with the hostile name for @."""
    return [word.replace("@", HOSTILE) for word in words.split()]


TOK = "-t @.toksmith"
JOB = f"corpus tokenize @.jsonl {TOK} --special text --field @"
MODEL_SIZE = "--sizes 270 --params 3e7 --tokens 1e9"
# For each command, successful calls (exit code 0, or 3 for a check), and then refused ones.
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "train": (["train @.txt -o @.made.toksmith --merges 3 --special-token <@>", "train @.txt --merges 3 --show-merges"], []),
    "encode": (
        [f"encode @.txt {TOK} --special allow", f"encode @.jsonl --field @ {TOK} --special text -o @.npy"],
        [f"encode @.txt {TOK}", f"encode @.jsonl --field @@ {TOK}", f"encode @.txt {TOK} --append @ -o @.npy"],
    ),
    "decode": ([f"decode @.ids {TOK}", f"decode @.ids {TOK} --json"], [f"decode @.txt {TOK}"]),
    "count": ([f"count @.txt @.txt {TOK}", f"count @.txt {TOK} --json"], [f"count @.jsonl {TOK}"]),
    "explain text": (
        [f"explain text @.txt {TOK}", f"explain text @.txt {TOK} --special allow", f"explain text @.txt {TOK} --svg @.svg"],
        [f"explain text @.txt {TOK} --special raise"],
    ),
    "explain merges": ([f"explain merges {TOK} --text @"], [f"explain merges @.txt {TOK} --text @"]),
    "explain steps": (["explain steps @.txt --merges 3"], []),
    "explain token": ([f"explain token 258 {TOK}", f"explain token 256 {TOK} --history"], [f"explain token @ {TOK}"]),
    "explain differences": ([f"explain differences @.txt {TOK} -t @.2.toksmith"], [f"explain differences @.txt {TOK}"]),
    "explain budget": ([f"explain budget @.txt {TOK} --context 9"], [f"explain budget @.txt {TOK} --context @"]),
    "explain lint": ([f"explain lint @.txt {TOK}"], []),
    "explain inference": ([f"explain inference @.txt {TOK}"], [f"explain inference @.txt {TOK} --special raise"]),
    "explain prompt": ([f"explain prompt @.txt {TOK}"], []),
    "explain edits": ([f"explain edits @.txt {TOK} --most 9", f"explain edits @.txt {TOK} --at 5 --typed @"], []),
    "explain chat": (
        [f"explain chat @.json {TOK} --template chatml", f"explain chat @.json {TOK} --template @"],
        [f"explain chat @.txt {TOK} --template chatml", f"explain chat @.json {TOK} --variable @"],
    ),
    "explain folder": ([f"explain folder . {TOK}"], [f"explain folder @.txt {TOK}"]),
    "explain snapshot": ([f"explain snapshot @.txt {TOK} -o @.html --title @"], [f"explain snapshot @.txt {TOK} -o @.@"]),
    "compare": (
        [f"compare @.txt {TOK}", f"compare @.txt {TOK} -t @.2.toksmith", f"compare @=@.txt b=@.txt {TOK}", f"compare @=@.txt b=@.txt {TOK} -t @.2.toksmith"],
        [f"compare @=@.txt {TOK} --reference @@", f"compare @.txt {TOK} --metric @"],
    ),
    "convert": (["convert @.toksmith tokenizer.json"], ["convert @.txt tokenizer.json", "convert @.toksmith @.@", "convert @.toksmith @.model"]),
    "extend": (
        [f"extend @.txt {TOK} --add 2 -o @.longer.toksmith", f"extend {TOK} --add-special =@= -o @.longer.toksmith"],
        [f"extend @.txt {TOK} --add 2 -o @.@", f"extend {TOK} --add-special <@> -o @.none.toksmith", f"extend {TOK} --add-special @ -o @.none.toksmith"],
    ),
    "prune": ([f"prune @.txt {TOK} --remove 1 -o @.fewer.toksmith"], [f"prune @.txt {TOK} -o @.@"]),
    "doctor": ([f"doctor @.txt {TOK}"], [f"doctor {TOK} --embeddings @.txt"]),
    "study": (
        [f"study @.jsonl --field @ {MODEL_SIZE} --keep @.kept", f"study @.txt --language @=@.txt --language b=@.txt {MODEL_SIZE}"],
        [f"study @.jsonl {MODEL_SIZE}"],
    ),
    "graft": (["graft @.model -t @.more.toksmith -o @.grafted"], ["graft @.no@model -t @.more.toksmith -o @.none"]),
    "corpus tokenize": (
        [f"{JOB} -o @.job", f"{JOB} -o @.part --plan", f"{JOB} -o @.two --shard-size 2K --workers 2 --id-field id --sources"],
        [f"{JOB}@ -o @.failed", f"corpus tokenize @.txt @.jsonl {TOK} -o @.failed --shard-size 1K --workers 2"],
    ),
    "corpus count": (["corpus count @.txt -o @.tsv"], ["corpus count @.txt -o @.@"]),
    "corpus merge-counts": (["corpus merge-counts @.parquet -o @.2.parquet"], ["corpus merge-counts @.txt -o @.3.parquet"]),
    "corpus status": (["corpus status @.job"], ["corpus status @.txt"]),
    "corpus verify": (["corpus verify @.job --decode"], ["corpus verify @.part"]),
    "corpus show": (["corpus show @.job --first 2", "corpus show @.two"], []),
    "corpus merge": (["corpus merge @.job @.two -o @.all"], ["corpus merge @.job @.part -o @.none"]),
    "run": ([], ["run -- @.none"]),  # one that runs would take the place of this process
    "play": (["play @.toksmith @.txt --port 0"], ["play @.txt"]),
    "tour": ([f"tour @.txt {TOK}"], []),
    "list encodings": (["list encodings"], []),
    "list formats": (["list formats"], []),
    "list patterns": (["list patterns"], []),
    "list models": (["list models"], []),
}  # fmt: skip


def refused(name: str) -> list[list[str]]:
    """Calls that every command refuses: unknown options and words, and missing files."""
    word = HOSTILE + "\udcff"
    given = [[f"--{word}"], [f"{word}.gone"], ["--debug", f"{word}.gone", "-t", f"{word}.gone"], [word] * 9]
    return [[*name.split(" "), *words] for words in given]


@pytest.mark.slow
@needs("terminals", "any names")
def test_no_command_lets_a_name_or_a_text_act_on_the_terminal(folder: Path) -> None:
    assert [*COMMANDS] == [row.name for row in _cli.COMMANDS], "a command has no row here"
    commands: list[tuple[str, bool, list[str]]] = []
    for name, (done, wrong) in COMMANDS.items():
        commands += [(name, True, named(words)) for words in done]
        commands += [(name, False, words) for words in (*map(named, wrong), *refused(name))]
    commands += [("toksmith", False, words) for words in ([HOSTILE], ["--completion", HOSTILE], ["explain", HOSTILE])]
    (folder / "commands").write_text(json.dumps([words for _, _, words in commands]), encoding="utf-8")
    *shown, end = re.split(r"\n@@(.*)\n", shown_on_terminal(DRIVER, "commands", folder=folder))
    assert (len(shown), end) == (2 * len(commands), "")
    told: dict[str, str] = {}
    for (name, good, words), said, code in zip(commands, shown[::2], shown[1::2], strict=True):
        check(said)
        told[name] = told.get(name, "") + said
        where = f"{words!a}: {code}, {said!a}"
        assert code in (("None", "0", "3") if good else ("1", "2")) and "--debug shows where" not in said, where
    assert not [name for name, said in told.items() if ESCAPED not in said]
    assert "\nWARNING:  Invalid HTTP request" in told["play"]  # uvicorn's own, without its colours


@pytest.mark.slow
@needs("any names")
def test_no_command_prints_a_control_into_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No layer escapes pipes: each line is escaped where it is built, and JSON holds the exact values."""
    monkeypatch.chdir(folder)
    for name, (done, wrong) in COMMANDS.items():
        if name in ("play", "decode"):  # one serves until it is interrupted, the other writes bytes unchanged
            continue
        for words in [*map(named, [*done, *wrong]), *refused(name)]:
            for more in ([], ["--json"]):
                result = run(*words, *more)
                printed = result.stdout + result.stderr
                assert all(char.isprintable() or char == "\n" for char in printed), (words, ascii(printed))
                assert "--debug shows where" not in printed, (words, printed)
                assert "--debug" in words or result.exit_code != 1 or result.stderr.count("\n") == 1, (words, printed)
                if more and result.exit_code == 0:
                    assert json.loads(result.stdout.splitlines()[-1]) is not None
    found = json.loads(run(*named(f"count @.txt {TOK} --json")).stdout)
    assert found["files"][0]["file"] == f"{HOSTILE}.txt"


@needs("terminals")
def test_output_of_libraries_threads_and_workers_is_escaped(tmp_path: Path) -> None:
    """A warning of a library, the traceback of a thread, and a worker of a job, which has no entry point."""
    script = f"""
import sys, threading, warnings
from multiprocessing import Pipe
from toksmith import _render
from toksmith._jobs.runners.local import serve_shards

own, other = Pipe()
other.close()
serve_shards(own, "job", {{}})
warnings.warn({HOSTILE!r})
thread = threading.Thread(target=int, args=({HOSTILE!r},), name={HOSTILE!r})
thread.start()
thread.join()
print({HOSTILE!r}, {HOSTILE!r}, file=sys.stderr)
sys.stdout.writelines([{HOSTILE!r}, "\\udcff", "a\u200db"])
"""
    shown = shown_on_terminal(script, folder=tmp_path)
    check(shown)
    assert shown.count(ESCAPED) >= 5 and shown.endswith("\\udcffa\u200db")


def test_a_pipe_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stdout", pipe)
    _render.guard_terminals()
    assert sys.stdout is pipe and _render.drawn_stream(pipe) is pipe


def test_colours_in_texts_are_escaped() -> None:
    out = io.StringIO()
    console = _render.make_console(streams.Terminal(out), force_terminal=True, color_system="truecolor", width=500)
    console.print(f"[green]{HOSTILE}", style="bold")
    check(out.getvalue())
    assert "\x1b[1;32m" in out.getvalue() and ESCAPED in out.getvalue()


def test_the_bars_of_a_job_read_no_markup_in_a_name() -> None:
    """A name can look like the markup of rich: a closing mark without its beginning is an error in rich."""
    from toksmith._jobs.job import watch

    out = io.StringIO()
    bar = watch.JobBar(_render.make_console(out, force_terminal=True, width=500))
    failed: dict[str, Any] = dict.fromkeys(watch.JobEvent.__dataclass_fields__, 0)
    with bar.drawn:
        bar.show(watch.JobEvent(**failed | {"event": "shard_failed", "worker": 1, "problem": f"[/red]{HOSTILE}"}))
        bar.drawn.refresh()
        shown = out.getvalue()
    check(shown)
    assert f"shard 0: [/red]{_render.one_line(HOSTILE)}" in shown


def test_the_log_holds_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    from toksmith._render.streams import LOG

    LOG.warning("%s is read %d times: %s", HOSTILE, 2, ValueError(HOSTILE))
    [record] = caplog.records
    check(record.getMessage())
    assert record.getMessage().count(ESCAPED) == 2 and record.levelno == logging.WARNING


@needs("posix")
def test_completion_offers_no_name_with_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.toksmith", "a\x9b2J.toksmith", "a\nb.toksmith"):
        (tmp_path / name).touch()
    environment = os.environ | {
        "_TOKSMITH_COMPLETE": "bash_complete",
        "COMP_WORDS": "toksmith count -t a",
        "COMP_CWORD": "3",
    }
    ran = subprocess.run([sys.executable, "-m", "toksmith"], env=environment, capture_output=True, check=True, timeout=LIMIT_S)  # fmt: skip
    assert ran.stdout == b"plain,a.toksmith\n"


def test_every_console_and_bar_is_created_in_one_place() -> None:
    makers = {"Console", "Progress", "Live", "Status"}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        nodes = [*ast.walk(ast.parse(text))] if "rich" in text or "drawn_stream" in text else []
        of_rich = {"console.Console", "progress.Progress", "live.Live", "drawn_stream", "_render.drawn_stream"}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rich"):
                of_rich |= {alias.asname or alias.name for alias in node.names if alias.name in makers}
        made = of_rich & {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
        own = {"terminal.py": {"drawn_stream", "Progress"}, "streams.py": {"drawn_stream"}}
        assert made <= own.get(path.name, set()), f"{path} makes {made}"
