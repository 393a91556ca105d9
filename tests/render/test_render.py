"""Drawings of tokens with any bytes, in colour and without."""

import io
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.style import Style

import toksmith
from toksmith import _render
from toksmith._render import (
    Branch,
    MergeView,
    Table,
    TokenView,
    View,
    draw_tokens,
    merge_lines,
    merge_views,
    summary,
    terminal,
    token_parts,
    token_text,
    token_views,
)
from toksmith._render.blocks import Bars, TokenText
from toksmith._render.html import BAR, fragment
from toksmith._render.pages import document
from toksmith._render.terminal import TONES, hex_color, renderables
from toksmith._render.view import COLORS, DARK, LIGHT, Colours, clusters


def views(*tokens: bytes, special: bytes = b"\0") -> list[TokenView]:
    return [TokenView(100 + place, token, token == special) for place, token in enumerate(tokens)]


def draw_text(tokens: list[TokenView], *, ids: bool = False, width: int = 80, **options: object) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, **options)  # type: ignore[arg-type]
    for line in draw_tokens(tokens, ids=ids):
        console.print(line)
    return out.getvalue()


@pytest.mark.parametrize(
    ("tokens", "picture", "why"),
    [
        ([b"def", b" f"], "▏def▏·f", "a space is marked"),
        ([b"a\tb"], "▏a→b", "a tab is marked"),
        ([b"a", b"\n", b"b"], "▏a▏↵\n▏b", "a newline is marked and ends the line"),
        ([b"a\n\n", b"\n  b"], "▏a↵\n↵\n▏↵\n··b", "a token continues over several lines without a new tick"),
        ([b"a\r\n"], "▏a\\r↵", "a carriage return is escaped"),
        ([b"\x1b[31m", b"\0", b"\x7f"], "▏\\x1b[31m▏\\x00▏\\x7f", "control characters cannot act on the terminal"),
        (["\u00a0\u3000".encode(), "\u202e".encode()], "▏\\xa0\\u3000▏\\u202e", "other spaces and bidi controls too"),
        (["👩\u200d🚀".encode()], "▏👩\\u200d🚀", "joiners are visible"),
        (["☀\ufe0f".encode()], "▏☀\\ufe0f", "variation selectors are visible"),
        (["é".encode()], "▏é", "a whole character is itself"),
        ([b"\xc3", b"\xa9"], "▏<C3>▏<A9>é", "a cut character is drawn where it is complete"),
        ([b"\xf0", b"\x9f\x98", b"\x84!"], "▏<F0>▏<9F><98>▏<84>😄!", "over three tokens"),
        ([b"a\xe0\xa4", b"\xa8b\xc3", b"\xa9"], "▏a<E0><A4>▏<A8>नb<C3>▏<A9>é", "two cut characters in one token"),
        ([b"\xff\xfe", b"ok"], "▏<FF><FE>▏ok", "invalid bytes are bytes"),
        ([b"\xe0\xa4", b"x"], "▏<E0><A4>▏x", "a character that is never completed"),
        ([b"\xa9"], "▏<A9>", "a lone continuation byte"),
        ([b"e", "\u0301".encode()], "▏e▏◌\u0301", "a combining mark does not sit on the tick"),
        (["e\u0301".encode()], "▏e\u0301", "inside a token it combines"),
        (["\u0928".encode(), "\u093f".encode()[:1], "\u093f".encode()[1:]], "▏न▏<E0>▏<A4><BF>◌\u093f", "nor on a byte"),
        ([b"", b"a"], "▏▏a", "an empty token"),
        ([b"[red]x[/red]", b":smile:"], "▏[red]x[/red]▏:smile:", "markup is text"),
        ([], "", "nothing"),
    ],
)
def test_tokens_without_colour_have_ticks_and_marks(tokens: list[bytes], picture: str, why: str) -> None:
    assert draw_text(views(*tokens)) == (picture and picture + "\n"), why


def test_names_are_imported_at_first_use() -> None:
    for module in _render._MODULES:
        found = import_module(f"toksmith._render.{module}")
        assert all(getattr(_render, name) is getattr(found, name) for name in found.__all__)


def test_ids_are_under_the_line_where_their_tokens_begin() -> None:
    assert draw_text(views(b"a", b"b\n", b"c\nd", b"e"), ids=True) == "▏a▏b↵\n▏100▏101\n▏c↵\n▏102\nd▏e\n▏103\n"
    assert draw_text(views(b"a\n\n"), ids=True) == "▏a↵\n▏100\n↵\n"


def test_long_lines_fold_at_the_width_and_lose_nothing() -> None:
    tokens = [b"word", b" and", "漢字".encode(), b"\xe6", b"\xbc\xa2"] * 9
    lines = draw_text(views(*tokens), width=17).splitlines()
    assert len(lines) > 5
    assert max(map(cell_len, lines)) <= 17
    assert "".join(lines) == "▏word▏·and▏漢字▏<E6>▏<BC><A2>漢" * 9


