"""Other libraries' own tests on the drop-ins: only tests in `clients.excluded.py` fail. Run by `make test-clients`.

It prints the table of docs/clients.md.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from clients.excluded import IGNORED
from conftest import DATA, existing_or_skip

from toksmith._sources.encodings import ENCODINGS

SUITES = Path(os.environ.get("TOKSMITH_CLIENTS", "/nowhere"))
HERE = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif("TOKSMITH_CLIENTS" not in os.environ, reason="lacks the suites; run make test-clients")


class Suite(NamedTuple):
    """One suite: its place, pytest's arguments, the minimum number of passing tests, and its needs: vocabularies, a
    checkout in the folder `TOKSMITH_SUITES`, or code next to its tests."""

    folder: str
    tests: tuple[str, ...]
    least: int
    vocabularies: bool = False
    checkout: bool = False
    support: tuple[str, ...] = ()


ROWS = {
    "tokenizers": Suite("tokenizers-0.23.3/bindings/python", ("tests",), 125),
    "transformers": Suite("transformers-5.23.0", (str(HERE / "clients" / "mixin.py"),), 220),
    "minbpe": Suite("minbpe", ("tests",), 21, vocabularies=True, checkout=True),
    "nanochat": Suite("nanochat", ("tests/test_tokenizer.py",), 9, checkout=True, support=("nanochat",)),
    "rustbpe": Suite("rustbpe", ("tests/python",), 7, checkout=True),
    "sentencepiece": Suite("sentencepiece-0.2.3", ("test",), 51),
    "tiktoken": Suite("tiktoken-0.14.0", ("tests",), 31, vocabularies=True),
}


MARKS = ("  network", "  slow", "  timeout", "  thread_unsafe")


def with_vocabularies(folder: Path) -> dict[str, str]:
    """The variables with which tiktoken finds the published vocabularies, copied from the test data."""
    folder.mkdir()
    for row in ENCODINGS.values():
        shutil.copy(
            existing_or_skip(DATA) / "vocab" / row.url.rpartition("/")[2],
            folder / hashlib.sha1(row.url.encode()).hexdigest(),
        )
    return {"TIKTOKEN_CACHE_DIR": str(folder), "TIKTOKEN_MAX_EXAMPLES": "20"}


def copied(suite: Suite, folder: Path) -> Path:
    """The suite's tests without the library next to them."""
    whole = SUITES / suite.folder
    if suite.checkout:
        whole = Path(os.environ.get("TOKSMITH_SUITES", "/nowhere")) / suite.folder
        if not whole.is_dir():
            pytest.skip(f"lacks a checkout of {suite.folder} in the folder that TOKSMITH_SUITES names")
    folder.mkdir()
    for each in (*suite.tests, *suite.support):
        if (whole / each).is_dir():
            shutil.copytree(whole / each, folder / each)
        elif not Path(each).is_absolute():
            (folder / each).parent.mkdir()
            shutil.copy(whole / each, folder / each)
    return folder


def with_enwik8(folder: Path) -> dict[str, str]:
    """The variable with which rustbpe's tests find the text that they would download: the test corpora in its place."""
    (folder / "rustbpe").mkdir(parents=True)
    with (folder / "rustbpe" / "enwik8").open("wb") as out:
        for file in sorted((existing_or_skip(DATA) / "corpora").glob("*.jsonl.gz")):
            out.write(gzip.decompress(file.read_bytes()))
    return {"XDG_CACHE_HOME": str(folder)}


def run(name: str, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Run a suite; return its results and the reasons of excluded tests."""
    suite, report = ROWS[name], folder / "report.xml"
    where = copied(suite, folder / "python")  # HF's tests need a folder with this name
    config = folder / "pytest.ini"
    lines = ["[pytest]", "python_files = test_*.py *_test.py mixin.py", "markers =", *MARKS]
    config.write_text("\n".join(lines), encoding="utf-8")
    ignored = [f"--ignore={each}" for each in IGNORED.get(name, {})]
    plugins = [
        "-p",
        "clients.plugin",
        "-p",
        "no:cacheprovider",
        *(["-p", "no:asyncio"] if name != "tokenizers" else []),
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(config), "--rootdir", str(where), *plugins, *ignored]
    asked = {"TOKSMITH_CLIENT": name, "TOKSMITH_SUITE": str(SUITES / suite.folder), "HF_HUB_OFFLINE": "1"}
    if suite.vocabularies:
        asked |= with_vocabularies(folder / "cache")
    if name == "rustbpe":
        asked |= with_enwik8(folder / "cache")
    paths = os.pathsep.join([str(HERE), str(HERE.parent / "python")])
    subprocess.run(
        [*command, "-W", "ignore", f"--junitxml={report}", *suite.tests],
        cwd=where,
        env={**os.environ, **asked, "PYTHONPATH": paths},
        check=False,
    )
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case in Xml.parse(report).getroot().iter("testcase"):
        skipped = case.find("skipped")
        wrong = case.find("failure") is not None or case.find("error") is not None
        counts["failed" if wrong else "passed" if skipped is None else "skipped"] += 1
        if skipped is not None:
            reasons[skipped.get("message", "")] += 1
    for reason in IGNORED.get(name, {}).values():
        reasons[f"excluded: {reason} (a file)"] += 1
    return counts, reasons


@pytest.mark.parametrize("name", ROWS)
def test_a_suite_passes_except_for_excluded_tests(name: str, tmp_path: Path) -> None:
    counts, reasons = run(name, tmp_path)
    said = "; ".join(f"{count} {reason.removeprefix('excluded: ')}" for reason, count in sorted(reasons.items()))
    print(f"\n| {name} | {counts['passed']} | {counts['failed']} | {counts['skipped']} | {said} |")
    assert counts["failed"] == 0 and counts["passed"] >= ROWS[name].least, counts


INSTALLED = """
import sys
from toksmith import compat
compat.install("tokenizers")
import transformers
from transformers import AutoTokenizer, BertTokenizerFast
folder = sys.argv[1]
open(f"{folder}/vocab.txt", "w").write("\\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "world", "##s"]))
bert = BertTokenizerFast(vocab=f"{folder}/vocab.txt")
bert.save_pretrained(folder)
auto = AutoTokenizer.from_pretrained(folder)
for tok in (bert, auto):
    print(type(tok.backend_tokenizer).__module__, tok("Hello worlds", "hello")["input_ids"], tok.decode([2, 5, 6, 7, 3]))
"""


def test_transformers_runs_on_an_installed_drop_in(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(HERE.parent / "python"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", INSTALLED, str(tmp_path)], capture_output=True, text=True, env=env, check=True
    )
    said = "toksmith.compat.tokenizers._tokenizer [2, 5, 6, 7, 3, 5, 3] [CLS] hello worlds [SEP]"
    assert run.stdout.splitlines() == [said, said]
