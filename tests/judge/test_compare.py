"""compare: one table for several tokenizers, whose figures are those of `metrics`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import toksmith
from toksmith import metrics
from toksmith.errors import InvalidOption, UnknownName

CORPUS = ["low lowest", "slower 12345"]
LANGUAGES = {"en": "low lowest", "ko": "낮은 가장"}
SMALL, LARGE = (toksmith.train("low lower lowest", merges=merges) for merges in (1, 4))
TOKS = {"small": SMALL, "large": LARGE}


def test_the_figures_of_a_corpus_equal_those_of_measure() -> None:
    found = toksmith.compare(TOKS, CORPUS)
    for name, tok in TOKS.items():
        assert found.reports[name] == {"corpus": metrics.measure(tok, CORPUS)}
    rows = found.to_rows()
    assert [row["tokenizer"] for row in rows] == ["small", "large"]
    assert [row["tokens"] for row in rows] == [sum(map(tok.count, CORPUS)) for tok in TOKS.values()]
    assert {*metrics.METRICS} <= {*rows[0]}


def test_the_figures_of_languages_equal_those_of_fairness() -> None:
    found = toksmith.compare(TOKS, LANGUAGES, reference="ko", metrics=["fertility"])
    assert found.languages is not None
    assert found.languages.to_dict() == metrics.fairness(TOKS, LANGUAGES, reference="ko").to_dict()
    premiums = {(row["tokenizer"], row["text"]): row["premium"] for row in found.to_rows()}
    assert premiums["small", "en"] == metrics.parity(SMALL, LANGUAGES, reference="ko")["en"]
    assert "fertility" in str(found)


def test_without_texts_it_compares_the_sentences_in_24_languages() -> None:
    found = toksmith.compare(SMALL)
    [texts] = found.reports.values()
    assert [*texts] == [*metrics.LANGUAGES]


def test_an_iterator_reaches_every_tokenizer() -> None:
    assert toksmith.compare(TOKS, iter(CORPUS)).to_rows() == toksmith.compare(TOKS, CORPUS).to_rows()


def test_tokenizers_are_objects_names_or_files(tmp_path: Path) -> None:
    file = tmp_path / "small.toksmith"
    SMALL.save(file)
    one = toksmith.compare(file, CORPUS)
    assert [*one.reports] == [str(file)]
    several = toksmith.compare([file, LARGE, file], CORPUS)
    names = [*several.reports]
    assert len(names) == 3
    assert [name.split(": ")[0] for name in names] == ["1", "2", "3"]


@pytest.mark.parametrize("toks", [[], {}])
def test_no_tokenizer_is_refused(toks: list[str] | dict[str, str]) -> None:
    with pytest.raises(InvalidOption) as caught:
        toksmith.compare(toks, CORPUS)
    assert caught.value.argument == "toks"


def test_an_unknown_metric_is_refused_before_any_text_is_encoded() -> None:
    with pytest.raises(UnknownName) as caught:
        toksmith.compare(TOKS, CORPUS, metrics=["compression"])
    assert caught.value.matches == ("bytes_per_token",)


def test_a_reference_needs_languages() -> None:
    texts = iter(CORPUS)
    with pytest.raises(InvalidOption) as caught:
        toksmith.compare(SMALL, texts, reference="en")
    assert caught.value.argument == "reference"
    assert [*texts] == CORPUS, "it is refused before a text is read"


def test_a_number_is_refused_as_a_tokenizer() -> None:
    with pytest.raises(TypeError, match="toks"):
        toksmith.compare([1], CORPUS)  # type: ignore[list-item]


def test_rows_become_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = toksmith.compare(TOKS, CORPUS).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert [*frame["tokenizer"]] == ["small", "large"]


def test_a_frame_without_pandas_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        toksmith.compare(TOKS, CORPUS).to_pandas()
