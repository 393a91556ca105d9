"""The rules of the benchmark: wrong engines cannot win, equal questions get equal texts, and tables state the measurement."""

import base64
import json
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import job_corpus
import pytest
from bench import (
    before,
    chart,
    comparison,
    hostile,
    process,
    records,
    regression,
    report,
    runner,
    texts,
    tokenizer_json,
)
from bench.__main__ import make_settings, parser, select_questions
from bench.adapters import ALONE, APART, BEFORE, ENGINES, OURS, RANKS, VARIANTS, Encoding
from bench.corpus import commands, contents
from bench.corpus.inputs import Text
from bench.definitions import QUICK, Cell, Question, questions
from bench.expected import Answer
from bench.places import PAGE, PICTURES, RECORDS
from bench.request import Reply, Request
from bench.targets import COST, GOALS, LOCK, OWN, Target, target_of
from bench.texts import CORPORA, TextFile
from bench.verdicts import AHEAD, BEHIND, EVEN, observed_in_row, verdicts
from bench.vocabularies import RANKS as PUBLISHED
from processors import LIMIT_S

TEXT = TextFile("english", "english.utf8", documents=4, bytes=2_000_000)
CELL = Cell("cold", "first", "MB/s")
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
    assert row["standing"] == AHEAD
    assert "~~2,000~~" in report.table("cold", [row], [row])
    assert "gigatoken: wrong ids" in report.table("cold", [row], [row])


def test_wrong_ids_of_ours_reach_no_target() -> None:
    row = records.row(QUESTION, CELL, {OURS: outcome(0.001, ids="others"), "fastokens": outcome(1.0)})
    assert (row["ratio"], row["spread"], row["standing"]) == (None, None, "")


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


def test_an_earlier_build_is_no_peer_and_is_compared_round_by_round() -> None:
    row = records.row(QUESTION, CELL, {OURS: outcome(0.5, 0.25), BEFORE: outcome(0.25, 0.5), "fastokens": outcome(1.0)})
    assert row["peer"] == "fastokens"
    assert "| cold, cl100k english | 0.50 | 1.25 | 2.00 | 2 |" in before.comparison_table([row])
    assert "Whole spread below 0.97: none of 1 cells." in before.comparison_table([row])


def test_a_cell_that_is_slower_in_every_round_is_named() -> None:
    slower = records.row(QUESTION, CELL, {OURS: outcome(0.5, 0.6), BEFORE: outcome(0.4, 0.5)})
    wrong = records.row(QUESTION, CELL, {OURS: outcome(0.5), BEFORE: outcome(0.4, ids="others")})
    assert "Whole spread below 0.97: cold, cl100k english of 1 cells." in before.comparison_table([slower, wrong])


def test_an_earlier_build_takes_its_turn_after_this_one() -> None:
    settings = make_settings(parser().parse_args(["--before", "elsewhere/python", "--peers", "fastokens"]))
    assert runner.taking_part(QUESTION, settings) == [OURS, BEFORE, "fastokens"]
    assert runner.taking_part(QUESTION, replace(settings, before="")) == [OURS, "fastokens"]


def row_of(**engines: list[float]) -> dict[str, Any]:
    """A row with the runs of each engine, in the order of the rounds."""
    shown = {
        name: {"median": statistics.median(runs), "runs": runs, "wrong": "", "floor": False, "problem": ""}
        for name, runs in engines.items()
    }
    return {"group": "cold", "encoding": "cl100k", "text": "english", "unit": "MB/s", "engines": shown}


@pytest.mark.parametrize(
    ("target", "ours", "peer", "standing"),
    [
        (Target(2.0), [2.1, 4.4], [1.0, 2.0], AHEAD),
        (Target(2.0), [2.1, 3.9], [1.0, 2.0], EVEN),
        (Target(2.0), [2.0], [1.0], EVEN),
        (Target(2.0), [1.9, 3.9], [1.0, 2.0], BEHIND),
        (Target(0.6, sense=COST), [0.5, 1.1], [1.0, 2.0], AHEAD),
        (Target(0.6, sense=COST), [0.5, 1.3], [1.0, 2.0], EVEN),
        (Target(0.6, sense=COST), [0.7, 1.3], [1.0, 2.0], BEHIND),
        (Target(500, "", COST), [400, 499], [9.0], AHEAD),
        (Target(500, "", COST), [499, 501], [9.0], EVEN),
        (Target(0.5, sense=COST, enough=30), [29, 29], [30, 30], AHEAD),
        (Target(0.5, sense=COST, enough=30), [31, 31], [40, 40], BEHIND),
        (Target(0.5, sense=COST, enough=30), [31, 31], [70, 70], AHEAD),
    ],
)
def test_a_target_is_reached_where_the_whole_spread_reaches_it(
    target: Target, ours: list[float], peer: list[float], standing: str
) -> None:
    assert observed_in_row(target, row_of(toksmith=ours, gigatoken=peer)).standing(target) == standing


