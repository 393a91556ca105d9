"""study: scaling laws against the table of the paper's constants, the split of a corpus, the figures of a row by hand, refusals."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import run
from shown_results import check_page, check_shown

import toksmith
from toksmith import reference
from toksmith._cli import study as cli_study
from toksmith._judge import study
from toksmith._judge.study import candidate_models, measure
from toksmith._judge.study import scaling as _scaling
from toksmith._judge.study import split as _split
from toksmith._judge.study.advice import advice_of
from toksmith._render import pages as _report
from toksmith.errors import CorpusError, FormatError, InvalidOption

TEXT = Path(reference.__file__).read_text(encoding="utf-8")
TEXTS = [f"{line}\n" for line in TEXT.splitlines() if line]


def plan(params: float = 1e9, **more: Any) -> _scaling.ModelPlan:
    return _scaling.ModelPlan.of(params, **{"tokens": 2e10, "tied": True, "width": None} | more)


# Scaling laws. The sizes are those that the constants of 2407.13623 give, worked out apart from this package:
# parameters, width, law 1, law 2, law 3, law 3 with six times the compute, in thousands.
TABLE = [
    (302e6, 1024, 18, 20, 16, 26),
    (1e9, 1536, 33, 35, 30, 48),
    (3e9, 3200, 39, 43, 37, 60),
    (7e9, 4096, 62, 67, 60, 97),
    (70e9, 8192, 212, 231, 218, 354),
]


@pytest.mark.parametrize(("params", "width", "first", "second", "third", "richer"), TABLE)
def test_the_laws_give_the_sizes_of_the_table(
    params: float, width: int, first: int, second: int, third: int, richer: int
) -> None:
    found = plan(params)
    assert found.width == width
    sizes = [round(row.vocab_size / 1000) for row in _scaling.scaling_rows(found)[:3]]
    assert sizes == [first, second, third]
    compute = 6 * _scaling.optimal_compute(params) / 1e15
    assert round(_scaling.by_loss(params, lambda _: compute) / width / 1000) == richer


def test_law_2_gives_its_base_point() -> None:
    """At 33 million parameters the law is its own base point: 3,145,728 = 6,144 rows of 512."""
    rows = _scaling.scaling_rows(plan(33e6, width=512))
    assert rows[1].vocab_size == 6144


def test_law_3_is_where_the_loss_is_least() -> None:
    def loss(own: float) -> float:
        data = 100 / (6 * (302 + own))  # F = 1e17 operations, in units of 1e15
        lost: float = -5.53278 + 1.83139 / 302**0.446606 + 0.195842 / own**0.670737 + 2.12411 / data**0.446606
        return lost

    best = _scaling.by_loss(302e6, lambda _: 100.0) / 1e6
    assert loss(best) < min(loss(best * 1.01), loss(best / 1.01))
    grid = np.geomspace(0.01, 1000, 20_001)
    assert abs(math.log(grid[np.argmin([loss(own) for own in grid])] / best)) < 1e-3


def test_with_the_planned_tokens_the_compute_grows_with_the_vocabulary() -> None:
    """With D tokens fixed, F = 6(N + Nv)D: the same place as law 3 with that F."""
    row = _scaling.scaling_rows(plan(1e9, tokens=1e11))[3]
    own = row.vocab_size * 1536
    compute = 6 * (1e9 + own) * 1e11 / 1e15
    assert abs(_scaling.by_loss(1e9, lambda _: compute) / own - 1) < 1e-3


def test_more_tokens_never_need_fewer_rows() -> None:
    sizes = [_scaling.scaling_rows(plan(tokens=tokens))[3].vocab_size for tokens in (1e9, 1e10, 1e11, 1e12, 1e13)]
    assert sizes == sorted(sizes) and len({*sizes}) == 5


def test_sizes_beyond_the_fit_are_marked() -> None:
    inside, small, large = (_scaling.scaling_rows(plan(params)) for params in (1e9, 1e7, 70e9))
    assert not any(row.beyond for row in inside)
    assert all("33M to 1.2B parameters" in row.beyond for row in (*small, *large))
    assert all("96,256 tokens" in row.beyond for row in large[:3])


def test_the_compute_of_the_papers_text_is_least_where_the_table_says() -> None:
    for params, width, least in ((302e6, 1024, 33), (7e9, 4096, 92)):
        model = plan(params, width=width)
        costs = {size: model.training_flops(size, _scaling.published_ratio(size)) for size in range(1000, 200_000, 250)}
        assert round(min(costs, key=costs.__getitem__) / 1000) == least


def test_the_cost_of_a_vocabulary_equals_a_worked_example() -> None:
    tied, untied = (plan(1000, width=10, tied=tied) for tied in (True, False))
    assert (tied.embedding_share(100), untied.embedding_share(100)) == (0.5, 2000 / 3000)
    assert (tied.training_flops(100, 7), tied.inference_flops(100, 7)) == (6 * 2000 * 7, 2 * 2000 * 7)
    assert untied.training_flops(100, 7) == tied.training_flops(100, 7), "the input matrix is only looked up"


def test_widths_grow_with_the_parameters() -> None:
    widths = [_scaling.width_of(params) for params in (1, 33e6, 302e6, 5e8, 2e9, 70e9, 1e12)]
    assert widths == sorted(widths) and widths[0] == 64 and 1024 < widths[3] < 1536
    assert widths[-1] == round(8192 * (1e12 / 70e9) ** (1 / 3) / 64) * 64


# The split.


def split(corpus: Any, held_out: Any = None) -> _split.Split:
    return _split.split_corpus(corpus, held_out, lambda _: None)


def trained_texts(found: _split.Split) -> list[bytes]:
    texts: Any = found.training()
    return [*texts]


def test_equal_texts_are_on_one_side_and_held_out_texts_are_never_trained_on() -> None:
    corpus = [*TEXTS, *TEXTS[::3], *TEXTS[::7]]
    found = split(corpus)
    trained = trained_texts(found)
    assert not {*found.held_out} & {*trained}
    assert len({*found.held_out}) == len(found.held_out)
    whole = Counter(text.encode() for text in corpus)
    assert Counter(trained) == Counter({text: n for text, n in whole.items() if text not in {*found.held_out}})
    assert found.trained_bytes == sum(map(len, trained)) and found.all_bytes == sum(
        len(text.encode()) for text in corpus
    )
    assert 0.02 < found.held_out_bytes / found.all_bytes <= 0.05
    assert Counter(dict(found.sample)) == Counter(trained), (
        "a small corpus is its own sample, each text as often as it occurs"
    )


def test_the_split_depends_on_the_texts_and_not_on_their_order() -> None:
    assert {*split(TEXTS).held_out} == {*split(TEXTS[::-1]).held_out}
    grown = split([*TEXTS, *(f"new text {n}" for n in range(9))])
    assert len({*split(TEXTS).held_out} - {*grown.held_out}) <= 2


def test_few_long_texts_are_cut_at_line_ends() -> None:
    found = split(TEXT)
    assert found.longest < _split.LONGEST and "cut at line ends" in found.rule
    assert all(text.endswith(b"\n") for text in found.held_out[:-1])
    assert sum(map(len, trained_texts(found))) + found.held_out_bytes == len(TEXT.encode())


@pytest.mark.parametrize("read", [1, 7, 1 << 20])
@pytest.mark.parametrize("text", ["é" * 5000, "a\n" * 3000, "x" * 300 + "\n" + "☀\n" * 999, ""])
def test_a_file_is_cut_as_its_text_is(text: str, read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_split, "READ", read)
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    for longest in (1, 10, 256):
        cut = [*_split.corpus_texts(tmp_path / "a.txt", longest)]
        assert cut == [*_split.corpus_texts([text], longest)]
        assert b"".join(cut) == text.encode() and all(len(each) <= 4 * longest + 4 for each in cut)
        if longest > 4:
            assert all(each.decode() for each in cut), "no character is cut"


def test_the_smallest_hashes_are_kept_in_the_room_that_there_is() -> None:
    numbers = [(hash * 7919) % 1009 for hash in range(1000)]
    found = _split.SmallestHashes(100)
    for number in [*numbers, *numbers[:500]]:
        found.add(number, b"0123456789")
    assert [hash for hash, _, _ in found.in_order()] == sorted(numbers)[:10]
    assert all(times == 1 + numbers[:500].count(hash) for hash, _, times in found.in_order())


def test_given_held_out_texts_lose_those_of_the_corpus() -> None:
    found = split(TEXTS, [*TEXTS[:5], "an unseen text", "an unseen text"])
    assert found.held_out == (b"an unseen text",) and found.left_out == len({*TEXTS[:5]})
    assert found.training() is TEXTS and "left out" in found.rule


# Refusals, before anything is trained.

BAD: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (CorpusError, "empty", "", {}),
    (CorpusError, "empty", ["", ""], {}),
    (CorpusError, "no text can be held out", "one line", {}),
    (CorpusError, "too small for 100,000 tokens", TEXTS, {"sizes": [300, 100_000]}),
    (CorpusError, "held-out text is empty", TEXTS, {"held_out": [""]}),
    (CorpusError, "all held-out texts", TEXTS, {"held_out": TEXTS[:3]}),
    (InvalidOption, "params", TEXTS, {"params": 0}),
    (InvalidOption, "params", TEXTS, {"params": -1e9}),
    (InvalidOption, "params", TEXTS, {"params": float("nan")}),
    (InvalidOption, "params", TEXTS, {"params": float("inf")}),
    (InvalidOption, "tokens", TEXTS, {"tokens": 0}),
    (InvalidOption, "width", TEXTS, {"width": 0}),
    (InvalidOption, "sizes", TEXTS, {"sizes": []}),
    (InvalidOption, "sizes", TEXTS, {"sizes": [256]}),
    (InvalidOption, "sizes", TEXTS, {"sizes": [258], "special_tokens": ["<a>", "<b>"]}),
    (InvalidOption, "sizes", TEXTS, {"sizes": [50, 400], "kinds": ["unigram", "bpe-characters"]}),
    (InvalidOption, "sizes", TEXTS, {"sizes": [1 << 24]}),
    (InvalidOption, "kinds", TEXTS, {"kinds": []}),
    (InvalidOption, "patterns", TEXTS, {"patterns": ["gpt2", "gpt2"]}),
    (InvalidOption, "max_memory", TEXTS, {"max_memory": 5}),
    (InvalidOption, "corpus", iter(TEXTS), {}),
    (InvalidOption, "held_out", TEXTS, {"held_out": iter(TEXTS)}),
    (toksmith.errors.UnknownName, "kind", TEXTS, {"kinds": ["bqe"]}),
    (toksmith.errors.UnknownName, "pattern", TEXTS, {"patterns": ["gpt22"]}),
    (InvalidOption, "a regex", TEXTS, {"patterns": ["(["]}),
    (FormatError, "no folder", TEXTS, {"keep": "missing/folder"}),
]


@pytest.mark.parametrize(("error", "says", "corpus", "options"), BAD)
def test_wrong_studies_are_refused_before_a_training(
    error: type[Exception],
    says: str,
    corpus: Any,
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def untrained(*_: Any, **__: Any) -> None:
        raise AssertionError("trained")

    monkeypatch.chdir(tmp_path)
    if "unigram" not in options.get("kinds", ()):  # only `train` knows how many characters the corpus has
        monkeypatch.setattr("toksmith._judge.study.train", untrained)
    with pytest.raises(error, match=says):
        toksmith.study(corpus, progress=False, **options)


# Figures.


@pytest.fixture(scope="module")
def small() -> toksmith.types.Study:
    return toksmith.study(
        TEXTS,
        sizes=[350, 400, 500],
        patterns=["o200k", None],
        kinds=["bpe", "unigram"],
        params=3e7,
        tokens=1e9,
        languages={"en": ["low", "lower"], "el": ["χαμηλό", "χαμηλότερο"]},
        progress=False,
    )


def test_each_row_equals_a_training_for_its_size(small: toksmith.types.Study) -> None:
    training = trained_texts(small.split)
    held_out = [*small.split.held_out]
    for row in small.rows:
        options: dict[str, Any] = {**candidate_models.KINDS[row.kind].arguments}
        more: dict[str, Any] = {"pattern": row.pattern} if row.kind == "bpe" else {}
        tok = toksmith.train(training, row.vocab_size, progress=False, **options, **more)
        assert row.tokens == tok.count_batch(held_out).sum()
        assert row.bytes_per_token == small.split.held_out_bytes / row.tokens
        operations = 2 * (3e7 + row.vocab_size * small.plan.width)
        assert math.isclose(row.inference_flops_per_byte, operations / row.bytes_per_token)
        assert row.training_flops == 6 * (3e7 + row.vocab_size * small.plan.width) * row.tokens
        found = toksmith.metrics.parity(tok, {"en": ["low", "lower"], "el": ["χαμηλό", "χαμηλότερο"]})
        assert (row.gini, row.worst, row.worst_premium) == (found.gini, "el", found["el"])
        report = toksmith.metrics.measure(tok, held_out)
        assert row.renyi_efficiency == report["renyi_efficiency"]


def test_rare_tokens_and_bits_are_counted_as_a_slow_twin_counts_them(small: toksmith.types.Study) -> None:
    training = trained_texts(small.split)
    row = small.rows[1]
    tok = toksmith.train(training, row.vocab_size, progress=False, min_count=2, pattern=row.pattern)
    seen = Counter(id for text in training for id in tok.encode(text, special="text"))
    total = sum(seen.values())
    expected = sorted(seen[id] / total * 1e9 for id in range(256, row.vocab_size))
    assert row.learned == len(expected) == row.vocab_size - 256
    assert math.isclose(row.rarest, expected[math.ceil(len(expected) / 100) - 1])
    assert row.seldom == sum(each < 100 for each in expected)
    assert row.last_count == tok.model.training.counts[-1]  # type: ignore[union-attr]
    weights = {id: seen[id] + 0.5 for id in range(row.vocab_size)}
    held_out = [id for text in small.split.held_out for id in tok.encode(text, special="text")]
    logs: list[float] = [math.log2(weights[id] / sum(weights.values())) for id in held_out]
    bits = -sum(logs)
    assert math.isclose(row.unigram_bits_per_byte, bits / small.split.held_out_bytes)


def test_a_study_is_shown_in_every_medium(small: toksmith.types.Study) -> None:
    check_shown(small)
    check_page(small.to_html())
    text = " ".join(str(small).split())
    assert "ranks nothing" in text and "Parity with en" in text
    assert {row.padded_64 % 64 for row in small.rows} | {row.padded_128 % 128 for row in small.rows} == {0}


def test_renyi_efficiency_changes_no_advice(small: toksmith.types.Study) -> None:
    turned = [replace(row, renyi_efficiency=1 - row.renyi_efficiency) for row in small.rows]
    assert advice_of(turned, small.scaling, small.plan, small.split, {}) == small.advice


# The command.


def test_the_command_prints_what_the_function_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    command = ["study", "rows.jsonl", "--sizes", "300,400", "--params", "3e7", "--tokens", "1e9", "--tied"]
    asked = toksmith.study(
        toksmith.files("rows.jsonl"), sizes=[300, 400], params=3e7, tokens=1e9, tied=True, progress=False
    )
    found = json.loads(run(*command, "--json").stdout)
    assert found == asked.to_dict()
    assert run(*command).stdout == f"{asked}\n"
    shown = run(*command, "--html", "a.html", "--keep", "kept")
    assert shown.stdout == "a.html\nthe tokenizers are kept in kept\n"
    check_page(Path("a.html").read_text(encoding="utf-8"))
    tok = toksmith.load("kept/bpe-o200k-300.toksmith")
    assert len(tok) == 300 and tok == toksmith.rewind(toksmith.load("kept/bpe-o200k-400.toksmith"), 300)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--params", "0"], "--params: expected a number from 1"),
        (["--sizes", "10"], "--sizes: expected sizes of at least 257"),
        (["--sizes", "8k"], "--sizes: '8k' is not a list of sizes"),
        (["--language", "hi="], "--language: expected NAME=FILE or FILE"),
        (["--pattern", "gpt22"], "--pattern: there is no pattern named 'gpt22'"),
        (["--html", "missing/a.html"], "there is no folder"),
        (["--html", "a.png"], "expected a name that ends in .html"),
    ],
)
def test_the_command_refuses_in_flags(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("toksmith._judge.study.train", None)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    ran = run("study", "a.txt", *arguments)
    assert ran.exit_code and says in ran.stderr, ran.stderr


def test_the_command_has_the_kinds_of_the_library() -> None:
    assert (*candidate_models.KINDS,) == cli_study.KINDS
    assert measure.SELDOM == 100


# Interruptions.

KILLED = """
import sys, toksmith
from toksmith._judge import study as _study
from toksmith._judge.study import folder as _folder
finish, done = _folder.StudyFolder.finish, []
def counted(self, *rest):
    if len(done) == int(sys.argv[2]):
        import os
        os._exit(9)  # between the training and its note
    finish(self, *rest)
    done.append(rest)
