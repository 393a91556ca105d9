"""A tokenizer keeps little memory between calls for any number of threads, and nothing after `release`."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processors import LIMIT_S, run_script
from shown_results import check_shown
from systems import needs

import toksmith
from toksmith import Tokenizer, reference
from toksmith._base import system

TEXT = Path(reference.__file__).read_text(encoding="utf-8")
MIB = 1 << 20
MOST_SESSIONS = min(64, max(4, system.SYSTEM.processors()))

# Each word occurs once, so the cache of pieces grows; a barrier starts all threads together.
THREADS = """
    import json, random, sys, threading
    import toksmith

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def text(seed):
        draw = random.Random(seed)
        return " ".join("".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 14))) for _ in range(30_000))

    kind = sys.argv[1]
    options = {"bytes": {}, "characters": {"unit": "char", "pattern": None}}[kind]
    tok = toksmith.train([text(seed) for seed in range(4)], 700, progress=False, **options)
    texts = [text(seed) for seed in range(4)]
    expected = [tok.encode(text) for text in texts]
    tok.release()
    before, barrier, wrong = resident(), threading.Barrier(128), []

    def work(number):
        barrier.wait()
        if tok.encode_array(texts[number % 4], threads=1).tolist() != expected[number % 4]:
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(128)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept, after = tok.memory().to_dict(), resident()
    tok.release()
    released, last = tok.memory().to_dict(), resident()
    assert not wrong and [tok.encode(text) for text in texts] == expected
    print(json.dumps([kept, released, after - before, last - before]))
"""


@pytest.mark.slow
@needs("proc")
@pytest.mark.parametrize("kind", ["bytes", "characters"])
def test_128_threads_leave_the_memory_of_a_few(kind: str) -> None:
    kept, released, grown, left = json.loads(run_script(THREADS, kind))
    assert 0 < kept["sessions"] <= 2 * MOST_SESSIONS  # sessions of the encoder, and of the engine for characters
    assert kept["session_bytes"] < 16 * MIB * kept["sessions"]
    # The allocator keeps a part of the memory of 128 threads, which is more than 4 MiB for each.
    assert grown < kept["session_bytes"] + 256 * MIB
    assert (released["sessions"], released["session_bytes"]) == (0, 0)
    assert left < 256 * MIB


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(TEXT, 600, progress=False)


@pytest.mark.slow
def test_a_long_piece_leaves_no_buffers() -> None:
    raw = toksmith.train("ab" * 100, 258, pattern=None, progress=False)
    drawn = "".join(chr(97 + number * number % 26) for number in range(1 << 20))
    assert raw.decode(raw.encode(drawn * 8)) == drawn * 8
    assert raw.memory().session_bytes < 20 * MIB


def test_memory_reports_each_part() -> None:
    tok = toksmith.train("low lower lowest", 262, progress=False)
    fresh = tok.memory()
    assert fresh.sessions == fresh.session_bytes == fresh.healing == 0
    assert fresh.model >= len(tok.model.tokens.blob) and fresh.tables > 0
    ids = tok.encode("lower " * 100)
    tok.heal("low lo")
    used = tok.memory()
    assert used.sessions == 1 and used.session_bytes > 0 and used.healing > 0
    assert used.first_use > fresh.first_use
    assert used.total == used.model + used.tables + used.first_use + used.healing + used.session_bytes
    assert used.to_dict() == {**vars(used), "total": used.total}
    check_shown(used)
    assert "1 session kept for the next call" in str(used)
    tok.release()
    released = tok.memory()
    assert (released.sessions, released.session_bytes, released.healing) == (0, 0, 0)
    assert (released.tables, released.first_use) == (used.tables, used.first_use)
    assert tok.encode("lower " * 100) == ids
    with pytest.raises(AttributeError):
        used.sessions = 3  # type: ignore[misc]


def test_release_while_others_encode(tok: Tokenizer) -> None:
    lines = TEXT.splitlines()
    expected = [tok.encode(line) for line in lines]
    done = threading.Event()

    def release() -> int:
        rounds = 0
        while not done.is_set():
            tok.release()
            assert tok.memory().sessions <= MOST_SESSIONS
            rounds += 1
        return rounds

    with ThreadPoolExecutor(6) as pool:
        releasing = pool.submit(release)
        work = [pool.submit(tok.encode_batch, lines, threads=2) for _ in range(40)]
        found = [task.result(timeout=120) for task in work]
        done.set()
        assert releasing.result(timeout=LIMIT_S) > 0
    assert all(ids == expected for ids in found)


ONE_TEXT = """
import toksmith

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

tok = toksmith.train("low lower", 260, progress=False)
text = "ab " * (8 << 20)
tok.encode_ragged(["low"])
before = peak()
ids = tok.encode_ragged([text], threads=1).ids
print((peak() - before) / ids.nbytes)
"""


@pytest.mark.slow
@needs("proc")
def test_the_ids_of_one_text_are_not_in_memory_twice() -> None:
    assert float(run_script(ONE_TEXT)) < 1.5
