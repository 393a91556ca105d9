"""How many files of the package a reader follows in four walks: those with a function that runs in a second, equal call.

In the first call modules are imported and tables are made. What the second call runs is the walk itself.
"""

import subprocess
import sys
from pathlib import Path

import pytest

WALK = """
import sys, threading
from pathlib import Path
import toksmith
from toksmith._cli import main

PACKAGE = str(Path(toksmith.__file__).parent)
DATA = Path(sys.argv[1])
calls = {
    "load": lambda: toksmith.load(DATA / "tok.toksmith"),
    "convert": lambda: toksmith.convert(DATA / "tok.toksmith", DATA / "tok.tiktoken"),
    "count": lambda: main(),
    "shard": lambda: toksmith.corpus.run_shard(DATA / "job" / "job.json", 0),
}
call = calls[sys.argv[2]]
sys.argv = ["toksmith", "count", str(DATA / "corpus.txt"), "--tokenizer", str(DATA / "tok.toksmith")]
entered = set()


def note(frame, event, argument):
    if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
        entered.add(frame.f_code.co_filename[len(PACKAGE) + 1 :])


for profile in (None, note):
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    except SystemExit as ended:
        assert not ended.code
    sys.setprofile(None)
print("files:", *sorted(entered))
"""
MOST = {"load": 8, "convert": 19, "count": 12, "shard": 19}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import toksmith

    folder = tmp_path_factory.mktemp("walks")
    corpus = folder / "corpus.txt"
    corpus.write_text("low lower lowest\n" * 100, encoding="utf-8")
    tok = toksmith.train("low lower lowest", 262, pattern="cl100k")
    tok.save(folder / "tok.toksmith")
    toksmith.corpus.plan(tok, corpus, folder / "job")
    return folder


@pytest.mark.parametrize("walk", MOST)
def test_walks_enter_few_files(data: Path, walk: str) -> None:
    made = subprocess.run([sys.executable, "-c", WALK, str(data), walk], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    files = made.stdout.rpartition("files: ")[2].split()
    assert len(files) <= MOST[walk], f"{walk} enters {len(files)} files: {files}"