_folder.StudyFolder.finish = counted
texts = open(sys.argv[1], encoding="utf-8").read().splitlines(keepends=True)
_study.study([text for text in texts if text.strip()], **eval(sys.argv[3]))
"""
ASKED: dict[str, Any] = {
    "sizes": [350, 400],
    "kinds": ["bpe", "unigram"],
    "patterns": ["o200k", "gpt2"],
    "params": 3e7,
    "keep": "kept",
    "progress": False,
}


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_killed_study_continues_and_repeats_no_training(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [text for text in TEXT.splitlines(keepends=True) if text.strip()]
    Path("texts.txt").write_text("".join(texts), encoding="utf-8")
    command = [sys.executable, "-c", KILLED, "texts.txt", str(after), repr(ASKED)]
    assert subprocess.run(command, check=False).returncode == 9
    trainings: list[int] = []

    def noted(*arguments: Any, **options: Any) -> toksmith.Tokenizer:
        trainings.append(1)
        return toksmith.train(*arguments, **options)

    monkeypatch.setattr(study, "train", noted)
    found = toksmith.study(texts, **ASKED)
    assert len(trainings) == 4 - after, "two sizes of unigram, and two patterns"
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    whole = toksmith.study(texts, **{**ASKED, "keep": "other"})
    assert [replace(row, file=None) for row in found.rows] == [replace(row, file=None) for row in whole.rows]
    assert {path.name for path in Path("kept").iterdir()} == {path.name for path in Path("other").iterdir()}
    assert all(path.read_bytes() == (Path("other") / path.name).read_bytes() for path in Path("kept").iterdir())


def test_merges_of_the_training_under_way_are_not_learned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint stays next to the tokenizers until its training is complete."""
    seen: list[int] = []

    def watched(*arguments: Any, **options: Any) -> toksmith.Tokenizer:
        toksmith.train(*arguments, **options)
        seen.append(len(Path(options["checkpoint"]).read_bytes().splitlines()) - 1)
        raise KeyboardInterrupt

    options: dict[str, Any] = {"sizes": [300], "keep": tmp_path / "kept", "progress": False}
    monkeypatch.setattr(study, "train", watched)
    with pytest.raises(KeyboardInterrupt):
        toksmith.study(TEXTS, **options)
    assert seen == [44] and (tmp_path / "kept" / "bpe-o200k-300.toksmith.checkpoint").exists()
    monkeypatch.undo()
    assert len(toksmith.study(TEXTS, **options).rows) == 1
    assert not (tmp_path / "kept" / "bpe-o200k-300.toksmith.checkpoint").exists()