def test_a_ratio_has_the_spread_of_its_rounds() -> None:
    seen = observed_in_row(Target(1.0), row_of(toksmith=[2.0, 9.0, 3.0], gigatoken=[1.0, 3.0, 2.0]))
    assert seen.to_text(Target(1.0)) == "target 1.0, seen 1.50 (1.50 – 3.00): ahead"
    once = observed_in_row(Target(1.0), row_of(toksmith=[1.0, 4.0, 3.0], gigatoken=[2.0]))
    assert once.to_text(Target(1.0)) == "target 1.0, seen 1.50 (0.50 – 2.00): even"


def test_the_best_peer_replaces_a_wrong_one() -> None:
    row = row_of(toksmith=[3.0], gigatoken=[9.0], fastokens=[2.0], tiktoken=[1.0])
    row["engines"]["gigatoken"]["wrong"] = "ids"
    found = observed_in_row(Target(1.3, "gigatoken"), row)
    assert (found.peer, found.ratio and found.ratio.value) == ("fastokens", 1.5)


def test_a_variant_of_toksmith_is_no_peer_and_no_peer_replaces_it() -> None:
    row = row_of(**{OURS: [2.0], "gigatoken": [1.0]} | {name: [4.0] for name in VARIANTS})
    assert observed_in_row(Target(1.0), row).peer == "gigatoken"
    assert observed_in_row(Target(0.95, APART), row).to_text(Target(0.95, APART)) == "target 0.95, seen 0.50: behind"
    del row["engines"][APART]
    assert observed_in_row(Target(0.95, APART), row).ratio is None


def test_a_cell_knows_its_target() -> None:
    assert target_of("hot", "o200k", "code") == Target(1.0)
    assert target_of("batch arrays hot", "o200k", "code") == Target(1.0)
    assert target_of("load, native format", "cl100k", "hello") == Target(0.5, RANKS, COST, enough=30)
    assert target_of("load", "o200k", "hello") == Target(100, "", COST)
    assert target_of("load", "cl100k", "hello") is None
    assert target_of("cold", "o200k", "file:mine.txt") is None


def test_every_target_has_cells_and_every_corpus_has_all_its_cells() -> None:
    cells = [(cell.group, ask.encoding, ask.text) for ask in questions(2) for cell in ask.cells]
    for goal in GOALS:
        assert any(goal.covers(*cell) for cell in cells), goal.title
    for group in ("cold", "hot", "list"):
        due = {(group, encoding, corpus) for encoding in PUBLISHED for corpus in CORPORA}
        assert due <= set(cells)
        assert all(target_of(*cell) for cell in due)


def verdict_of(title: str, rows: list[dict[str, Any]]) -> str:
    verdict = next(verdict for verdict in verdicts(rows) if verdict.goal.title.startswith(title))
    return f"{verdict.count(AHEAD)} of {len(verdict.cells)}; {verdict.to_text()}"


def test_a_row_of_the_table_is_judged_by_its_worst_cell() -> None:
    fast, slow, wrong = (
        records.row(replace(QUESTION, encoding=encoding), CELL, {OURS: ours, "gigatoken": outcome(1.0)})
        for encoding, ours in (("r50k", outcome(0.4)), ("cl100k", outcome(1.25)), ("o200k", outcome(0.1, ids="others")))
    )
    assert verdict_of("cold", [fast]) == "1 of 1; target 1.0, seen 2.50: ahead"
    assert verdict_of("cold", [fast, slow]) == "1 of 2; target 1.0, seen 0.80: behind"
    assert verdict_of("cold", [fast, wrong, slow]) == "1 of 3; target 1.0: no figure"
    assert verdict_of("hot", [fast]) == "0 of 0; target 1.0: not measured"
    assert (
        "| 1 | 0 | 1 | 1 of 2 | cold, cl100k english, relative to gigatoken | target 1.0, seen 0.80: behind |"
        in report.goals([fast, slow])
    )


