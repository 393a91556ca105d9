"""metrics.fairness: on texts worked by hand, and equal to `parity` of each tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import run
from shown_results import check_shown

import toksmith
from toksmith import metrics
from toksmith.errors import InvalidOption

BYTES = toksmith.train("x", merges=0, pattern=None)
SOME = toksmith.train("the sky is blue and the light is the light", merges=20)


def test_costs_equal_a_worked_example() -> None:
    # Bytes: 4, 6 and 2. The dearest is ru.
    found = metrics.fairness({"bytes": BYTES}, {"en": "abcd", "ru": "жшж", "de": "ü"})
    assert found.reference == "en"
    assert found.languages == ("de", "en", "ru")
    assert found.costs("bytes") == {"en": 4 / 6, "ru": 1.0, "de": 2 / 6}
    assert [each["premium"] for each in found.to_dict()["tokenizers"][0]["languages"]] == [0.5, 1.0, 1.5]
    assert "ru        1.50 (100%)" in str(found)
    check_shown(found)


def test_each_tokenizer_has_the_figures_of_parity() -> None:
    found = metrics.fairness({"bytes": BYTES, "some": SOME}, reference="German")
    for name, tok in (("bytes", BYTES), ("some", SOME)):
        assert found.parities[name] == toksmith.metrics.parity(tok, metrics.LANGUAGES, reference="German")
        costs = found.costs(name)
        assert max(cost for cost in costs.values() if cost is not None) == 1.0
    means = [sum(parity[name] or 0 for parity in found.parities.values()) for name in found.languages]
    assert means == sorted(means) and len(means) == 24
    check_shown(found)


def test_few_and_strange_texts_are_shown() -> None:
    for texts in (
        {"en": ""},
        {"en": "", "ko": ""},
        {"en": b"\xff", "ko": "\ud800"},
        {"en": "a", "none": ""},
        {"en": "a" * 5_000_000},
    ):
        check_shown(metrics.fairness({"bytes": BYTES}, texts))
    assert metrics.fairness({"bytes": BYTES}, {"en": ""}).costs("bytes") == {"en": None}
    warned = metrics.fairness({"a": BYTES, "b": SOME}, {"en": "a\nb", "ko": "a"})
    assert "the numbers of lines differ" in warned.warnings[0] and "warning: the numbers" in str(warned)
    with pytest.raises(InvalidOption, match="at least one tokenizer"):
        metrics.fairness({})
    with pytest.raises(InvalidOption, match="at least one language"):
        metrics.fairness({"a": BYTES}, {})
    with pytest.raises(InvalidOption, match="reference"):
        metrics.fairness({"a": BYTES}, {"en": "a"}, reference="de")


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    for name, tok in (("bytes", BYTES), ("some", SOME)):
        tok.save(tmp_path / f"{name}.toksmith")
    (tmp_path / "en.txt").write_text("the sky\n", encoding="utf-8")
    (tmp_path / "other.txt").write_text("небо\n", encoding="utf-8")
    toks = ["-t", tmp_path / "bytes.toksmith", "-t", tmp_path / "some.toksmith"]
    named = {str(tmp_path / "bytes.toksmith"): BYTES, str(tmp_path / "some.toksmith"): SOME}
    en = f"en={tmp_path / 'en.txt'}"
    ran = run("compare", en, f"ru={tmp_path / 'other.txt'}", *toks, "--json")
    found = json.loads(ran.stdout)
    assert found["languages"] == metrics.fairness(named, {"en": "the sky", "ru": "небо"}).to_dict()
    assert [*found["reports"]] == [*named]
    assert all([*reports] == ["en", "ru"] for reports in found["reports"].values())
    found = json.loads(run("compare", *toks, "--json").stdout)
    assert found["languages"] == metrics.fairness(named).to_dict()