def test_a_row_ends_between_two_tokens() -> None:
    tokens = views(*[b"word", b" and", "漢字".encode()] * 9)
    lines = draw_text(tokens, width=17).splitlines()
    assert all(line.startswith("▏") for line in lines) and max(map(cell_len, lines)) <= 17
    assert draw_text(views(b"ab", b"x" * 25, b"cd"), width=10) == f"▏ab▏{'x' * 6}\n{'x' * 10}\n{'x' * 9}\n▏cd\n"


def test_the_ids_of_a_row_are_under_it() -> None:
    assert draw_text(views(b"word", b"and", b"more"), ids=True, width=10) == "▏word▏and\n▏100▏101\n▏more\n▏102\n"
    assert draw_text(views(b"a", b"b", b"c"), ids=True, width=8) == "▏a▏b\n▏100▏101\n▏c\n▏102\n"


def test_a_cell_breaks_between_two_tokens() -> None:
    out = io.StringIO()
    table = Table(["symbols"], [["▏ab▏cde▏f▏ghij"]])
    Console(file=out, width=8).print(*renderables(View("table", [table])), sep="\n")
    assert out.getvalue().split() == ["table", "symbols", "▏ab▏cde", "▏f▏ghij"]


def test_a_deep_tree_loses_nothing() -> None:
    branch = Branch("leaf")
    for level in range(30):
        branch = Branch(f"node {level}", below=(branch, Branch("side")))
    out = io.StringIO()
    Console(file=out, width=40).print(*renderables(View("tree", [branch])), sep="\n")
    lines = out.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= 40
    assert out.getvalue().replace("\n", "").count("side") == 30 and "leaf" in out.getvalue()


def test_neighbours_differ_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    # A style of rich caches the codes of its first terminal, and so does a sum of two styles.
    Style._add.cache_clear()
    for style in terminal.PALETTE:
        monkeypatch.setattr(style, "_ansi", None)
    picture = draw_text(views(*[b"x"] * 12), force_terminal=True, color_system="truecolor")
    colours = re.findall(r"\x1b\[30;(48;2;\d+;\d+;\d+)m▏", picture)
    assert len(colours) == 12
    assert all(first != second for first, second in pairwise(colours))
    assert re.sub(r"\x1b\[[\d;]*m", "", picture) == "▏x" * 12 + "\n"


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT])
def test_neighbours_differ_with_fewer_colours(system: ColorSystem) -> None:
    colours = [Color.parse(colour).downgrade(system).number for colour in (*COLORS, COLORS[0])]
    assert all(first != second for first, second in pairwise(colours))


def test_right_to_left_tokens_run_as_their_text() -> None:
    tok = toksmith.train("نص نص نص low", 262)
    for text, direction in (("نص low", ' dir="rtl"'), ("low نص", "")):
        found = toksmith.explain.text(tok, text)
        for drawn in (found.to_html(), found._repr_html_(), toksmith.snapshot(tok, text).html):
            assert f"<p{direction}>{text}</p>" in drawn  # the letters joined
            assert drawn.count(' dir="rtl"') == (2 if direction else 0)
    plain = toksmith.explain.text(tok, "low").to_html()
    assert "dir=" not in plain and plain.count("<h1>") == 1


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_equals_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_on_a_token_has_contrast(colours: Colours) -> None:
    for token in (*colours.tokens, colours.quiet):
        for text in (colours.ink, colours.mark, colours.raw):
            assert contrast(text, token) >= 4.5, f"{text} on {token}"
    assert contrast(colours.special, colours.on_special) >= 4.5
    assert contrast(colours.page, colours.ink) >= 4.5
    for line in (colours.alone, colours.accent, colours.tick):
        assert contrast(colours.page, line) >= 3  # lines and bars, by WCAG 1.4.11
    assert contrast(colours.page, BAR) >= 3
    assert all(contrast(colours.special, token) >= 3 for token in colours.tokens)


def test_tones_have_contrast_on_a_picture() -> None:
    for style in TONES.values():
        assert style.color is None or contrast(hex_color(style.color), "#ffffff") >= 4.5


STYLE = Path(toksmith.__file__).parent / "_playground" / "static" / "parts.css"


