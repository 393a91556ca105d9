"""Stdout for one writer alone."""

import io
import subprocess
import sys
from contextlib import redirect_stdout

from processors import LIMIT_S

from toksmith._render import reserve_stdout

SCRIPT = """
import os, subprocess, sys
from toksmith._render import print_json, reserve_stdout
print("before")
with reserve_stdout() as stdout:
    print("a library")
    os.write(1, b"a core\\n")
    subprocess.run([sys.executable, "-c", "print('a child')"])
    print_json({"own": "ü"}, stdout)
    if sys.argv[1] == "raise":
        raise SystemExit(3)
print("after")
"""


def run(word: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-c", SCRIPT, word],
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=False,
    )


def test_other_output_goes_to_stderr() -> None:
    done = run("end")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["before", '{"own": "ü"}', "after"])
    assert sorted(done.stderr.splitlines()) == ["a child", "a core", "a library"]


def test_an_exception_gives_stdout_back() -> None:
    done = run("raise")
    assert (done.returncode, done.stdout.splitlines()) == (3, ["before", '{"own": "ü"}'])


def test_a_stdout_that_is_no_file_is_yielded_itself() -> None:
    own = io.StringIO()
    with redirect_stdout(own):
        with reserve_stdout() as stdout:
            print("event", file=stdout)
            print("other")
        print("after")
    assert own.getvalue() == "event\nafter\n"
