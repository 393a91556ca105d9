"""What changes in a document so that Python-Markdown, which builds the site, reads it as CommonMark does.

Documents are written for CommonMark with tables. `site_text` changes: a list that interrupts a paragraph gets an empty
line before it; an escaped bar in the code of a table is a bar; an example with prompts is a `pycon` block, and an empty
line that it prints is one; comments are left out. `problems` names what this cannot change.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Part", "parts", "problems", "safe", "site_text", "without_code"]

FENCE = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2`*[ ]*$\n?", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"(?:[-*+]|1\.) ")
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.) ")


class Part(NamedTuple):
    """A stretch of a document: a fenced block with its language, or the text between two blocks; its first line."""

    text: str
    language: str | None
    line: int


def parts(text: str) -> Iterator[Part]:
    """The fenced blocks and the text between them, which joined give the document."""
    end = 0
    for found in FENCE.finditer(text):
        yield Part(text[end : found.start()], None, text.count("\n", 0, end) + 1)
        yield Part(found[0], found[3].strip(), text.count("\n", 0, found.start()) + 1)
        end = found.end()
    yield Part(text[end:], None, text.count("\n", 0, end) + 1)


def without_code(text: str) -> str:
    """Text of the same shape whose code spans are blank."""
    return CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def site_text(text: str, comment: Callable[[str], str] = lambda _: "") -> str:
    """A document as the site's generator takes it; `comment` gives what a comment becomes."""
    made: list[str] = []
    for part in parts(text):
        if part.language is None:
            shown = COMMENT.sub(lambda found: comment(found[0].strip()), part.text)
            rows = "\n".join(map(table_row, shown.split("\n")))
            made.append(CODE.sub(code_span, with_empty_lines(rows)))
        else:
            made.append(block(part))
    return "".join(made)


def block(part: Part) -> str:
    """A fenced block; what a doctest needs and a reader does not is gone."""
    if part.language != "python" or not re.search(r"^\s*>>> ", part.text, re.MULTILINE):
        return part.text
    shown = re.sub(r"^[ ]*<BLANKLINE>$", "", part.text, flags=re.MULTILINE)
    return shown.replace("```python", "```pycon", 1)


def code_span(found: re.Match[str]) -> str:
    """A code span; as HTML where it begins or ends with a space, which belongs to the token that it shows."""
    code = found[2].replace("\n", " ")
    if code.strip() and code.startswith(" ") and code.endswith(" "):
        code = code[1:-1]
    return found[0] if code == code.strip() else f"<code>{safe(code).replace(' ', '&#32;')}</code>"


def safe(text: str) -> str:
    """Plain text that neither Markdown nor HTML reads as its own."""
    return re.sub(r"[\\`*_{}\[\]#|~]", lambda char: f"&#{ord(char[0])};", html.escape(text, quote=False))


def table_row(line: str) -> str:
    """A row of a table, where a bar inside of code needs no backslash here; any other line as it is."""
    return CODE.sub(lambda found: found[0].replace("\\|", "|"), line) if line.startswith("|") else line


def with_empty_lines(text: str) -> str:
    """Text with an empty line before each list that interrupts a paragraph."""
    made: list[str] = []
    for line in text.split("\n"):
        before = made[-1] if made else ""
        interrupts = LIST.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" ")
        made += ["", line] if interrupts else [line]
    return "\n".join(made)


def problems(text: str) -> Iterator[tuple[int, str]]:
    """What the generator would show differently from CommonMark: its line, and what to write instead."""
    for part in parts(text):
        if part.language is not None:
            if part.text.startswith(" "):
                yield part.line, "a fenced block inside a list; write it below the list"
            continue
        lines = part.text.split("\n")
        for place, line in enumerate(lines):
            if re.match(r" {1,3}\S", line) and place and not lines[place - 1].strip():
                yield part.line + place, "a second paragraph of a list item; indent it by four spaces"
            if re.match(r" +(?:[-*+]|\d+\.) ", line):
                yield part.line + place, "a list inside a list; write one list, or two after each other"