def test_a_folder_of_another_study_is_refused_and_one_of_the_same_texts_is_used(tmp_path: Path) -> None:
    first = toksmith.study(TEXTS, sizes=[300], keep=tmp_path / "kept", progress=False)
    again = toksmith.study(
        TEXTS, sizes=[300], keep=tmp_path / "kept", params=7e9, tokens=1e12, tied=True, progress=False
    )
    assert again.rows[0].tokens == first.rows[0].tokens and again.advice.low > first.advice.low / 2
    with pytest.raises(InvalidOption, match="corpus of this one differ"):
        toksmith.study(TEXTS[1:], sizes=[300], keep=tmp_path / "kept", progress=False)
    (tmp_path / "kept" / "study.json").write_text("[]", encoding="utf-8")
    with pytest.raises(FormatError, match="not the note of a study"):
        toksmith.study(TEXTS, sizes=[300], keep=tmp_path / "kept", progress=False)


def test_a_damaged_tokenizer_is_trained_again(tmp_path: Path) -> None:
    first = toksmith.study(TEXTS, sizes=[300], keep=tmp_path / "kept", progress=False)
    file = tmp_path / "kept" / "bpe-o200k-300.toksmith"
    whole = file.read_bytes()
    file.with_name(f"{file.name}.checkpoint").touch()
    assert toksmith.study(TEXTS, sizes=[300], keep=tmp_path / "kept", progress=False) == first
    assert not file.with_name(f"{file.name}.checkpoint").exists()
    file.write_bytes(whole[:200])
    assert toksmith.study(TEXTS, sizes=[300], keep=tmp_path / "kept", progress=False) == first
    assert file.read_bytes() == whole


