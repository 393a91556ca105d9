"""Threads, forks, spawned processes and Ctrl-C: one tokenizer serves them all, and no call holds up an interrupt."""

import multiprocessing
import pickle
import re
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from hard_texts import HARD_TEXTS
from processors import LIMIT_S, interrupt, run_script, until
from systems import needs

import toksmith
from toksmith import Tokenizer, reference
from toksmith._base.threads import cached_property

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
BATCH = [*REAL_TEXT.splitlines(), *HARD_TEXTS.values()] * 3


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(REAL_TEXT, 800, special_tokens=["<|stop|>"])


def test_many_threads_share_one_tokenizer(tok: Tokenizer) -> None:
    expected = [tok.encode(text) for text in BATCH]
    texts = [tok.decode(ids) for ids in expected]
    barrier = threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        for turn in range(2):
            start = (number * 31 + turn * 17) % len(BATCH)
            assert [tok.encode(text) for text in BATCH[start:]] == expected[start:]
            assert tok.encode_batch(BATCH[start:], threads=1 + number % 3) == expected[start:]
            assert tok.decode_batch(expected[start:], threads=2) == texts[start:]
            assert tok.count_batch(BATCH).sum() == sum(map(len, expected))
            assert tok.fingerprint and tok.vocab_size == 800

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, number) for number in range(8)]:
            done.result(timeout=LIMIT_S)


FORKS = """
    import os, signal, sys, threading, warnings
    warnings.simplefilter("ignore")  # Python warns about a fork with threads
    import toksmith
    from toksmith import reference
    lines = open(reference.__file__, encoding="utf-8").read().splitlines() * 5
    long = "\\n".join(lines * 40)
    tok = toksmith.train(lines, 600, threads=2, progress=False)
    expected = tok.encode_batch(lines, threads=2)
    flat, of_long = [id for ids in expected for id in ids], tok.encode(long, threads=1)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            tok.encode_batch(lines, threads=2)
            tok.encode_array(long, threads=3)
            tok.release()

    thread = threading.Thread(target=busy)
    thread.start()
    for _ in range(4):
        child = os.fork()
        if child == 0:
            signal.alarm(600)
            tok.release()
            same = tok.memory().sessions == 0 and tok.encode(long, threads=2) == of_long
            same &= tok.encode_batch(lines, threads=2) == expected
            same &= tok.encode_ragged(lines, threads=3).ids.tolist() == flat
            same &= toksmith.train(lines, 600, threads=2, progress=False) == tok
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert tok.encode_batch(lines, threads=2) == expected
    stop.set()
    print("equal")
"""


@pytest.mark.slow
@needs("fork")
def test_after_a_fork_with_threads_the_child_encodes_trains_and_releases() -> None:
    assert run_script(FORKS) == "equal\n"


@pytest.mark.slow
def test_spawned_processes_get_a_tokenizer_by_pickle(tok: Tokenizer) -> None:
    expected = [tok.encode(text, special="text") for text in BATCH]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(tok.encode, BATCH, chunksize=200)) == expected
        assert pool.submit(Tokenizer, tok.model).result() == tok


@pytest.mark.slow
def test_errors_of_other_processes_keep_their_attributes(tok: Tokenizer) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
            pool.submit(tok.encode, "é<|stop|>").result()
        assert (caught.value.token, caught.value.offset, caught.value.index) == ("<|stop|>", 1, None)
        with pytest.raises(toksmith.errors.UnknownId) as unknown:
            pool.submit(tok.decode, [97, 5000]).result()
        assert (unknown.value.id, unknown.value.position, unknown.value.vocab_size) == (5000, 1, 800)


def test_every_exception_survives_pickling() -> None:
    errors = [
        toksmith.errors.FormatError("a.txt", 17, "is no base64"),
        toksmith.errors.UnknownFormat("a.txt", None, "matches no format"),
        toksmith.errors.CannotRepresent("tiktoken", "merges", "it has no room"),
        toksmith.errors.ModelError("two tokens have this id", 5),
        toksmith.errors.PatternError("(a", "it is too hard", 5, 2),
        toksmith.errors.TextTooLong("normalizers[0] (replace)", 1 << 20, 2),
        toksmith.errors.SpecialTokenInText("<|a|>", 5, 2),
        toksmith.errors.NotInVocabulary(b"\xff", 3),
        toksmith.errors.UnknownId(5, 1, 4),
        toksmith.errors.UnknownName("pattern", "gpt3", ["gpt2"]),
        toksmith.errors.InvalidOption("merges", -1, "at least 0"),
        toksmith.errors.CorpusError("a.txt", 3, "is no JSON"),
        toksmith.errors.JobError("out", "there is no job.json"),
        toksmith.errors.DownloadError("http://x", "ab", "/tmp/x", "is gone"),
        toksmith.errors.CheckpointError(28, "/tmp/x", "No space left on device", None),
        toksmith.errors.TrainingInterrupted(None, "counting"),
    ]
    all_errors = {getattr(toksmith.errors, name) for name in toksmith.errors.__all__}
    assert {type(error) for error in errors} == all_errors - {toksmith.ToksmithError}
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
        assert isinstance(error, toksmith.ToksmithError) != isinstance(error, KeyboardInterrupt)


