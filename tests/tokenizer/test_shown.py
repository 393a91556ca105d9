"""Results with any content in every medium: terminal text, notebook, page and picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shown_results import check_fragment, check_shown, words

from toksmith import _render
from toksmith._render import Bars, Branch, Cell, Line, Table, TokenText, TokenView

HOSTILE = "<script>alert(1)</script>&amp;\"'\x1b[31m\u202eabc\ud800\x00"


@dataclass(frozen=True, repr=False)
class Sample(_render.Shown):
    """A result with given blocks."""

    blocks: tuple[_render.Block, ...] = ()
    title: str = "a sample"
    facts: dict[str, Any] = field(default_factory=dict)

    def _parts(self) -> Iterator[Any]:
        yield self.title
        yield from self.blocks

    def to_dict(self) -> dict[str, Any]:
        return self.facts


def tokens(*content: bytes) -> tuple[TokenView, ...]:
    return tuple(TokenView(place, token, token == b"<end>") for place, token in enumerate(content))


def deep(levels: int) -> Branch:
    branch = Branch("leaf", "dim")
    for level in range(levels):
        branch = Branch(f"node {level}", below=(branch, Branch("side")))
    return branch


BLOCKS: dict[str, _render.Block] = {
    "line": Line("two\nlines", "warn"),
    "hostile line": Line(HOSTILE, "bad"),
    "table": Table(["name", "count"], [["a", "1"], [Cell("b", "bad"), "2,000"]], "a caption"),
    "hostile table": Table([HOSTILE], [[HOSTILE], [Cell(HOSTILE, "good")]], HOSTILE),
    "empty table": Table(["name"], []),
    "tokens": TokenText(tokens(b"def", b" f", b"\n\n  ", b"\xe2\x98", b"\x80", b"<end>"), "gpt2", ids=True),
    "marked": TokenText(tokens(b"a", b"b"), marked=frozenset({1}), titles=(HOSTILE, "second")),
    "hostile tokens": TokenText(tokens(HOSTILE.encode("utf-8", "replace"), b"\xff</bdi>", "\u05d0\u0301".encode())),
    "no tokens": TokenText(()),
    "bars": Bars([("a", 1, "one"), (HOSTILE, 0, HOSTILE)], "a caption"),
    "no bars": Bars([]),
    "tree": deep(20),
    "hostile tree": Branch(HOSTILE, "strong", (Branch(HOSTILE),)),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_shown_in_every_medium(name: str) -> None:
    check_shown(Sample((BLOCKS[name],)))
    check_shown(Sample((BLOCKS[name],), title=HOSTILE))


@example(HOSTILE)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_shown(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    blocks = (Line(text), Table([text], [[text]]), TokenText(tokens(data[:3], data[3:])), Branch(text))
    check_shown(Sample(blocks, title=f"title {text}"))


def test_terminal_text_has_the_content_of_every_block() -> None:
    text = str(Sample(tuple(BLOCKS[name] for name in ("line", "table", "tokens", "marked", "bars", "tree"))))
    for seen in ("a sample", "two\nlines", "2,000", "▏def▏·f▏↵", "▏0▏1▏2", "▏a▏▏b", "one", "node 19", "leaf"):
        assert seen in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_every_medium_has_the_same_words() -> None:
    sample = Sample((BLOCKS["table"], BLOCKS["tokens"], BLOCKS["tree"]))
    notebook = sample._repr_html_()
    for said in ("a caption", "2,000", "▏def", "☀", "node 3", "side"):
        for medium in (str(sample), words(notebook), words(sample.to_html()), words(sample.to_svg())):
            assert said in medium
    # The bytes of a character that tokens share: their values in one line, otherwise their numbers next to it.
    for medium in (str(sample), words(sample.to_svg())):
        assert "<E2><98>" in medium
    for medium in (notebook, sample.to_html()):
        above = r"<ruby>☀<rt[^>]*><bdi[^>]*>▏12</bdi><bdi[^>]*>▏3</bdi></rt></ruby>"
        assert re.search(above + r"<bdi[^>]*><sub>3\u202f</sub></bdi><bdi[^>]*><sub>4\u202f</sub>", medium)
    assert 'title="id 1: 20 66"' in notebook


def test_colour_is_not_the_only_difference() -> None:
    """Without style, each token still begins with its tick."""
    plain = re.sub(r' style="[^"]*"', "", Sample((BLOCKS["tokens"],))._repr_html_())
    assert plain.count("▏") == 6


@given(st.lists(st.binary(max_size=4), max_size=8))
def test_every_token_has_one_tick_and_every_byte_is_drawn(content: list[bytes]) -> None:
    html = Sample((TokenText(tokens(*content)),))._repr_html_()
    drawn = re.split(r'<p(?: dir="rtl")? style', html, maxsplit=1)[1]
    ticks = b"".join(content).decode("utf-8", "replace").count("▏")
    assert drawn.count("▏") == len(content) + ticks
    shared = re.findall(r"<rt[^>]*>(.*?)</rt>", drawn)
    numbers = ["".join(re.findall(r"\d", words(each))) for each in shared]
    assert all(each in ("12", "123", "1234") for each in numbers)


def test_no_line_breaks_inside_a_token() -> None:
    """Only between clusters, where `wbr` is; each token, and each row of tokens that share a character, is whole."""
    content = ("漢字-kana/x y".encode(), b"a\xc3", b"\xa9", b"b")
    html = Sample((TokenText(tokens(*content)),))._repr_html_()
    clusters = html.partition('2.3">')[2].removesuffix("</p></div>").split("<wbr>")
    assert [words(cluster) for cluster in clusters] == ["▏漢字-kana/x·y", "▏aé1▏2", "▏b"]
    assert all("white-space:nowrap" in cluster.partition(">")[0] for cluster in clusters)


def test_cells_break_between_tokens_and_short_captions_nowhere() -> None:
    html = Sample((Table(["symbols"], [["▏ab▏cd" * 6], ["▏ab▏cd"]], "a caption of some words"),))._repr_html_()
    assert '<span style="white-space:nowrap">▏ab</span><wbr><span style="white-space:nowrap">▏cd</span></td>' in html
    assert 'white-space:nowrap">▏ab▏cd</td>' in html
    assert re.search("<caption[^>]*white-space:nowrap[^>]*>a caption of some words", html)
    long = Sample((Table(["symbols"], [["x"]], "word " * 40),))._repr_html_()
    assert not re.search("<caption[^>]*nowrap", long)
    assert "<thead>" not in Sample((Table(["", ""], [["kind", "bpe"]]),))._repr_html_()


@pytest.mark.parametrize(
    "block",
    [
        TokenText(tokens(*[b"x" * 50] * 5_000)),
        Table(["text"], [["y" * 300]] * 5_000),
        Bars([("name", 1, "z" * 100)] * 10_000),
        Branch("root", below=[Branch("w" * 100)] * 10_000),
        Line("v" * 1_000_000),
    ],
    ids=lambda block: type(block).__name__,
)
def test_a_notebook_shows_at_most_200_000_characters(block: _render.Block) -> None:
    sample = Sample((block,))
    notebook = sample._repr_html_()
    assert 1_000 < len(notebook) <= 200_000
    assert re.search(r"showing [\d,]+ of|… \(1,000,000 characters\)|<li>…</li>", notebook)
    assert len(sample.to_html()) > 500_000
    check_fragment(notebook)


def test_a_wide_character_keeps_its_cells_in_a_picture() -> None:
    picture = Sample((TokenText(tokens("한국".encode(), b"ab")),)).to_svg()
    assert re.search(r'textLength="42.0"[^>]*>▏한국<', picture)  # a tick and two characters of two cells of 8.4
    assert re.search(r'textLength="25.2"[^>]*>▏ab<', picture)