# The page.


def test_ticks_are_round_and_inside() -> None:
    for low, high in ((0, 1), (0.1, 0.13), (-5, 5), (2.1, 5.3), (0, 1e-9), (3.9e8, 7.6e8)):
        found = _report.ticks(low, high)
        assert 4 <= len(found) <= 9 and all(low - 1e-9 * high <= tick <= high * (1 + 1e-9) for tick in found)


def test_a_chart_has_every_row_and_stays_inside(small: toksmith.types.Study) -> None:
    page = small.to_html()
    assert page.count("<figure>") == 5 and page.count("<circle") == 5 * len(small.rows)
    for name, most in (("cx", _report.WIDE), ("cy", _report.HIGH)):
        assert all(0 <= float(value) <= most for value in re.findall(rf'{name}="([-0-9.]+)"', page))
    one = _report.curves_svg(_report.Curves("one", "size", {"a": [(512, 0.0)]}, band=(1, 2)))
    assert "NaN" not in one and one.count("<circle") == 1


def test_a_corpus_that_ends_early_is_measured_where_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"low lower lowest number {number}" for number in range(300)]
    found = toksmith.study(texts, sizes=[600, 700], progress=False)
    assert [row.vocab_size for row in found.rows] == [len(toksmith.train(texts, min_count=2, progress=False))]
    assert "ends at" in found.notes[0] and "no pair repeats" in caplog.text


