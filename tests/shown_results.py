"""Checks of every result in every medium, called by the tests of each part with results."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ET

import nh3
from justhtml import JustHTML

from toksmith._render import Shown

# The allow list of a sanitiser that permits colours and sides, as in notebooks.
STYLES = {
    *("background-color", "border-collapse", "border-left", "border-right", "color", "font-family", "font-size"),
    *("font-style", "font-weight", "height", "line-height", "margin", "opacity", "overflow-wrap", "padding"),
    *("padding-left", "text-align", "text-decoration", "vertical-align", "white-space", "width"),
}
ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "*": {"dir", "style", "title"}}


def sanitize(fragment: str) -> str:
    return nh3.clean(fragment, attributes=ATTRIBUTES, filter_style_properties=STYLES)


def without_space(text: str) -> str:
    """`text` without the parts that a sanitiser can write differently: spaces, and `;` at the end of a style."""
    return re.sub(r"\s|;(?=\")", "", text)


def check_fragment(fragment: str) -> None:
    """Check that a sanitiser leaves the fragment unchanged, and that it loses no word without styles."""
    assert without_space(sanitize(fragment)) == without_space(fragment)
    assert without_space(words(nh3.clean(fragment))) == without_space(words(fragment))


def check_page(page: str) -> None:
    """Check that the page is valid, and that nothing in it runs or is fetched."""
    JustHTML(page, strict=True)  # raises at the first error of the HTML standard's parser
    assert not re.search(r"<script|\bon\w+=|https?://|src=|href=|url\(", tags(page)), "something is run or fetched"


def tags(markup: str) -> str:
    return "".join(re.findall(r"<[^>]*>", re.sub(r'title="[^"]*"', "", markup)))


def words(fragment: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


def check_shown(result: Shown) -> None:
    """Check that `result` is shown in every medium."""
    text, notebook = str(result), result._repr_html_()
    assert "\x1b" not in text
    assert text.splitlines()[0].strip()
    assert "\n" not in repr(result)
    assert json.loads(result.to_json()) == result.to_dict()
    assert all(isinstance(row, dict) for row in result.to_rows())
    assert len(notebook) <= 200_000
    check_fragment(notebook)
    check_page(result.to_html())
    ET.fromstring(result.to_svg())
