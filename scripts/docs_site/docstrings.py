"""Converts docstrings to Markdown for mkdocstrings, which builds the API's pages.

toksmith's docstrings have the sections that mkdocstrings knows (Args, Returns, Raises, Attributes), two others (Cost,
Source), and examples without a heading. `as_markdown` puts examples into a block, makes titles of one-line sections
bold, and links the documents that a docstring names.
"""

from __future__ import annotations

import re

from .pages import place_of

__all__ = ["as_markdown"]

TITLE = re.compile(r"(?:Args|Attributes|Raises|Returns|Yields):$")
PROSE = re.compile(r"^Raises:\n    (?!\w[\w, ]*:)", re.MULTILINE)  # a section of sentences, without names of errors
CONTINUED = re.compile(r" {4}(?!\S[\w., ]*:)\S")  # a line below `Args:` without a name continues the line above
DOCUMENT = re.compile(r"`?\b(docs/[\w/-]+\.md)\b`?")
ONE_LINE = re.compile(r"(?:Attributes|Cost|Raises|Returns|Source|Yields):(?: |(?<=Cost:)$|(?<=Source:)$)")


def as_markdown(text: str) -> str:
    """A docstring, without the indentation of its source, in the form that mkdocstrings reads best."""
    markdown: list[str] = []
    # "example" up to the next empty line, "section" if it begins on the line of its title, "items" below a title.
    inside = ""
    for line in [*PROSE.sub("Raises: ", text).split("\n"), ""]:
        ends = not line.strip() or (inside in ("section", "items") and not line.startswith(" "))
        if ends and inside == "example":
            markdown.append("```")
        if inside != "example" and not line.startswith(">>> "):
            line = DOCUMENT.sub(link, line)
        inside = "" if ends else inside
        if inside == "example":
            markdown.append("" if line == "<BLANKLINE>" else line)
        elif inside == "section":
            markdown.append(line.strip())
        elif inside == "items":
            markdown.append(f"    {line}" if CONTINUED.match(line) else line)
        elif line.startswith(">>> "):
            markdown += [*empty_line(markdown), "```pycon", line]
            inside = "example"
        elif ONE_LINE.match(line):
            markdown += [*empty_line(markdown), re.sub(r"^(\w+:)", r"**\1**", line)]
            inside = "section"
        elif TITLE.match(line):
            markdown += [*empty_line(markdown), line]
            inside = "" if line in ("Returns:", "Yields:") else "items"
        else:
            markdown.append(line)
    return "\n".join(markdown).rstrip("\n")


def link(found: re.Match[str]) -> str:
    """The name of a document as a link from a page in the folder of the API."""
    return f"[`{found[1]}`](../{place_of(found[1])})"


def empty_line(made: list[str]) -> list[str]:
    """An empty line, unless the last line is empty."""
    return [""] if made and made[-1].strip() else []