@pytest.mark.parametrize(("keep", "says"), [([], "with --keep FOLDER"), (["--keep", "kept"], "continues in kept")])
def test_an_interrupted_command_says_how_to_continue(
    keep: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise toksmith.errors.TrainingInterrupted(None, "merging")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study, "train", interrupted)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    ran = run("study", "a.txt", "--sizes", "300", *keep)
    assert ran.exit_code == 130 and says in ran.stderr


def test_the_most_equal_candidate_is_named(small: toksmith.types.Study) -> None:
    at = small.advice.compared_at
    least = min((row for row in small.rows if row.vocab_size == at), key=lambda row: row.gini or 0)
    assert any(f"most equally with {least.tokenizer}: Gini {least.gini:.3f}" in said for said in small.advice.reasons)


@pytest.mark.parametrize("held_out", [[" \n "], [b"\xff\xfe low"], ["\ud83d low"], ["<|end|> low"]])
def test_any_text_is_measured(held_out: list[Any]) -> None:
    kinds = [*candidate_models.KINDS]
    special = ["<|end|>"]
    found = toksmith.study(TEXTS, sizes=[350], kinds=kinds, held_out=held_out, special_tokens=special, progress=False)
    assert [row.kind for row in found.rows] == kinds
    check_shown(found)
    check_page(found.to_html())