def growth(kind: str, *seconds: float | None) -> list[dict[str, Any]]:
    found = []
    for place, took in enumerate(seconds):
        ask = replace(QUESTION, text=f"{kind}-{10 ** (4 + place)}", engines=(OURS,))
        ours = outcome(took) if took else outcome(problem="timeout: more than 1 s")
        found.append(records.row(ask, Cell("growth", "first", "ms"), {OURS: ours}))
    return found


def test_growth_is_judged_by_its_most_expensive_tenfold_step() -> None:
    rows = growth("equal_a", 0.001, 0.01, 0.14, 0.2)
    assert verdict_of("the same from", rows) == "2 of 3; target 13, seen 14.0: behind"
    table = report.table("growth", rows, rows)
    assert "| equal_a | 1 | 10 | 140 | 200 | target 13, seen 14.0: behind |" in table
    assert verdict_of("the same from", growth("equal_a", 0.001, 0.01, None)) == "1 of 2; target 13: no figure"


def test_each_cell_is_asked_once() -> None:
    cells = [(cell.group, ask.encoding, ask.text) for ask in questions(2) for cell in ask.cells]
    assert len(cells) == len(set(cells))


def test_filters_leave_out_passes_that_are_not_requested() -> None:
    options = parser().parse_args(["--only", "cold", "--encodings", "o200k", "--corpora", "english,chinese"])
    asked = [ask for ask in select_questions(options) if ask.cells[0].group == "cold"]
    assert all(ask.again == () and len(ask.cells) == 1 for ask in asked)


def test_a_laid_out_text_comes_back(tmp_path: Path) -> None:
    rows = ["plain", "", "naïve 中文 😀\r\n", "lone \ud800"]
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(json.dumps({"text": row}) for row in rows), encoding="utf-8")
    laid = texts.lay_out_text(f"file:{path}", 10**6)
    assert laid.load() == [*rows[:3], "lone ?"]
    assert list(laid.stream()) == laid.load()
    assert laid.documents == 4


def test_a_limit_keeps_whole_documents_and_at_least_one(tmp_path: Path) -> None:
    assert list(texts.limit_documents(["abc", "de", "f"], 5)) == ["abc", "de"]
    assert list(texts.limit_documents(["abcdef", "g"], 5)) == ["abcdef"]


