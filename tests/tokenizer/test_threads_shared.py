"""State that threads share: one tokenizer, its streams and sessions, and lists that other threads change.

docs/architecture/threads.md lists what protects each. A free-threaded interpreter runs these side by side.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processors import LIMIT_S, run_script

import toksmith
from toksmith import Tokenizer, _core

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ["low lower lowest slow slower slowest", "é ü 中文 low-lying flows, 1234 flowers"] * 20
THREADS = 6


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(CORPUS, 330, special_tokens=["<|stop|>"], progress=False)


def run_together(*works: Callable[[], object]) -> list[Any]:
    """The result of each on a separate thread; all begin at once."""
    barrier = threading.Barrier(len(works))

    def wait_and_work(work: Callable[[], object]) -> object:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [each.result(timeout=LIMIT_S) for each in [pool.submit(wait_and_work, work) for work in works]]


def run_during(change: Callable[[], object], work: Callable[[], Any], times: int) -> list[Any]:
    """`times` results of `work` while another thread repeats `change`."""
    stop = threading.Event()

    def changing() -> None:
        while not stop.is_set():
            change()

    thread = threading.Thread(target=changing)
    thread.start()
    try:
        return [work() for _ in range(times)]
    finally:
        stop.set()
        thread.join()


@pytest.mark.slow
def test_many_threads_import_names_at_once() -> None:
    script = """
        import threading, toksmith
        barrier, found = threading.Barrier(6), []

        def ask():
            barrier.wait()
            found.append([getattr(toksmith, name) for name in toksmith.__all__])

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for each in threads: each.start()
        for each in threads: each.join()
        print(len(found), all(each == found[0] for each in found))
    """
    assert run_script(script) == "6 True\n"


def test_many_threads_use_a_fresh_tokenizer_at_once(tok: Tokenizer) -> None:
    text = " ".join(CORPUS)

    def work(own: Tokenizer) -> tuple[Any, ...]:
        return (
            own.encode(text),
            own.encode_batch(CORPUS, threads=2),
            own.decode(own.encode(text)),
            own.fingerprint,
            str(own.pattern_fits()),
            str(own.heal("low sl")),
            own.count(text),
            own.truncate(text, 7),
            [own.encoder().feed(text), own.decoder().feed(own.encode(text))],
            own.memory().model,
        )

    expected = work(tok)
    for _ in range(5):
        fresh = Tokenizer(tok.model)
        assert run_together(*[lambda fresh=fresh: work(fresh)] * THREADS) == [expected] * THREADS  # type: ignore[misc]


def test_ids_get_their_shared_objects_from_many_threads() -> None:
    """The first object of an id is shared by the lists of all threads."""
    own = toksmith.train([f"{number:04x}" for number in range(3000)], 2000, pattern=None, progress=False)
    ids = sorted({int(id) for id in own.model.ids} - set(range(400)))
    texts = [own.token_bytes(id) for id in ids]
    lists = run_together(*[lambda: [own.encode(text, threads=1) for text in texts]] * THREADS)
    assert all(each == lists[0] for each in lists)
    singles = [[one[0] for one in each if len(one) == 1 and one[0] > 256] for each in lists]
    assert len(singles[0]) > 500
    assert all(a is b for each in singles for a, b in zip(each, singles[0], strict=True))


def test_a_list_of_texts_can_change_during_a_call(tok: Tokenizer) -> None:
    few = ["low", "é", "slower", "中文 flows"]
    allowed = {text: tok.encode(text) for text in few}
    texts = few * 50
    turn = iter(range(10**9))

    def change() -> None:
        number = next(turn)
        texts[number % 100] = few[number % 4]
        texts.append(few[number % 3])
        del texts[-1 - number % 7 :]
        if len(texts) < 150:
            texts[:] = few * 50

    for found in run_during(change, lambda: tok.encode_batch(texts, threads=2), 60):
        assert all(ids in allowed.values() for ids in found)
    for counts in run_during(change, lambda: tok.count_batch(texts), 60):
        assert {*counts.tolist()} <= {len(ids) for ids in allowed.values()}


def test_a_list_of_ids_can_change_during_a_call(tok: Tokenizer) -> None:
    ids = [97] * 5000
    turn = iter(range(10**9))

    def change() -> None:
        number = next(turn)
        ids[number % 1000] = 97 + number % 3
        ids[500:600] = [100] * (number % 200)
        ids.pop()
        if len(ids) < 2000:
            ids.extend([99] * 3000)

    for found in run_during(change, lambda: tok.decode(ids), 300):
        assert {*found} <= {*"abcd"} and len(found) > 500


def test_an_array_of_ids_can_change_during_a_call(tok: Tokenizer) -> None:
    ids = np.full(5000, 97, np.int64)

    def change() -> None:
        ids[:] = 98
        ids[:] = 97

    for found in run_during(change, lambda: tok.decode(ids), 300):
        assert {*found} <= {*"ab"} and len(found) == 5000


def retry_while_busy(call: Callable[[], Any]) -> Any:
    """The result, after retries while another call uses the stream."""
    while True:
        try:
            return call()
        except RuntimeError as refused:
            assert re.fullmatch(r"another call uses this \w+; make one for each thread, or call in turn", str(refused))


def test_an_encoder_that_threads_share_loses_no_text(tok: Tokenizer) -> None:
    """Calls have no order, but each call is whole."""
    encoder = tok.encoder()
    parts = [f"{word} " for word in ["low", "slow", "lower", "中文", "é", "flowers"]]
    works = [lambda part=part: [retry_while_busy(lambda: encoder.feed(part)) for _ in range(100)] for part in parts]
    ids = [each for fed in run_together(*works) for some in fed for each in some] + encoder.finish()
    assert Counter(tok.decode_bytes(ids)) == Counter("".join(part * 100 for part in parts).encode())


def test_a_decoder_that_threads_share_loses_no_text(tok: Tokenizer) -> None:
    decoder = tok.decoder()
    words = ["low", "slow", "lower", "flowers"]
    every = [tok.encode(word) for word in words]
    works = [lambda ids=ids: [retry_while_busy(lambda: decoder.feed(ids)) for _ in range(100)] for ids in every]
    shown = "".join(text for fed in run_together(*works) for text in fed) + decoder.finish()
    assert Counter(shown) == Counter("".join(word * 100 for word in words))


def test_threads_edit_and_read_a_session(tok: Tokenizer) -> None:
    session = tok.session("low lower ")
    edits = [
        lambda word=word: [retry_while_busy(lambda: session.replace(0, 0, word)) for _ in range(60)]
        for word in ("a ", "é ")
    ]
    begun = threading.Event()

    def read() -> bool:
        begun.wait(LIMIT_S)
        return all(
            {*tok.decode(session.ids)} <= {*"lower aé"} and session.text.endswith("low lower ") for _ in range(60)
        )

    def edit() -> Any:
        begun.set()
        return edits[0]()

    _, _, *read_well = run_together(edit, edits[1], read, read)
    assert read_well == [True, True]
    assert Counter(session.text.split()) == {"a": 60, "é": 60, "low": 1, "lower": 1}
    assert session.ids.tolist() == tok.encode(session.text) and len(session) == len(session.ids)


def test_a_second_call_of_a_stream_is_refused_and_changes_nothing(tok: Tokenizer) -> None:
    decoder = tok.decoder()

    def ids() -> Iterator[int]:
        yield 97
        with pytest.raises(RuntimeError, match="another call uses this decoder; make one for each thread"):
            decoder.feed(98)
        with pytest.raises(RuntimeError, match="another call uses this decoder"):
            decoder.finish()
        yield 99

    assert decoder.feed(ids()) == "ac"
    assert decoder.feed(100) == "d"
    with pytest.raises(toksmith.errors.UnknownId):
        decoder.feed(9999)
    assert decoder.feed(101) == "e"  # the failed call has ended


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_many_threads_train_at_once(kind: Any) -> None:
    def work() -> str:
        return toksmith.train(CORPUS, 300, kind=kind, threads=2, progress=False).fingerprint

    assert len({*run_together(*[work] * 4)}) == 1


def test_a_callback_of_a_counter_gets_the_interpreter(tmp_path: Path) -> None:
    """A thread that waits for the counter must not hold the lock that the callback of another needs."""
    script = f"""
        import threading
        from toksmith import _core
        counter = _core.Counter([r"[a-z]+"], (0, 0), None, {str(tmp_path)!r}, None)
        rows = b'{{"text": "low"}}\\n{{"no": 1}}\\n' * 300

        def refuse(row, problem):
            sum(range(100))

        def rowwise():
            for _ in range(20):
                counter.add_rows(rows, "text", refuse, 2)

        def single():
            for _ in range(3000):
                counter.add(["low"], 1)
                counter.documents

        threads = [threading.Thread(target=work) for work in (rowwise, single, single)]
        for each in threads: each.start()
        for each in threads: each.join()
        print(counter.documents)
    """
    assert run_script(script) == f"{20 * 300 + 2 * 3000}\n"


def test_the_page_names_every_shared_state() -> None:
    """A static, a lock, a cell or a class of the binding, and a cache of the package: each has a row, by file."""
    page = (ROOT / "docs" / "architecture" / "threads.md").read_text(encoding="utf-8")
    shared = re.compile(
        r"^(?!\s*(?:use|//)).*\b(?:Mutex|RwLock|OnceLock|LazyLock|Atomic[A-Z]\w+|\w*Cell|thread_local)\b", re.MULTILINE
    )
    for crate in ("core", "py"):
        for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            source = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests")[0]
            if shared.search(source) and "/tests" not in path.as_posix():
                name = path.relative_to(ROOT / "crates").as_posix().replace("/src/", "/")
                assert f"`{name}`" in page, f"{name} shares state between threads; the page must name its protection"
    for path in sorted((ROOT / "python" / "toksmith").rglob("*.py")):
        name = path.relative_to(ROOT / "python" / "toksmith").as_posix()
        if re.search(
            r"^[A-Z_]+(: .*)? = (\{\}|\[\]|WeakKeyDictionary\(\))$|^\s+global ", path.read_text("utf-8"), re.MULTILINE
        ):
            assert f"`{name}`" in page, f"{name} changes a value of its module; the page must name its protection"


def test_no_class_of_the_binding_can_be_written_to() -> None:
    """PyO3 would refuse a second borrow of such an object at run time."""
    for path in sorted((ROOT / "crates" / "py" / "src").glob("*.rs")):
        for attribute in re.findall(r"#\[pyclass\(([^)]*)\)\]", path.read_text(encoding="utf-8")):
            assert "frozen" in attribute, path
    assert _core.TextCalls.__module__ == "toksmith._core"
