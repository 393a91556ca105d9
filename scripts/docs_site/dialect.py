"""Rewrites a document so that Python-Markdown, which builds the site, reads it as CommonMark does.

Documents are written for CommonMark with tables. A list that interrupts a paragraph gets an empty line before it; an escaped
bar in the code of a table is a bar; an example with prompts is a `pycon` block; comments are left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Part", "escape_text", "parts", "site_text", "without_code"]

FENCE = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2`*[ ]*$\n?", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
# A line of a paragraph, directly followed by a list.
INTERRUPTED = re.compile(r"^(?!\s*(?:[-*+]|\d+\.) )(\S.*)\n(?=(?:[-*+]|1\.) )", re.MULTILINE)
ROW = re.compile(r"^\|.*$", re.MULTILINE)


class Part(NamedTuple):
    """A part of a document: a fenced block with its language, or the text between two blocks."""

    text: str
    language: str | None


def parts(text: str) -> Iterator[Part]:
    """The fenced blocks and the text between them; joined, they are the document."""
    end = 0
    for match in FENCE.finditer(text):
        yield Part(text[end : match.start()], None)
        yield Part(match[0], match[3].strip())
        end = match.end()
    yield Part(text[end:], None)


def without_code(text: str) -> str:
    """Text of the same shape with blank code spans."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def site_text(text: str, comment: Callable[[str], str] = lambda _: "") -> str:
    """A document in the form for the site's generator; `comment` returns the replacement of a comment."""
    pieces: list[str] = []
    for part in parts(text):
        if part.language is None:
            text_part = COMMENT.sub(lambda match: comment(match[0].strip()), part.text)
            rows = ROW.sub(lambda row: CODE.sub(lambda match: match[0].replace("\\|", "|"), row[0]), text_part)
            pieces.append(CODE.sub(code_span, INTERRUPTED.sub(r"\1\n\n", rows)))
        else:
            pieces.append(fenced_block(part))
    return "".join(pieces)


def fenced_block(part: Part) -> str:
    """A fenced block, without the parts of a doctest that a reader does not need."""
    if part.language != "python" or not re.search(r"^\s*>>> ", part.text, re.MULTILINE):
        return part.text
    code = re.sub(r"^[ ]*<BLANKLINE>$", "", part.text, flags=re.MULTILINE)
    return code.replace("```python", "```pycon", 1)


def code_span(match: re.Match[str]) -> str:
    """A code span; as HTML if it begins or ends with a space, which belongs to the token that it shows."""
    code = match[2].replace("\n", " ")
    if code.strip() and code.startswith(" ") and code.endswith(" "):
        code = code[1:-1]
    return match[0] if code == code.strip() else f"<code>{escape_text(code).replace(' ', '&#32;')}</code>"


def escape_text(text: str) -> str:
    """Plain text, escaped for Markdown and HTML."""
    return re.sub(r"[\\`*_{}\[\]#|~]", lambda char: f"&#{ord(char[0])};", html.escape(text, quote=False))
