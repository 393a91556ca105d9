"""`toksmith.accelerate`: calls of transformers' tokenizers have equal results with the switch and without it.

Sessions of drawn calls and changes (tests/dropins/switch_cases.py) are compared in every field, with every error, log line and
state. With `TOKSMITH_EXHAUSTIVE=1` there are 1,000,000 lines. Further tests use published vocabularies, threads and forks.
"""

import copy
import functools
import os
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from drawn_texts import Drawing
from dropins import Case, Comparison, compare
from peers import documents, imported_transformers
from processors import until
from systems import needs

import toksmith

transformers = imported_transformers()
import tokenizers
from dropins import switch_cases
from dropins.switch_cases import Session

FULL = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
LINES, PARTS = (1_000_000, 20) if FULL else (4_000, 1)
REAL_LINES = 5_000 if FULL else 100
NAMES: dict[str, Any] = {"lib": tokenizers, "transformers": transformers, "Fast": transformers.PreTrainedTokenizerFast}
TEXTS = ["", "low lower", "the newest hello world", "<s> 12 é</s>", "漢字 don't " * 9]


def check_sessions(sessions: Iterator[Session]) -> Comparison:
    """Compare sessions; fail with the shortest form of the first ones that differ."""
    found = compare((case for each in sessions for case in cases(each)), [])
    said = []
    for case, _ in found.unexplained[:3]:
        short = switch_cases.shortened(case.about["session"], case.about["place"], cases)
        fields = {
            name: (value, case.ours.get(name)) for name, value in case.peer.items() if value != case.ours.get(name)
        }
        said.append(f"{short.code}\n" + "\n".join(short.lines) + f"\n  there, here: {str(fields)[:600]}")
    assert not said, f"{len(found.unexplained)} of {found.cases} lines differ\n" + "\n\n".join(said)
    print(f"{found.cases:,} lines, {len(found.features):,} kinds of tokenizers")
    return found