@needs("free threads")
def test_the_module_declares_whether_it_needs_the_gil() -> None:
    script = "import sys, warnings; warnings.simplefilter('ignore'); import toksmith; print(sys._is_gil_enabled())"
    source = (Path(__file__).parents[2] / "crates" / "py" / "src" / "lib.rs").read_text(encoding="utf-8")
    assert run_script(script).strip() == str("#[pymodule(gil_used = true)]" in source)


INTERRUPTED = """
    import signal, sys, time, numpy as np, toksmith
    from toksmith import reference
    signal.signal(signal.SIGINT, signal.default_int_handler)
    text = open(reference.__file__, encoding="utf-8").read()
    tok = toksmith.train(text, 800, progress=False)
    raw = toksmith.train("ab " * 1000 + "a" * 1000, 280, pattern=None, progress=False)
    letters = np.frombuffer(b"aaabcdeeefghiiijklmnoooprstuvwxyz     ", np.uint8)
    noise = letters[np.random.default_rng(1).integers(0, len(letters), 30_000_000, np.uint8)].tobytes() * 5
    written = noise.decode()
    ids = np.full(15_000_000, 300)
    calls = {
        "encode_batch": lambda: tok.encode_batch([text] * 60_000),
        "encode_ragged": lambda: tok.encode_ragged([text] * 60_000),
        "count_batch": lambda: tok.count_batch([text] * 60_000, threads=1),
        "encode": lambda: tok.encode_array(written),
        "one piece": lambda: raw.encode_array(noise),
        "short texts": lambda: tok.count_batch(["hello world"] * 15_000_000),
        "a list of ids": lambda: tok.encode(written),
        "bytes": lambda: tok.encode_array(noise),
        "count": lambda: tok.count(written),
        "a generator": lambda: tok.encode_ragged(text for _ in range(10**9)),
        "empty strings": lambda: tok.encode_batch([""] * 15_000_000),
        "decode an array": lambda: [tok.decode_bytes(ids) for _ in range(100)],
        "decode an array to text": lambda: [tok.decode(ids.astype(np.uint32)) for _ in range(100)],
        "decode a list": lambda: [tok.decode([300] * 15_000_000) for _ in range(100)],
        "decode a generator": lambda: tok.decode(300 for _ in range(10**9)),
        "decode_batch": lambda: [tok.decode_batch([[300] * 100] * 300_000) for _ in range(100)],
    }
    for name, call in calls.items():
        print(name, flush=True)
        try:
            call()
        except KeyboardInterrupt:
            print(time.process_time(), flush=True)
        assert tok.decode(tok.encode("still works")) == "still works"
"""


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_ends_every_call() -> None:
    """Each call needs from 3 to 100 seconds of the processor; after the signal it gets one and a half."""
    command, names = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)], []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            for name in iter(child.stdout.readline, ""):
                before = interrupt(child, at_work_s=0.15)
                ended = child.stdout.readline()
                assert re.fullmatch(r"[\d.]+\n", ended), f"{name.strip()} ended before Ctrl-C: make it longer"
                assert float(ended) - before < 1.5, name
                names.append(name)
            assert child.wait(LIMIT_S) == 0
        finally:
            child.kill()
    assert len(names) > 10


def test_a_cached_property_of_one_object_does_not_hold_up_another() -> None:
    entered, free = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, waits: bool) -> None:
            self.waits = waits

        @cached_property
        def value(self) -> bool:
            entered.set()
            return free.wait() if self.waits else True

    first, second = (threading.Thread(target=getattr, args=(Slow(waits), "value")) for waits in (True, False))
    first.start()
    try:
        entered.wait()
        second.start()
        until(lambda: not second.is_alive(), "the second object has its value")
    finally:
        free.set()
        first.join()
        second.join()
