"""The program that attacks toksmith and its peers: its table is well formed, and each outcome gets the right kind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.robustness import runner, table, trial
from bench.robustness.attack import Attack, Wrong, require
from bench.robustness.attacks import ATTACKS
from bench.robustness.runner import Cell, count_outcomes, end_outcome
from bench.robustness.subjects import LIBRARIES, OURS, write_vocabularies

START = {"date": "2026-11-22T10:00:00", "commit": "ab375063b0c1", "changed": False}
START |= {"machine": {"cpu": "x", "cpus": 2, "python": "CPython"}, "versions": dict.fromkeys(LIBRARIES, "1.0")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("robustness")
    write_vocabularies(made)
    return made


def attack_named(part: str) -> Attack:
    [attack] = [attack for attack in ATTACKS if part in attack.name]
    return attack


def test_every_row_has_a_unique_name_and_known_libraries() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(set(names)) == len(names) > 30
    assert all("\n" not in name for name in names)
    for attack in ATTACKS:
        assert OURS in attack.libraries and {*attack.libraries} <= {*LIBRARIES}
        assert attack.seconds > 0 and attack.idle_s > 0 and attack.gigabytes > 0


def test_the_document_has_the_marks() -> None:
    page = table.DOCUMENT.read_text(encoding="utf-8")
    assert (page.count(table.START), page.count(table.END)) == (1, 1)
    assert "new\nrows" in table.with_table(page, "new\nrows")
    with pytest.raises(SystemExit, match="lacks one of the marks"):
        table.with_table("no marks", "rows")


@pytest.mark.slow
def test_a_harmless_attack_on_toksmith_has_no_findings(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKSMITH_BENCH_CACHE", str(tmp_path))
    attack = attack_named("decode: ids out of range")
    cell = runner.run_attack(attack, OURS, folder)
    assert cell.findings == 0 and not cell.cut
    assert {kind for kind, _ in cell.outcomes} == {"refused"}
    assert cell.outcomes["refused", "UnknownId"] > 5 and cell.outcomes["refused", "TypeError"] >= 3
    assert cell.seconds > 0 and cell.mb > 10
    lines = table.report([attack], {(attack.name, OURS): cell}, START).splitlines()
    assert (
        lines[-3].count("|") == lines[-2].count("|") == 4
        and f"UnknownId ×{cell.outcomes['refused', 'UnknownId']}" in lines[-2]
    )
    assert lines[-1] == f"| **findings in all** | {cell.tries} | **0** |"


def raises(error: BaseException) -> Callable[[], object]:
    def call() -> object:
        raise error

    return call


class PanicException(BaseException):
    """What pyo3 makes of a panic."""


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: 5, "answered", "answers"),
        (lambda: "ids", "answered", "ids"),
        (raises(ValueError("x")), "refused", "ValueError"),
        (raises(KeyboardInterrupt()), "refused", "KeyboardInterrupt"),
        (raises(ValueError("internal error, please report it")), "panic", "internal error"),
        (raises(PanicException()), "panic", "PanicException"),
        (raises(MemoryError()), "memory", "MemoryError"),
        (raises(Wrong("offset 8, not 4")), "wrong", "offset 8, not 4"),
        (lambda: require(False, "other ids"), "wrong", "other ids"),
    ],
)
def test_a_call_has_the_outcome_of_its_kind(call: Callable[[], object], kind: str, said: str) -> None:
    assert trial.outcome(call) == {"kind": kind, "said": said}


def test_the_end_of_a_process_has_its_kind() -> None:
    attack = Attack("a", (OURS,), lambda *_: iter(()), seconds=7)
    assert end_outcome(-6, False, attack) == ("crash", "SIGABRT")
    assert end_outcome(-24, False, attack) == ("hang", "timeout after 7 s")
    assert end_outcome(-9, True, attack) == ("hang", "hangs")
    assert end_outcome(3, False, attack) == ("crash", "exit 3")
    cell = Cell()
    lines_of_child = ["begin 0", 'end 0 {"kind": "refused", "said": "ValueError"}', "begin 1"]
    assert count_outcomes(lines_of_child, cell) == (1, False)
    assert count_outcomes([*lines_of_child, 'end 1 {"kind": "answered", "said": "ids"}', 'done {"mb": 7}'], cell) == (
        None,
        True,
    )
    assert cell.mb == 7
    assert dict(cell.outcomes) == {("refused", "ValueError"): 2, ("answered", "ids"): 1}
