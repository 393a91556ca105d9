"""parity on texts worked by hand, on the Universal Declaration of Human Rights, and on what makes it doubtful."""

from pathlib import Path

import pytest
from shown_results import check_shown

import toksmith
from toksmith.metrics._parity import gini

BYTES = toksmith.train("x", merges=0, pattern=None)


def test_premiums_are_tokens_over_those_of_the_reference() -> None:
    found = toksmith.metrics.parity(BYTES, {"en": ["abcd", "ab"], "ru": ["жш", "ж"], "de": ["ü", "x"]})
    assert [found[name] for name in ("en", "ru", "de")] == [1.0, 1.0, 0.5]
    # tokens 6, 6, 3: the differences of all ordered pairs sum to 12, over 2 · 9 · 5
    assert found.gini == pytest.approx(12 / 90)
    assert found.gini_per_byte == 0.0
    assert found.warnings == ()
    other = toksmith.metrics.parity(BYTES, {"en": "ab", "ru": "ж", "de": "ü"}, reference="de", threads=1)
    assert (other.reference, other["en"]) == ("de", 1.0)
    check_shown(found)


def test_the_worst_language_and_another_tokenizer_are_shown() -> None:
    texts = {"en": "abab", "xx": "cdcd"}
    after, before = (toksmith.train(text, merges=2, pattern=None) for text in ("cdcdabab", "abab"))
    found = toksmith.metrics.parity(after, texts, before=before)
    assert (found.worst, found["xx"], found.gini) == ("en", 1.0, 0.0)
    assert found.before is not None
    assert (found.before.worst, found.before["xx"], found.before.gini) == ("xx", 4.0, pytest.approx(0.3))
    assert found.before == toksmith.metrics.parity(before, texts)
    assert found.to_dict()["before"]["worst"] == "xx" and "before" not in found.before.to_dict()
    assert "before: worst off is xx, with 4.000 times the tokens of en" in str(found)
    check_shown(found)


def test_the_gini_coefficient_has_its_known_values() -> None:
    assert gini([3, 3, 3]) == 0
    assert gini([0, 0, 0, 8]) == pytest.approx(1 - 1 / 4)
    assert gini([1, 2]) == gini([10, 20]) == pytest.approx(1 / 6)
    assert gini([0, 0]) is None


def test_unequal_lines_and_layout_give_warnings() -> None:
    found = toksmith.metrics.parity(BYTES, {"en": "a\nb\nc", "ko": ["a", " b"], "none": []})
    assert any("en 3, ko 2" in warning for warning in found.warnings)
    assert any("1 of 2 lines of ko" in warning for warning in found.warnings)
    assert any("none has no text" in warning for warning in found.warnings)
    assert found["none"] == 0
    check_shown(found)


def test_without_tokens_of_the_reference_there_is_no_premium() -> None:
    found = toksmith.metrics.parity(BYTES, {"en": "", "ko": "a"})
    assert (found["en"], found["ko"], found.gini) == (None, None, pytest.approx(0.5))
    assert toksmith.metrics.parity(BYTES, {"en": ""}).gini is None
    check_shown(found)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(toksmith.errors.InvalidOption, match="at least one language"):
        toksmith.metrics.parity(BYTES, {})
    with pytest.raises(toksmith.errors.InvalidOption, match="one of the languages en, ko"):
        toksmith.metrics.parity(BYTES, {"en": "a", "ko": "b"}, reference="xx")
    with pytest.raises(toksmith.errors.CorpusError):
        toksmith.metrics.parity(BYTES, {"en": tmp_path / "missing.txt"})


def test_the_end_of_the_last_line_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "en.txt"
    path.write_bytes(b"ab\ncd\n")
    found = toksmith.metrics.parity(BYTES, {"file": path, "text": "ab\ncd", "bytes": b"ab\ncd\n"})
    assert {(each.tokens, each.lines, each.bytes) for each in found.languages} == {(5, 2, 5)}


@pytest.mark.slow
def test_the_chart_has_a_bar_for_each_language_that_has_a_premium() -> None:
    pytest.importorskip("matplotlib", reason="lacks matplotlib")
    found = toksmith.metrics.parity(BYTES, {"en": "abcd", "ko": "나", "fr": "abcdé"})
    chart = found.plot()
    assert (chart.names, chart.reference) == (["ko", "en", "fr"], 1)
    assert chart.series == {"tokens relative to en": [0.75, 1.0, 1.5]}
    assert all(name in found.to_chart() for name in ("en", "ko", "fr"))
    assert toksmith.metrics.parity(BYTES, {"en": "", "ko": "나"}).plot().names == []


MEASURED = """
eng 1.00 1.00 1.00|fra 1.97 1.54 1.30|spa 2.04 1.51 1.25|ita 2.16 1.70 1.46|por_BR 2.04 1.51 1.20|nld 2.36 1.86 1.37
pol 3.02 2.13 1.79|rus 6.49 2.61 1.42|ukr 6.07 3.04 1.73|ell_monotonic 7.13 5.62 2.24|tur 2.47 1.98 1.49
vie 5.86 4.45 3.57|heb 4.11 3.44 1.39|arb 3.82 2.68 1.22|pes_1 5.09 3.32 1.45|hin 8.71 5.52 1.65|ben 9.63 5.90 1.67
tam 18.14 9.21 2.43|kan 13.72 9.06 2.12|mal 12.81 7.58 1.65|tha 8.87 4.40 1.93|lao 15.43 11.20 9.70
khm 15.38 8.76 3.31|mya 21.26 15.06 4.18|kat 15.21 10.90 1.72|hye 11.90 12.03 1.79|amh 8.17 8.17 5.51
kor 4.92 2.33 1.37|jpn 3.31 2.46 1.81|cmn_hans 2.88 1.71 1.17|cmn_hant 2.92 1.95 1.23|swh 2.16 2.01 1.46
yor 5.54 4.80 4.16|zul 2.23 2.05 1.62|bod 17.40 13.32 9.70|guj 13.02 8.30 1.74|pan 8.63 8.73 2.78
"""
TOTALS = {
    "r50k_base": (1932, 0.4003, 0.2002),
    "cl100k_base": (1914, 0.3974, 0.2174),
    "o200k_base": (1914, 0.3408, 0.2685),
}


@pytest.mark.parametrize(
    "place, name, pattern", [(0, "r50k_base", "gpt2"), (1, "cl100k_base", "cl100k"), (2, "o200k_base", "o200k")]
)
def test_the_declaration_of_human_rights_has_the_measured_premiums(
    place: int, name: str, pattern: str, vocab_dir: Path, corpora_dir: Path
) -> None:
    rows = [row.split() for row in MEASURED.replace("\n", "|").split("|") if row]
    assert len(rows) == 37
    texts = {row[0]: corpora_dir / "udhr" / f"{row[0]}.txt" for row in rows}
    found = toksmith.metrics.parity(toksmith.load(vocab_dir / f"{name}.tiktoken", pattern=pattern), texts)
    premiums = {each.name: f"{each.premium:.2f}" for each in found.languages}
    assert premiums == {row[0]: row[1 + place] for row in rows}
    figures = (found.languages[0].tokens, found.gini, found.gini_per_byte)
    assert figures == pytest.approx(TOTALS[name], abs=5.1e-5)