def test_an_extrapolation_is_marked_where_it_is_read(small: toksmith.types.Study) -> None:
    shown = {}
    for params in (1e9, 7e9):
        laws = _scaling.scaling_rows(plan(params))
        advice = advice_of(small.rows, laws, plan(params), small.split, {})
        shown[params] = str(replace(small, plan=plan(params), scaling=laws, advice=advice))
    assert "an extrapolation." not in shown[1e9] and "fitted here" in shown[1e9]
    assert "an extrapolation." in " ".join(shown[7e9].split()) and "extrapolation: fitted" in shown[7e9]


# The headline and its reasons

HANGUL = ["가나다", "라마바사", "하늘땅", "별이 빛나는 밤", "학교에서 집으로"]
HEADLINES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "ends within the sizes": ([" ".join(str(number * at % 10_007) for at in range(40)) for number in range(400)], {}),
    "smallest is too large": ([f"low lower lowest number {n} of {n * n}" for n in range(500)], {"sizes": [600]}),
    "smallest of several": ([f"low lower lowest number {n} of {n * n}" for n in range(500)], {"sizes": [300, 400]}),
    "spelling": (["-".join(line.split()) for line in TEXTS], {"sizes": [290, 320, 384, 512]}),
    "letters": ([f"{' '.join(line)}\n" for line in TEXTS], {"sizes": [280, 300, 340]}),
    "Korean": ([f"{HANGUL[n % 5]}{HANGUL[n % 3]} {n}" for n in range(400)], {"sizes": [264, 270]}),
    "code": (TEXTS, {"sizes": [300, 512, 1024]}),
    "several": (TEXTS, {"sizes": [360, 512, 700], "patterns": ["gpt2", "cl100k"], "kinds": ["bpe", "unigram"]}),
    "measured below the laws": ([f"{line} {n}" for n in range(30) for line in TEXTS], {"sizes": [270, 280]}),
}


