"""Charts: their content, equal bytes in every run, and the distribution of the tokens of a vocabulary."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from shown_results import check_shown

import toksmith
from toksmith import explain
from toksmith._render import Plot, to_chart

TEXT = "the low lower lowest slow new newer 나는 $x_1$"
TOKS = {"$few_": toksmith.train(TEXT, merges=3), "_many": toksmith.train(TEXT, merges=15)}


@dataclass(frozen=True)
class Drawn:
    """A result with this chart."""

    chart: Plot

    def plot(self) -> Plot:
        return self.chart


def words(svg: str) -> list[str]:
    return [text.strip() for element in ET.fromstring(svg).iter() if (text := element.text or "").strip()]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bars", "across"])
def test_bars_have_the_words_of_the_chart(kind: str) -> None:
    chart = Plot("title $a$", "across", "up", {"$few_": [1, 5.84], "_many": [1, 2.0]}, ["eng", "kor_<b>"], kind, 1)  # type: ignore[arg-type]
    drawn = to_chart(Drawn(chart))
    said = words(drawn)
    for word in ("title $a$", "across", "up", "$few_", "_many", "eng", "kor_<b>"):
        assert word in said
    assert to_chart(Drawn(chart)) == drawn
    assert "date" not in drawn.lower().split("<defs>")[0]
    assert 'href="http' not in drawn


@pytest.mark.slow
def test_lengths_counts_tokens_by_their_bytes() -> None:
    found = explain.lengths(TOKS)
    for name, tok in TOKS.items():
        assert found.counts[name] == dict(sorted(Counter(map(len, tok.model.tokens)).items()))
    long = explain.lengths(toksmith.train("a" * 200, merges=6, pattern=None))
    assert [row for row in long.rows() if row[0] in ("16", "> 24")] == [("16", [1]), ("> 24", [2])]
    for result in (found, long):
        check_shown(result)
        assert {"bytes", "tokens", "1"} <= {*words(result.to_chart())}


@pytest.mark.slow
def test_ranks_sorts_tokens_by_their_frequency() -> None:
    text = TEXT * 3 + "zzz"
    found = explain.ranks(TOKS, text)
    for name, tok in TOKS.items():
        assert list(found.counts[name]) == sorted(Counter(tok.encode(text)).values(), reverse=True)
        points = found.plot().series[name]
        assert points[0] == (1, found.counts[name][0]) and points[-1] == (
            len(found.counts[name]),
            found.counts[name][-1],
        )
    for result in (found, explain.ranks(TOKS, "")):
        check_shown(result)
        assert {"rank", "times"} <= {*words(result.to_chart())}


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"toksmith\[charts\]"):
        explain.lengths(TOKS).to_chart()


@pytest.mark.slow
def test_a_plot_shows_itself_and_saves_itself(tmp_path: Path) -> None:
    result = explain.lengths(TOKS)
    plot = result.plot()
    assert plot._repr_svg_() == result.to_chart()
    for suffix, start in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        plot.savefig(tmp_path / f"chart{suffix}")
        assert (tmp_path / f"chart{suffix}").read_bytes().startswith(start)
    plot.savefig(tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8") == result.to_chart()
