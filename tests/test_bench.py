"""The benchmark's own rules: a wrong engine cannot win, equal questions get equal texts, tables say what was measured."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench import hostile, records, report, runner, texts, tokenizer_json
from bench.__main__ import chosen, chosen_settings, parser
from bench.adapters import OURS, Encoding
from bench.definitions import COST, SPEED, Cell, Question, Target, questions
from bench.expected import Answer
from bench.request import Reply, Request
from bench.texts import Laid

TEXT = Laid("english", "english.utf8", documents=4, bytes=2_000_000)
CELL = Cell("cold", "first", "MB/s", Target(2.0))
QUESTION = Question("documents", "cl100k", "english", "arrays", (CELL,), engines=(OURS, "gigatoken", "fastokens"))
DUE = Answer({"ids": "right", "sizes": "right", "tokens": 1_000_000}, "")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKSMITH_BENCH_CACHE", str(tmp_path))


def outcome(*seconds: float, ids: str = "right", problem: str = "") -> runner.Outcome:
    made = runner.Outcome(TEXT, DUE.tokens)
    for second in seconds or (0.0,):
        made.take(Reply({"first": second} if seconds else {}, {"ids": ids} if not problem else {}, problem), DUE)
    return made


def test_a_wrong_engine_cannot_win() -> None:
    row = records.row(
        QUESTION, CELL, {OURS: outcome(0.01), "gigatoken": outcome(0.001, ids="others"), "fastokens": outcome(0.02)}
    )
    assert row["peer"] == "fastokens"
    assert row["ratio"] == pytest.approx(2.0)
    assert row["reached"] is True
    assert "~~2,000~~" in report.table("cold", [row], [row])
    assert "gigatoken: wrong ids" in report.table("cold", [row], [row])


def test_wrong_ids_of_ours_reach_no_target() -> None:
    row = records.row(QUESTION, CELL, {OURS: outcome(0.001, ids="others"), "fastokens": outcome(1.0)})
    assert (row["ratio"], row["reached"]) == (None, None)


def test_ids_that_are_wrong_once_stay_wrong() -> None:
    made = outcome(0.1, ids="others")
    made.take(Reply({"first": 0.1}, {"ids": "right"}), DUE)
    assert made.wrong == "ids"
    assert not made.goes_on()


def test_a_crashed_engine_is_no_peer_and_is_named() -> None:
    row = records.row(
        QUESTION,
        CELL,
        {OURS: outcome(0.5), "gigatoken": outcome(problem="crashed: SIGSEGV"), "fastokens": outcome(1.0)},
    )
    assert row["peer"] == "fastokens"
    assert row["engines"]["gigatoken"]["median"] is None
    assert "crashed: SIGSEGV" in report.table("cold", [row], [row])


def test_an_engine_on_a_prefix_is_no_peer() -> None:
    question = Question(
        "documents", "cl100k", "english", "arrays", (CELL,), engines=(OURS, "fastokens"), floor=("gigatoken",)
    )
    row = records.row(question, CELL, {OURS: outcome(0.5), "gigatoken": outcome(0.1), "fastokens": outcome(1.0)})
    assert row["peer"] == "fastokens"


@pytest.mark.parametrize(
    ("target", "ours", "peer", "reached"),
    [
        (Target(2.0), 1.0, 2.0, True),  # half the time is twice the speed
        (Target(2.0), 1.0, 1.99, False),
        (Target(0.6, sense=COST), 0.6, 1.0, True),
        (Target(0.6, sense=COST), 0.61, 1.0, False),
        (Target(500, "", COST), 0.5, 9.0, True),
        (Target(500, "", COST), 0.501, 9.0, False),
    ],
)
def test_targets(target: Target, ours: float, peer: float, reached: bool) -> None:
    cell = Cell("x", "first", "MB/s" if target.sense == SPEED else "ms", target)
    row = records.row(QUESTION, cell, {OURS: outcome(ours), "gigatoken": outcome(peer)})
    assert row["reached"] is reached


def test_units() -> None:
    made = outcome(0.5)
    units = {unit: records.in_unit(unit, 0.5, made) for unit in ("MB/s", "Mtok/s", "ns/call", "ms")}
    assert units == {"MB/s": 4.0, "Mtok/s": 2.0, "ns/call": 125_000_000.0, "ms": 500.0}


def test_the_median_is_shown() -> None:
    row = records.row(QUESTION, CELL, {OURS: outcome(1.0, 4.0, 2.0)})
    assert row["engines"][OURS]["median"] == 1.0


def test_each_cell_is_asked_once() -> None:
    cells = [(cell.group, ask.encoding, ask.text) for ask in questions(2) for cell in ask.cells]
    assert len(cells) == len(set(cells))


def test_filters_leave_out_passes_that_nobody_asked_for() -> None:
    options = parser().parse_args(["--only", "cold", "--encodings", "o200k", "--corpora", "english,chinese"])
    asked = [ask for ask in chosen(options) if ask.cells[0].group == "cold"]
    assert all(ask.again == () and len(ask.cells) == 1 for ask in asked)


def test_toksmith_always_takes_part() -> None:
    assert chosen_settings(parser().parse_args(["--peers", "tiktoken"])).peers == ("tiktoken", OURS)


def test_requests_travel_whole() -> None:
    encoding = Encoding("cl100k", "ranks", "file", "cl100k", r"\s+")
    made = Request("documents", "a", encoding, TEXT, "arrays", ("lists",), cpus=(1,), warm=True)
    assert Request.parse(made.dump()) == made


def test_a_laid_out_text_comes_back(tmp_path: Path) -> None:
    rows = ["plain", "", "naïve 中文 😀\r\n", "lone \ud800"]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(json.dumps({"text": row}) for row in rows), encoding="utf-8")
    laid = texts.lay(f"file:{path}", 10**6)
    assert laid.load() == [*rows[:3], "lone ?"]
    assert list(laid.stream()) == laid.load()
    assert laid.documents == 4


def test_a_limit_keeps_whole_documents_and_at_least_one(tmp_path: Path) -> None:
    assert list(texts.capped(["abc", "de", "f"], 5)) == ["abc", "de"]
    assert list(texts.capped(["abcdef", "g"], 5)) == ["abcdef"]


def test_a_changed_file_is_laid_out_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("one", encoding="utf-8")
    assert texts.lay(f"file:{path}", 100).load() == ["one"]
    path.write_text("three", encoding="utf-8")
    assert texts.lay(f"file:{path}", 100).load() == ["three"]


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_hostile_texts_have_their_size_and_are_the_same_each_time(kind: str) -> None:
    assert len(hostile.text(f"{kind}-5000")) == 5000
    assert hostile.text(f"{kind}-5000") == hostile.text(f"{kind}-5000")


def test_merges_come_back_from_ranks() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258}
    assert tokenizer_json.recovered_merges(ranks) == [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c")]


def test_a_token_that_nothing_merges_to_asks_for_every_merge() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258, b"xyz": 259}
    assert tokenizer_json.recovered_merges(ranks) == [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c")]


def test_a_record_can_be_shown_again(tmp_path: Path) -> None:
    rows = records.rows(QUESTION, {OURS: outcome(0.5), "fastokens": outcome(1.0)})
    made: dict[str, Any] = records.record(rows, chosen_settings(parser().parse_args([])), ["--quick"])
    path = records.save(made, tmp_path / "records")
    assert report.report(json.loads(path.read_text(encoding="utf-8"))) == report.report(made)
    assert "`python -m bench --quick`" in report.report(made)


def test_threads_are_held_to_one_thread() -> None:
    pair = [
        Question("batch", "cl100k", "english", "batch_arrays", (Cell("batch", "first", "MB/s", None),), threads=2),
        Question("batch", "cl100k", "english", "batch_arrays", (Cell("batch, one thread", "first", "MB/s", None),)),
    ]
    two, one = (
        records.row(ask, ask.cells[0], {OURS: outcome(took)}) for ask, took in zip(pair, (0.5, 0.9), strict=True)
    )
    assert report.scaling(two, [two, one]) == "1.80 ✓ (≥ 1.7)"


def test_quick_takes_fewer_corpora_unless_they_are_named() -> None:
    quick = {ask.text for ask in chosen(parser().parse_args(["--quick", "--only", "cold"]))}
    named = {ask.text for ask in chosen(parser().parse_args(["--quick", "--only", "cold", "--corpora", "code"]))}
    assert "code" not in quick
    assert named <= {"code"}