def cases(played: Session) -> Iterator[Case]:
    return switch_cases.cases(played, NAMES, functools.partial(toksmith.accelerated, check_every=None))


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_calls_are_equal_in_every_field(part: int) -> None:
    rng = random.Random(part)
    found = check_sessions(switch_cases.session(rng) for _ in range(LINES // PARTS // switch_cases.LINES))
    assert found.cases > LINES // PARTS // 2
    assert {each.split(",")[0] for each in found.features} >= {*switch_cases.STRUCTURES}


PUBLISHED = {
    "gpt2_tokenizer.json": "gpt2",
    "llama3.tiktoken": "llama3",
    "mistral_v1.model": "",
    "cl100k_base.tiktoken": "cl100k",
}


@pytest.mark.proof
@pytest.mark.parametrize("file", PUBLISHED)
def test_published_vocabularies_are_equal(file: str, vocab_dir: Path, corpora_dir: Path, tmp_path: Path) -> None:
    given = {"pattern": PUBLISHED[file]} if file.endswith(".tiktoken") else {}
    toksmith.load(vocab_dir / file, **given).save(f"{tmp_path}/f/")
    real = [next(documents(path))[:5_000] for path in sorted(corpora_dir.glob("*.jsonl.gz"))]
    rng = random.Random(file)
    lines = [f"f({[*real]!r})", f"f({real[0]!r}, return_offsets_mapping=True)"]
    for text in Drawing(1, real).texts(REAL_LINES):
        given_texts = rng.choice((repr(text), repr([text, text[::2]]), f"{text!r}, {text[::3]!r}"))
        lines += [
            f"f({given_texts}{switch_cases.options(rng)})",
            f"f.decode(f({text!r})['input_ids'], skip_special_tokens={rng.random() < 0.5})",
        ]
        if rng.random() < 5 / REAL_LINES:
            lines.append(f"f.add_tokens([{text[:9]!r}, '<new>'])")
    code = f"f = Fast.from_pretrained({str(tmp_path / 'f')!r}); f.pad_token = f.pad_token or '<pad>'"
    check_sessions(iter([Session(file, code, tuple(lines))]))


def loaded(name: str = "Llama 3", **more: Any) -> Any:
    """A new tokenizer of a structure."""
    space = switch_cases.namespace(
        switch_cases.STRUCTURES[name][0].replace("Kind(", "Fast("), **switch_cases.NAMES, **NAMES
    )
    return space["f"]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that reach the library's encoder and decoder."""
    reached: list[str] = []

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            reached.append(method.__name__)
            return method(*args, **options)

        return call

    for name in ("decode", "encode_batch", "encode"):
        monkeypatch.setattr(tokenizers.Tokenizer, name, counted(getattr(tokenizers.Tokenizer, name)))
    return reached


@pytest.mark.parametrize("name", switch_cases.STRUCTURES)
def test_the_engine_runs_the_usual_calls(name: str, runs: list[str]) -> None:
    tok = loaded(name)
    with toksmith.accelerated(check_every=None):
        tok("low")
        runs.clear()
        for options in (
            {},
            {"padding": True, "truncation": True, "max_length": 5},
            {"return_offsets_mapping": True},
            {"add_special_tokens": False},
        ):
            made = tok(TEXTS[1:], **options)
            made.word_ids(0), made.char_to_token(0, 1)
        tok("low", "lower"), tok.tokenize("low"), tok.encode("low"), tok.batch_decode(made["input_ids"])
        tok.add_tokens(["<new>"])
        runs.clear()
        assert tok("<new>")["input_ids"] and not {*runs} - {"encode_batch", "decode"}, (
            "the comparison of the new content may run"
        )
        runs.clear()
        tok("<new> low"), tok.decode([1, 2], skip_special_tokens=True)
        assert not runs
    tok("low")
    assert runs == ["encode_batch"], "after the switch, the library runs"


def test_pickles_hold_nothing_of_the_switch() -> None:
    tok = loaded()
    before = pickle.dumps(tok), pickle.dumps(tok(TEXTS))
    with toksmith.accelerated():
        made = tok(TEXTS)
        assert pickle.dumps(tok) == before[0]
        assert b"toksmith" not in pickle.dumps(made), "it loads where toksmith is missing"
        for other in (copy.copy(tok), copy.deepcopy(tok), pickle.loads(before[0])):
            assert {**other(TEXTS)} == {**made}
        assert pickle.loads(pickle.dumps(made)).word_ids(1) == made.word_ids(1)
    assert {**made} == {**tok(TEXTS)} and made.char_to_token(1, 1) is not None


def test_a_subclass_with_a_property_for_its_tokenizer_stays_on_the_library() -> None:
    code = f"class Kind(Fast):\n {switch_cases.KINDS['_tokenizer']}\n{switch_cases.STRUCTURES['Bert'][0]}"
    words = "kept = f([['low', 'er'], ['new']], is_split_into_words=True)"
    check_sessions(iter([Session("property", code, (words, "pickle.loads(pickle.dumps(kept))"))]))


def test_threads_encode_while_the_switch_turns() -> None:
    toks = [loaded(name) for name in switch_cases.STRUCTURES]
    expected = [[{**tok(text)} for text in TEXTS] for tok in toks]
    wrong: list[Any] = []
    ended = threading.Event()

    def encode() -> None:
        try:
            while not ended.is_set():
                for tok, rows in zip(toks, expected, strict=True):
                    found = [{**tok(text)} for text in TEXTS]
                    wrong.extend((tok, a, b) for a, b in zip(found, rows, strict=True) if a != b)
        except BaseException as error:  # noqa: BLE001 - the main thread reports it
            wrong.append(error)

    threads = [threading.Thread(target=encode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        with toksmith.accelerated():
            assert {**toks[0](TEXTS[1])} == expected[0][1]
    ended.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:2]


def test_a_change_in_one_thread_is_followed_in_all() -> None:
    tok = loaded()
    text = "low <0> <1> <2> <3>"
    with toksmith.accelerated():
        for number in range(4):
            before = tok(text)["input_ids"]
            seen: list[list[int]] = []
            threads = [
                threading.Thread(target=lambda seen=seen: seen.extend(tok(text)["input_ids"] for _ in range(50)))
                for _ in range(3)
            ]
            for thread in threads:
                thread.start()
            tok.add_tokens([f"<{number}>"])
            after = tok(text)["input_ids"]
            for thread in threads:
                thread.join()
            assert len(after) < len(before) and all(each in (before, after) for each in seen)
            assert tok(text)["input_ids"] == after
    assert tok(text)["input_ids"] == after


def status_of(child: int) -> int:
    """The status with which a child ends."""
    ends = [0, 0]

    def has_ended() -> bool:
        ends[:] = os.waitpid(child, os.WNOHANG)
        return bool(ends[0])

    until(has_ended, "the child ends")
    return ends[1]


@needs("fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_forks_encode_while_a_thread_builds_engines() -> None:
    tok, ended = loaded(), threading.Event()
    expected = {**tok(TEXTS)}
    new = copy.deepcopy(tok)
    new.add_tokens(["<new>"])
    added = {**new(TEXTS[2])}

    def build() -> None:
        while not ended.is_set():
            loaded("Bert")("low")

    with toksmith.accelerated():
        assert {**tok(TEXTS)} == expected
        builder = threading.Thread(target=build)
        builder.start()
        try:
            for _ in range(10):
                child = os.fork()
                if not child:
                    try:
                        equal = {**tok(TEXTS)} == expected
                        tok.add_tokens(["<new>"])
                        os._exit(0 if equal and {**tok(TEXTS[2])} == added else 1)
                    finally:
                        os._exit(2)
                assert status_of(child) == 0
        finally:
            ended.set()
            builder.join()