@pytest.mark.parametrize("case", HEADLINES)
def test_a_headline_never_contradicts_its_reasons(case: str) -> None:
    texts, options = HEADLINES[case]
    found = toksmith.study(texts, params=3e7, tokens=1e9, progress=False, **options)
    advice, said = found.advice, " ".join(found.advice.reasons)
    own = [row for row in found.rows if row.tokenizer == advice.tokenizers[0]]
    smallest, largest = own[0].vocab_size, own[-1].vocab_size

    def is_too_large(row: Any) -> bool:
        seldom = row.seldom > 0.05 * max(1, row.learned)
        return bool(seldom or (row.last_count is not None and row.last_count < 10))

    assert not any(is_too_large(row) for row in own if row.vocab_size <= advice.high), "recommended, and too large"
    assert str(found).splitlines()[1] == advice.headline and advice.headline in repr(found)
    if advice.low:
        assert own[0].vocab_size - own[0].learned < advice.low <= advice.high
        assert all(int(size.replace(",", "")) >= advice.high for size in re.findall(r"go beyond ([\d,]+)", said))
    else:
        assert is_too_large(own[0]) and advice.headline == f"fewer than {smallest:,} tokens"
        assert "measure smaller sizes: this is the smallest here" in said and "go beyond" not in said
    if any(f"{own[0].tokenizer} ends at" in note for note in found.notes):
        assert advice.high <= largest
    if "prefer the upper end" in said:
        assert advice.low and min(own, key=lambda row: row.training_flops).vocab_size > advice.high
    if "prefer the lower end" in said:
        assert smallest <= min(own, key=lambda row: row.training_flops).vocab_size < min(advice.low, largest)
    assert len(own) > 1 or "least compute" not in said


def test_compute_prefers_an_end_only_if_it_decides(small: toksmith.types.Study) -> None:
    laws = _scaling.scaling_rows(plan())
    middle = laws[0].vocab_size

    def said(*costs: tuple[int, float]) -> str:
        rows = [
            replace(small.rows[0], vocab_size=size, training_flops=cost, last_count=99, seldom=0, learned=99)
            for size, cost in costs
        ]
        return " ".join(advice_of(rows, laws, plan(), small.split, {}).reasons)

    assert "prefer the upper end" in said((middle, 2.0), (middle * 4, 1.0), (middle * 8, 2.0))
    assert "(within 1 %)." in said((middle, 1.005), (middle * 4, 1.0), (middle * 8, 2.0))
    assert "prefer the lower end" in said((400, 2.0), (500, 1.0), (middle, 2.0))
    # The least is at the end of the measured sizes: what lies beyond it was not measured.
    assert "the end of the measured range." in said((400, 2.0), (500, 1.0))
    assert "the end of the measured range." in said((middle * 4, 1.0), (middle * 8, 2.0))
    assert "text becomes 0.0% shorter" in said((middle, 1.0), (middle * 2, 2.0))