def test_a_changed_file_is_laid_out_anew(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("one", encoding="utf-8")
    assert texts.lay_out_text(f"file:{path}", 100).load() == ["one"]
    path.write_text("three", encoding="utf-8")
    assert texts.lay_out_text(f"file:{path}", 100).load() == ["three"]


@pytest.mark.parametrize("kind", hostile.KINDS)
def test_hostile_texts_have_their_size_and_are_the_same_each_time(kind: str) -> None:
    assert len(hostile.text(f"{kind}-5000")) == 5000
    assert hostile.text(f"{kind}-5000") == hostile.text(f"{kind}-5000")


def test_the_unbroken_text_has_nothing_but_chinese_characters() -> None:
    assert hostile.chinese_run(["中文,", "a字\n"], 7) == "中文字中文字中"


def test_a_token_without_a_merge_is_left_out_of_the_merges() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256, b"bc": 257, b"abc": 258, b"xyz": 259}
    assert tokenizer_json.recover_merges(ranks) == [(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c")]


def make_record(rows: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    settings = make_settings(parser().parse_args([*options]))
    return records.record(rows, settings, records.start_facts(options) | {"changed": False})


def test_a_saved_record_gives_the_same_report(tmp_path: Path) -> None:
    rows = records.rows(QUESTION, {OURS: outcome(0.5), "fastokens": outcome(1.0)})
    made = make_record(rows, "--quick")
    path = records.save(made, tmp_path / "records")
    assert report.report(json.loads(path.read_text(encoding="utf-8"))) == report.report(made)
    assert "`python -m bench --quick`" in report.report(made)


@pytest.mark.parametrize("path", records.list_records(RECORDS), ids=lambda path: path.stem)
def test_every_record_can_still_be_shown(path: Path) -> None:
    shown = report.report(json.loads(path.read_text(encoding="utf-8")))
    assert GOALS[0].title in shown


def batch(kind: str, together: float, alone: float, apart: float) -> dict[str, Any]:
    cell = Cell(f"batch {kind} hot", "first", "MB/s")
    took = {OURS: outcome(together), ALONE: outcome(alone), APART: outcome(apart), "gigatoken": outcome(2.0)}
    return records.row(replace(QUESTION, measure="batch", cells=(cell,), threads=2), cell, took)


def test_threads_are_held_to_separate_processes_and_lists_to_the_interpreter_lock() -> None:
    # One thread needs 1.0 s for the ids and 0.8 s more to build lists, which no second thread can shorten.
    rows = [batch("arrays", 0.6, 1.0, 0.54), batch("lists", 1.0, 1.8, 0.7)]
    assert verdict_of("batch, array, gain", rows) == "0 of 1; target 0.95, seen 0.90: behind"
    assert verdict_of("batch, list, gain", rows) == "0 of 1; target 0.95, seen 0.80: behind"
    assert verdict_of("batch, list, gain", [rows[0], batch("lists", 1.0, 1.8, 1.1)]).endswith("seen 1.10: ahead")
    assert "relative to toksmith in separate processes" in report.table("batch arrays hot", rows[:1], rows)
    assert "target 0.95, seen 0.80: behind" in report.table("batch lists hot", rows[1:], rows)
    assert {goal.target.than for goal in GOALS} >= OWN >= {LOCK}


def test_separate_processes_take_turns_with_threads_and_share_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[Request] = []

    def ask_together(parts: list[Request], timeout: float) -> Reply:
        shares.extend(parts)
        return Reply({"first": 1.0}, {"tokens": 1_000_000})

    monkeypatch.setattr(runner, "run_workers", ask_together)
    monkeypatch.setattr(runner, "processors", lambda threads: (4, 7)[:threads])
    question = replace(QUESTION, measure="batch", engines=(OURS, "gigatoken"), beside=(ALONE, APART), threads=2)
    took = {OURS: Reply({"first": 1.0}), "gigatoken": Reply({"first": 0.1})} | {ALONE: Reply({"first": 3.0})}
    assert engines_in_order(monkeypatch, question, took) == [OURS, ALONE, "gigatoken"] * 3
    assert [(part.measure, part.share, part.cpus, part.threads) for part in shares[:2]] == [
        ("share", (0, 2), (4,), 1),
        ("share", (1, 2), (7,), 1),
    ]
    assert len(shares) == 6


def test_shares_of_a_text_are_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    rows = ["aaaaaa", "", "b", "cc", "", "d"]
    path.write_text("\n".join(json.dumps({"text": row}) for row in rows), encoding="utf-8")
    laid = texts.lay_out_text(f"file:{path}", 10**6)
    for parts in (1, 2, 3):
        shares = [laid.load((place, parts)) for place in range(parts)]
        assert [text for share in shares for text in share] == rows
    assert laid.load((1, 2)) == rows[3:] or laid.load((0, 2)) == []


def share_of(path: Path) -> Request:
    """A request to encode a file with a vocabulary of bytes."""
    ranks = path.with_suffix(".tiktoken")
    ranks.write_bytes(b"".join(base64.b64encode(bytes([byte])) + f" {byte}\n".encode() for byte in range(256)))
    encoding = Encoding("bytes", "ranks", str(ranks), "cl100k", "")
    return Request(
        "share", OURS, encoding, texts.lay_out_text(f"file:{path}", 10**6), "batch_arrays", ("batch_arrays",)
    )


@pytest.mark.slow
def test_processes_that_begin_together_encode_everything_once(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"text": "abc"}\n{"text": "de"}\n{"text": "f"}\n', encoding="utf-8")
    whole = share_of(path)
    reply = process.run_workers([replace(whole, share=(place, 2)) for place in (0, 1)], timeout=LIMIT_S)
    assert (reply.problem, reply.proof) == ("", {"tokens": 6})
    assert reply.figures["first"] > 0 and reply.figures["again"] > 0
    broken = replace(whole, encoding=replace(whole.encoding, source=str(tmp_path / "missing.tiktoken")))
    reply = process.run_workers([replace(whole, share=(0, 2)), replace(broken, share=(1, 2))], timeout=LIMIT_S)
    assert reply.problem.startswith("failed: ") and not reply.figures


def test_processes_that_take_too_long_are_ended(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("abc", encoding="utf-8")
    reply = process.run_workers([share_of(path)], 0.0)
    assert reply.problem == "timeout: more than 0 s"


def test_the_time_of_several_workers_ends_with_the_last() -> None:
    replies = [
        Reply({"0": 12.0, "1": 21.0, "2": 33.0}, {"tokens": 4}),
        Reply({"0": 11.0, "1": 22.0, "2": 31.0}, {"tokens": 5}),
    ]
    assert process.merge_replies(replies, [10.0, 20.0, 30.0]) == Reply({"first": 2.0, "again": 2.5}, {"tokens": 9})
    assert process.merge_replies([replies[0], Reply(problem="crashed: SIGSEGV")], [10.0]).problem == "crashed: SIGSEGV"


@pytest.mark.usefixtures("vocab_dir", "corpora_dir")
def test_a_quick_run_without_filters_asks_its_dozen_cells() -> None:
    asked = list(select_questions(parser().parse_args(["--quick"])))
    cells = {(cell.group, ask.encoding, ask.text) for ask in asked for cell in ask.cells}
    assert len(QUICK) == 12
    assert cells <= {*QUICK} and all(ask.floor == () for ask in asked)
    due = {(cell.group, ask.encoding, ask.text) for ask in questions(2) for cell in ask.cells}
    assert {*QUICK} <= due


def save_earlier_record(tmp_path: Path, *rows: dict[str, Any], **fields: Any) -> None:
    record = make_record([*rows]) | {"date": "2001-01-01T00:00:00+00:00"} | fields
    records.save(record, tmp_path)


def test_a_cell_that_became_slower_is_named(tmp_path: Path) -> None:
    fast = records.row(QUESTION, CELL, {OURS: outcome(1.0, 1.1), "gigatoken": outcome(1.0, 1.0)})
    slow = records.row(QUESTION, CELL, {OURS: outcome(1.2, 1.3), "gigatoken": outcome(1.0, 1.0)})
    unsure = records.row(QUESTION, CELL, {OURS: outcome(1.05, 1.3), "gigatoken": outcome(1.0, 1.0)})
    assert "No earlier record of this machine" in regression.regression_report(make_record([slow]), tmp_path)
    save_earlier_record(tmp_path, fast)
    said = regression.regression_report(make_record([slow]), tmp_path)
    assert "1 of 1 cells lost more than 5%" in said
    assert "| cold, cl100k english | 2001-01-01T00:00:00 | 0.95 (0.91 – 1.00) | 0.80 (0.77 – 0.83) |" in said
    for now in (fast, unsure):
        assert "None of 1 cells lost more than 5%" in regression.regression_report(make_record([now]), tmp_path)


def test_a_new_peer_is_no_regression_and_times_may_grow_as_well(tmp_path: Path) -> None:
    cell = Cell("short", "first", "ns/call")
    before = records.row(QUESTION, cell, {OURS: outcome(1.0), "gigatoken": outcome(1.0)})
    joined = records.row(QUESTION, cell, {OURS: outcome(1.0), "gigatoken": outcome(1.0), "snaptokens": outcome(0.5)})
    slower = records.row(QUESTION, cell, {OURS: outcome(1.1), "gigatoken": outcome(1.0), "snaptokens": outcome(0.5)})
    save_earlier_record(tmp_path, before)
    assert "None of 1 cells" in regression.regression_report(make_record([joined]), tmp_path)
    assert "| 1.00 | 1.10 |" in regression.regression_report(make_record([slower]), tmp_path)


def test_only_the_same_cell_on_the_same_machine_is_compared(tmp_path: Path) -> None:
    row = records.row(QUESTION, CELL, {OURS: outcome(1.0), "gigatoken": outcome(1.0)})
    slow = make_record([records.row(QUESTION, CELL, {OURS: outcome(2.0), "gigatoken": outcome(1.0)})])
    ours = row["engines"][OURS]
    save_earlier_record(tmp_path / "cpu", row, machine=records.machine() | {"cpu": "another"})
    save_earlier_record(tmp_path / "later", row, date="2999-01-01T00:00:00+00:00")
    save_earlier_record(tmp_path / "text", row | {"engines": row["engines"] | {OURS: ours | {"bytes": 1}}})
    for folder in ("cpu", "later", "text"):
        assert "No earlier record" in regression.regression_report(slow, tmp_path / folder), folder


def test_quick_takes_fewer_corpora_unless_they_are_named() -> None:
    quick = {ask.text for ask in select_questions(parser().parse_args(["--quick", "--only", "cold"]))}
    named = {
        ask.text for ask in select_questions(parser().parse_args(["--quick", "--only", "cold", "--corpora", "code"]))
    }
    assert "code" not in quick
    assert named <= {"code"}


def engines_in_order(monkeypatch: pytest.MonkeyPatch, question: Question, took: dict[str, Reply]) -> list[str]:
    """The engines in the order in which a run of three rounds asks them; a check is marked with a star."""
    asked: list[str] = []

    def ask(what: Request, timeout: float, python: str = "") -> Reply:
        asked.append(what.engine + "*" * what.check_only)
        return took[what.engine]

    monkeypatch.setattr(runner, "run_worker", ask)
    monkeypatch.setattr(runner, "lay_out_text", lambda name, limit: TEXT)
    monkeypatch.setattr(runner, "expected_answer", lambda text, known: DUE)
    monkeypatch.setattr(runner, "encoding", lambda name: Encoding(name, "ranks", "file", "cl100k", ""))
    monkeypatch.setattr(runner, "with_tokenizer_json", lambda known: known)
    runner.run_question(question, make_settings(parser().parse_args(["--runs", "3"])))
    return asked


def test_engines_take_turns_and_engines_that_decide_nothing_are_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    engines = (OURS, "gigatoken", "fastokens", "tokie", "tokenizers", "wordchipper")
    question = replace(QUESTION, engines=engines, floor=("tiktoken",))
    right = {
        name: Reply({"first": took}, {"ids": "right"}) for name, took in zip(engines, (9, 1, 1.9, 2.1, 1), strict=False)
    }
    others = {
        "tokenizers": Reply({"first": 1.0}, {"ids": "others"}),
        "wordchipper": Reply(problem="crashed: SIGSEGV"),
        "tiktoken": Reply({"first": 1.0}, {"ids": "right"}),
    }
    asked = engines_in_order(monkeypatch, question, right | others)
    first = [f"{OURS}*", *engines, "tiktoken"]
    assert asked == [*first, *(OURS, "gigatoken", "fastokens") * 2]


def test_an_engine_that_a_target_names_is_timed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = (Cell("decode list to str", "again", "Mtok/s"),)
    question = replace(QUESTION, measure="decode", cells=cells, engines=(OURS, "gigatoken", "rs_bpe", "tokie"), kept=())
    took = {OURS: 1.0, "gigatoken": 0.1, "rs_bpe": 5.0, "tokie": 5.0}
    asked = engines_in_order(monkeypatch, question, {name: Reply({"again": each}, {}) for name, each in took.items()})
    assert asked == [*question.engines, *(OURS, "gigatoken", "rs_bpe") * 2]


def whole_rows() -> list[dict[str, Any]]:
    """Rows for every cell of the tables: toksmith twice as fast as its one peer."""
    found: list[dict[str, Any]] = []
    for ask in questions(2):
        took = {OURS: 0.5, "gigatoken": 1.0} | dict.fromkeys(ask.beside, 0.5)
        outcomes = {name: runner.Outcome(TEXT, 100) for name in took}
        for cell in ask.cells:
            for name, seconds in took.items():
                outcomes[name].figures[cell.figure] = [seconds] * 5
        found += records.rows(ask, outcomes)
    return found


@pytest.mark.slow
def test_the_comparison_is_made_from_the_newest_whole_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "versions", lambda: dict.fromkeys(ENGINES, "1.0"))
    assert comparison.comparison(tmp_path) == comparison.NOTHING
    whole = make_record(whole_rows())
    assert whole["partial"] == ""
    for date, record in (("2001-01-01", whole), ("2001-01-02", whole), ("2001-01-03", whole | {"partial": "why"})):
        records.save(record | {"date": f"{date}T00:00:00+00:00"}, tmp_path)
    made = comparison.comparison(tmp_path)
    assert "2001-01-02T000000.json" in made
    assert "| hindi | **4** | gigatoken 2 | **4** | gigatoken 2 | **4** | gigatoken 2 |" in made
    assert "| cold, one thread, array | ≥ 1 × the best peer | 2.00 | 40 | 0 | 0 | 40 of 40 |" in made
    assert made.count("](pictures/speed-") == len(chart.PLOTS)


@pytest.mark.parametrize(
    "options", [("--runs", "4"), ("--limit", "5"), ("--quick",), ("--clock", "cpu"), ("--peers", "")]
)
def test_less_than_a_whole_run_says_what_it_lacks(options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "versions", lambda: dict.fromkeys(ENGINES, "1.0"))
    assert make_record(whole_rows(), *options)["partial"]
    assert "cells are left out" in make_record(whole_rows()[1:])["partial"]


def test_page_and_chart_show_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert comparison.with_comparison(page, RECORDS) == page, "run `python -m bench --readme`"
    for name, picture in comparison.draw_pictures(RECORDS).items():
        assert picture == (PICTURES / name).read_text(encoding="utf-8"), "run `python -m bench --readme`"


def test_the_chart_leaves_out_an_engine_with_wrong_ids() -> None:
    question = replace(QUESTION, encoding="o200k")
    row = records.row(question, CELL, {OURS: outcome(0.5), "gigatoken": outcome(0.1, ids="others")})
    drawn = chart.draw_plot(chart.README, [row])
    assert ">4</text>" in drawn
    assert ">20</text>" not in drawn


def test_files_of_the_user_are_measured_despite_filters_of_corpora() -> None:
    asked = list(select_questions(parser().parse_args(["--quick", "--file", "a-b.txt", "--encodings", "cl100k"])))
    assert [ask.text for ask in asked] == ["file:a-b.txt"]


# bench.corpus


def test_a_repeated_corpus_has_no_equal_documents(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps({"text": letter * 300_000}) + "\n" for letter in "ab"), encoding="utf-8")
    text = Text(f"file:{path}", 1)
    rows = [json.loads(line)["text"] for line in text.rows.read_text(encoding="utf-8").splitlines()]
    assert [row[:3] for row in rows] == ["aaa", "bbb", "1\na", "1\nb"]
    assert text.size == sum(map(len, rows)) == 1_200_004
    assert [path.read_bytes().count(b"\n") for path in text.halves] == [2, 2]
    assert Text(f"file:{path}", 0).size == 300_000


def test_equal_ids_have_one_hash_in_every_format(tmp_path: Path) -> None:
    found = {}
    for form in contents.FORMS:
        job_corpus.job(tmp_path, form, to=form, append=job_corpus.END, empty="skip").run(progress=False)
        found[form] = contents.hash_of(tmp_path / form, form)
    documents = sum(len(text) > 0 for text in job_corpus.TEXTS)
    assert len({*found.values()}) == 1 and found["hf"].startswith(f"{documents} documents, ")
    changed = next((tmp_path / "megatron").glob("*.bin"))
    changed.write_bytes(changed.read_bytes()[2:] + b"\1\0")
    assert contents.hash_of(tmp_path / "megatron", "megatron") != found["hf"]


CHILD = "import sys; held = bytearray(range(256)) * 200_000; print(len(held), flush=True); sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


def test_the_memory_of_child_processes_counts() -> None:
    seen: dict[int, commands.ProcessPeak] = {}
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdin and parent.stdout and int(parent.stdout.readline()) == 51_200_000
    commands.sample_processes(parent.pid, seen)
    parent.communicate()
    assert len(seen) == 2 and max(each.peak for each in seen.values()) > 51_200_000 > seen[parent.pid].peak


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('the disk is full')"]
    with pytest.raises(commands.Failed, match="exit status 1: the disk is full"):
        commands.run_command(command, tmp_path / "out", tmp_path, {})
