"""Jobs of very many files and of very long documents: time grows with the input, and memory stays as documented."""

import gzip
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from job_corpus import END, TOK
from processors import LIMIT_S, new_words
from systems import needs

import toksmith
from toksmith._jobs.plans.plan import BASE, PER_BYTE, PER_THREAD, memory_per_byte
from toksmith._jobs.sinks import SINKS
from toksmith.errors import CorpusError, InvalidOption

HUGE = bool(os.environ.get("TOKSMITH_HUGE"))
FILES = 1_000_000 if HUGE else 5_000
PLANNED_IN = 200_000_000  # bytes of memory, of any number of local files up to a million
PER_FILE = 2_000  # bytes of memory for each input file, as docs/corpus.md says
STEPS = {
    "plan": "toksmith.corpus.plan(toksmith.load(folder + '/tok.toksmith'), Path(folder, 'in'), out, shard_size=16_000_000)",
    "status": "toksmith.corpus.Job.at(out).status()",
    "run": "toksmith.corpus.Job.at(out).run(part='0/1', threads=1, progress=False)",
    "finish": "toksmith.corpus.Job.at(out).finish()",
}
SCRIPT = """
    import sys, time, toksmith
    from pathlib import Path
    folder, out = sys.argv[1], sys.argv[1] + "/out"
    before = time.process_time()
    STEP
    taken = time.process_time() - before
    print(taken, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measured(folder: Path, step: str) -> tuple[float, int]:
    """The processor seconds and the peak bytes of memory of a step in a separate process."""
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(SCRIPT).replace("STEP", textwrap.dedent(step).strip()),
        str(folder),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=10 * LIMIT_S, check=True)
    taken, most_kib = done.stdout.split()
    return float(taken), int(most_kib) << 10


def many_files(folder: Path, count: int) -> Path:
    """A tokenizer, and a corpus of `count` small files, a thousand in a folder."""
    for number in range(count):
        if not number % 1000:
            place = folder / "in" / f"{number // 1000:04}"
            place.mkdir(parents=True)
        with open(f"{place}/{number}.txt", "wb") as file:
            file.write(b"low lower %d" % number)
    TOK.save(folder / "tok.toksmith")
    return folder


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.alone
@pytest.mark.slow
@needs("proc")
def test_very_many_files_take_bounded_memory(tmp_path: Path) -> None:
    many = many_files(tmp_path / "many", FILES)
    few = many_files(tmp_path / "few", FILES // 10) if HUGE else None
    for name, step in STEPS.items():
        taken_s, most = measured(many, step)
        print(f"{name} of {FILES:,} files: {taken_s:.1f} s of the processor, {most / 1e6:,.0f} MB")
        assert most < BASE + PER_THREAD + FILES * PER_FILE
        assert name != "plan" or most < PLANNED_IN
        if few is not None:
            # Linear is ten times; a busy machine and a cold disk may double it.
            least_s, _ = measured(few, step)
            assert taken_s < 25 * least_s + 0.5, f"{name}: {FILES // 10:,} files take {least_s} s"
    assert toksmith.corpus.Job.at(many / "out").status().documents == FILES


def long_document(folder: Path, name: str) -> int:
    """A tokenizer and a corpus of one document of 1 GB; gives its length."""
    (folder / "in").mkdir(parents=True)
    TOK.save(folder / "tok.toksmith")
    text = new_words(1020)
    data = b'{"text": "' + text + b'"}\n' if ".jsonl" in name else text
    with gzip.open(folder / "in" / name, "wb", 1) if name.endswith(".gz") else open(folder / "in" / name, "wb") as file:
        file.write(data)
    return len(text)


def limited(folder: Path) -> None:
    """A job that may use 2 GB. The length of a text that is a file is in the plan; others are too long when they are read."""
    job = toksmith.corpus.plan(TOK, folder / "in", folder / "refused", max_memory=2 * 10**9)
    job.run(progress=False, threads=1)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif(not HUGE, reason="lacks TOKSMITH_HUGE=1 (7 GB of memory, minutes)")
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_document_of_1_gb_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    size = long_document(tmp_path, name)
    assert size > 10**9
    with pytest.raises((InvalidOption, CorpusError), match=r"max_memory"):
        limited(tmp_path)
    measured(tmp_path, STEPS["plan"])
    taken_s, most = measured(tmp_path, STEPS["run"])
    print(f"{name}: {taken_s:.1f} s of the processor, {most / 1e6:,.0f} MB of memory")
    assert most < BASE + PER_THREAD + PER_BYTE * size
    done = toksmith.corpus.Job.at(tmp_path / "out").finish()
    assert (done.documents, done.text_bytes) == (1, size)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif(not HUGE, reason="lacks TOKSMITH_HUGE=1 (4 GB of memory)")
@pytest.mark.parametrize("to", SINKS)
def test_a_long_document_takes_bounded_memory_in_every_format(to: str, tmp_path: Path) -> None:
    """Of nearly as many ids as bytes, which takes the most memory."""
    (tmp_path / "in").mkdir()
    TOK.save(tmp_path / "tok.toksmith")
    text = new_words(90)
    (tmp_path / "in" / "a.txt").write_bytes(text)
    job = toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", to=to, append=END)
    _, most = measured(tmp_path, STEPS["run"])
    print(f"{to}: {most / 1e6:,.0f} MB of memory")
    assert most < BASE + PER_THREAD + memory_per_byte(job._plan) * len(text)


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif(not HUGE, reason="lacks TOKSMITH_HUGE=1 (3 GB of memory, minutes)")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_row_of_1_gb_is_refused(name: str, tmp_path: Path) -> None:
    """Whatever `errors` says: a row has at most 256 MiB."""
    long_document(tmp_path, name)
    measured(tmp_path, STEPS["plan"])
    refused = """
        try:
            toksmith.corpus.Job.at(out).run(threads=1, progress=False)
        except toksmith.errors.CorpusError as error:
            assert "a row has more than 268435456 bytes" in str(error), error
        else:
            raise AssertionError("it was not refused")
    """
    _, most = measured(tmp_path, refused)
    print(f"{name}: {most / 1e6:,.0f} MB of memory")
    assert most < BASE + PER_THREAD + PER_BYTE * (1 << 28)