def test_the_playground_and_snapshots_have_the_same_colours() -> None:
    rules = STYLE.read_text(encoding="utf-8")
    found = {name: pair for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", rules)}
    for name, light in LIGHT._asdict().items():
        if isinstance(light, str) and name not in ("mark", "raw"):  # the page has one colour for a whole token
            assert found[name.replace("_", "-")] == [light, getattr(DARK, name)]
    assert [found[f"c{place}"] for place in range(5)] == [*map(list, zip(LIGHT.tokens, DARK.tokens, strict=True))]


def test_a_page_has_the_styles_of_a_notebook_as_classes() -> None:
    tokens = [TokenView(97, b'a style="color:#444444"'), TokenView(98, b"b "), TokenView(256, b"\xff", special=True)]
    view = View("a", [TokenText(tokens), Bars([("a", 1, "1")])])
    page, part = document(view), fragment(view)
    assert not re.search(r"<[^>]* style=", page)
    rules = dict(re.findall(r"\.(k\d+)\{(.*)\}", page))
    inlined = re.sub(r'class="(k\d+)"', lambda match: f'style="{rules[match[1]]}"', page)
    inlined = re.sub(r"light-dark\((#\w+),#\w+\)", r"\1", inlined)
    inlined = re.sub(r'<div class="wide" tabindex="0">(<table.*?</table>)</div>', r"\1", inlined)
    assert part.removeprefix("<div><p><strong>a</strong></p>").removesuffix("</div>") in inlined


def test_special_tokens_have_a_separate_colour() -> None:
    def style_of_second(special: bytes) -> str:
        picture = draw_text(views(b"a", b"<|end|>", special=special), force_terminal=True, color_system="truecolor")
        return picture.split("a")[1].split("<|end|>")[0]

    assert style_of_second(b"<|end|>") != style_of_second(b"")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_is_honoured(environment: dict[str, str]) -> None:
    picture = draw_text(views(b"a", b" b"), force_terminal=True, _environ=environment)
    assert not re.search(r"\x1b\[[\d;]*4[08]", picture)


@given(st.lists(st.binary(max_size=4), max_size=8), st.text(max_size=12), st.data())
def test_any_tokens_are_drawn_as_one_line_of_print_each(tokens: list[bytes], text: str, data: st.DataObject) -> None:
    encoded = text.encode("utf-8", "surrogatepass")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=5)))
    cut_text = [encoded[a:b] for a, b in zip([0, *cuts], [*cuts, len(encoded)], strict=True)]
    for row in (tokens, cut_text):
        parts = token_parts(row)
        assert [not token for token in row] == [not part for part in parts]
        assert all(part.text.replace("\n", "").isprintable() for token in parts for part in token)
        assert draw_text(views(*row)).count("▏") - b"".join(row).decode("utf-8", "replace").count("▏") == len(row)


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20), st.data())
def test_printable_text_is_drawn_whole_wherever_it_is_cut(text: str, data: st.DataObject) -> None:
    encoded = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(encoded)), max_size=5)))
    tokens = [encoded[a:b] for a, b in zip([0, *cuts], [*cuts, len(encoded)], strict=True)]
    shown = "".join(part.text for parts in token_parts(tokens) for part in parts if part.kind != "bytes")
    unseen = {char: char.encode("unicode_escape").decode() for char in "\u115f\u1160\u3164\uffa0"}
    assert shown == text.translate(str.maketrans(unseen))


def test_token_text_is_one_line() -> None:
    assert token_text(b" a\n\n") == "·a↵↵"
    assert token_text(b"\xe2\x98") == "<E2><98>"


def test_token_views_look_each_id_up_once() -> None:
    asked = []

    def token_bytes(id: int) -> bytes:
        asked.append(id)
        return bytes([id])

    assert token_views([65, 66, 65], token_bytes, {66}) == [(65, b"A", False), (66, b"B", True), (65, b"A", False)]
    assert asked == [65, 66]


def test_a_shared_character_is_drawn_once_with_the_tokens_of_its_bytes() -> None:
    rows = clusters([b"a\xf0", b"", b"\x9f\x98", b"\x84!", b"b", b"\xff"])
    parts = [[tuple(part) for part in cluster] for cluster in rows]
    assert parts == [
        [(0, [("a", "text")]), (1, []), (("😄", "text"), [(0, 1), (2, 2), (3, 1)]), (3, [("!", "text")])],
        [(4, [("b", "text")])],
        [(5, [("<FF>", "bytes")])],
    ]


def test_the_summary_counts_tokens_characters_and_bytes() -> None:
    assert summary(views(b"\xc3", b"\xa9", b"ab")) == "3 tokens, 3 characters, 4 bytes, 1.33 bytes per token"
    assert summary(views(b"a")) == "1 token, 1 character, 1 byte, 1.00 bytes per token"
    assert summary([]) == "0 tokens, 0 characters, 0 bytes"
    assert summary(views(b"\xff")) == "1 token, 1 character, 1 byte, 1.00 bytes per token"


def test_merge_lines_line_up() -> None:
    tokens = {256: b"in", 257: " 漢".encode(), 258: b"\n" * 20}
    merges = merge_views(
        [(105, 110, 256), (32, 1000, 257), (10, 10, 258)], [6, 5, 1234], [244, 239, 5], tokens.__getitem__
    )
    assert merges[0] == MergeView(1, 105, 110, 256, b"in", 6, 244)
    lines = list(merge_lines(merges))
    assert lines[0] == "merge 1: (105, 110) → 256  ▏in▏                6 times, 244 ids left"
    assert lines[1] == "merge 2: (32, 1000) → 257  ▏·漢▏               5 times, 239 ids left"
    assert lines[2] == f"merge 3:   (10, 10) → 258  ▏{'↵' * 20}▏ 1,234 times,   5 ids left"
    with pytest.raises(ValueError, match="zip"):
        merge_views([(1, 2, 3)], [], [], tokens.__getitem__)


def test_numbers_of_picked_merges_line_up() -> None:
    picked = [MergeView(number, 1, 2, 300 + number, b"x", 1, 1) for number in (1, 1000)]
    assert [line.index(":") for line in merge_lines(picked)] == [10, 10]
